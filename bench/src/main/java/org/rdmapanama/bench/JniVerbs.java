package org.rdmapanama.bench;

/** The data path of a JNI binding, for comparison: takes addresses and returns a status. */
final class JniVerbs {
    static {
        System.load(NullNic.nativeFile("libnulljni.so"));
    }

    private JniVerbs() {}

    static native int postSend(long queuePair, long workRequest, long bad);

    static native int postRecv(long queuePair, long workRequest, long bad);

    static native int pollCq(long completionQueue, int capacity, long completions);
}
