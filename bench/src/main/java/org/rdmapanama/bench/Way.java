package org.rdmapanama.bench;

/** A column of the table: who does it. */
enum Way {
    C("C", "c", false, false, true),
    CONFINED("rdma-panama", "panama", true, false, true),
    SHARED("rdma-panama, shared arena", "panama", true, true, false),
    JNI("JNI", "jni", false, false, true);

    final String title;

    /** Of the benchmark. */
    final String method;

    /** Whether it is this library. */
    final boolean ours;

    /** Whether any thread may use the objects. */
    final boolean shared;

    /** Whether this belongs to the short run. */
    final boolean quick;

    Way(String title, String method, boolean ours, boolean shared, boolean quick) {
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
