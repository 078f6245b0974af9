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

    /** Or bandwidth. */
    final boolean latency;

    TestKind(Operation operation, boolean latency) {
        this.operation = operation;
        this.latency = latency;
    }

    /** As the command is called: {@code write-lat}. */
    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** What C programs call it: {@code ib_write_lat}. */
    String program() {
        return "ib_" + name().toLowerCase(Locale.ROOT);
    }

    /** Whether a message goes there and one comes back, so that half of the round trip is one way. */
    boolean isPingPong() {
        return latency && !operation.answers();
    }
}
