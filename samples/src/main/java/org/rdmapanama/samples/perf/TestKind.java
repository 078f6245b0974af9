package org.rdmapanama.samples.perf;

import java.util.Locale;

/** The eight tests. */
enum TestKind {
    SEND_LAT(Operation.SEND, true),
    WRITE_LAT(Operation.WRITE, true),
    READ_LAT(Operation.READ, true),
    ATOMIC_LAT(Operation.ATOMIC, true),
    SEND_BW(Operation.SEND, false),
    WRITE_BW(Operation.WRITE, false),
    READ_BW(Operation.READ, false),
    ATOMIC_BW(Operation.ATOMIC, false);

    final Operation operation;

    /** Whether this measures latency, and not bandwidth. */
    final boolean latency;

    TestKind(Operation operation, boolean latency) {
        this.operation = operation;
        this.latency = latency;
    }

    /** Returns the name of the command, such as {@code write-lat}. */
    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Returns the name of the C program, such as {@code ib_write_lat}. */
    String program() {
        return "ib_" + name().toLowerCase(Locale.ROOT);
    }

    /** Whether each message is answered by another, so that half of the round trip is one way. */
    boolean isPingPong() {
        return latency && !operation.answers();
    }
}
