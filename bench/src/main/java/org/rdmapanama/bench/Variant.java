package org.rdmapanama.bench;

/** A column of the table: a way to do the operation. */
enum Variant {
    C("C", "c", false, Threads.CONFINED, true),
    CONFINED("rdma-panama", "panama", true, Threads.CONFINED, true),
    BOUND("shared arena, bound to a thread", "panama", true, Threads.BOUND, true),
    SHARED("shared arena", "panama", true, Threads.SHARED, false),
    JNI("JNI", "jni", false, Threads.CONFINED, true);

    final String title;

    /** The name of the benchmark method. */
    final String method;

    /** Whether this is our library. */
    final boolean ours;

    /** Which threads may use the objects. */
    final Threads threads;

    /** Whether this belongs to the short run. */
    final boolean quick;

    Variant(String title, String method, boolean ours, Threads threads, boolean quick) {
        this.title = title;
        this.method = method;
        this.ours = ours;
        this.threads = threads;
        this.quick = quick;
    }

    boolean does(Row row) {
        for (var candidate : row.benchmark().getMethods()) {
            if (candidate.getName().equals(method)) {
                return true;
            }
        }
        return false;
    }
}
