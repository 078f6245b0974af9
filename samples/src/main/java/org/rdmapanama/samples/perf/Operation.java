package org.rdmapanama.samples.perf;

/** The operations that can be measured. */
enum Operation {
    SEND,
    WRITE,
    READ,
    ATOMIC;

    /** Whether the target takes part only with its memory. */
    boolean isOneSided() {
        return this != SEND;
    }

    /** Whether data comes back, so that the latency is a full round trip. */
    boolean answers() {
        return this == READ || this == ATOMIC;
    }
}
