package org.rdmapanama.samples.perf;

/** What is measured. */
enum Operation {
    SEND,
    WRITE,
    READ,
    ATOMIC;

    /** Whether the other side takes part only with its memory. */
    boolean isOneSided() {
        return this != SEND;
    }

    /** Whether data comes back, so that a whole round trip is what it takes. */
    boolean answers() {
        return this == READ || this == ATOMIC;
    }
}
