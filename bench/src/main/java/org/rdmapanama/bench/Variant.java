package org.rdmapanama.bench;

/** A column of the table: a way to do the operation. */
enum Variant {
    C("C", "c", false, false, true),
    CONFINED("rdma-panama", "panama", true, false, true),
    SHARED("rdma-panama, shared arena", "panama", true, true, false),
    JNI("JNI", "jni", false, false, true);

    final String title;

    /** The name of the benchmark method. */
    final String method;

    /** Whether this is our library. */
    final boolean ours;

    /** Whether the objects are shared between threads. */
    final boolean shared;

    /** Whether this belongs to the short run. */
    final boolean quick;

    Variant(String title, String method, boolean ours, boolean shared, boolean quick) {
        this.title = title;
        this.method = method;
        this.ours = ours;
        this.shared = shared;
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
