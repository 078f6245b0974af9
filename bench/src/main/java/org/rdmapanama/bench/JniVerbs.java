package org.rdmapanama.bench;

/** The data path as a binding by JNI has it, to compare with: addresses in, status out. */
final class JniVerbs {
    static {
        System.load(NullNic.nativeFile("libnulljni.so"));
    }

    private JniVerbs() {}

    static native int postSend(long queuePair, long workRequest, long bad);

    static native int postRecv(long queuePair, long workRequest, long bad);

    static native int pollCq(long completionQueue, int capacity, long completions);
}
