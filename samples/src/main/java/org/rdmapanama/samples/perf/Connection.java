package org.rdmapanama.samples.perf;

import org.rdmapanama.queue.QueuePairType;

/** The transport services, spelled as in perftest. */
enum Connection {
    RC(QueuePairType.RC),
    UC(QueuePairType.UC),
    UD(QueuePairType.UD),

    /** Scalable reliable datagrams of EFA: each message has a completion, and a message may arrive in any order of bytes. */
    SRD(QueuePairType.DRIVER);

    final QueuePairType type;

    Connection(QueuePairType type) {
        this.type = type;
    }

    boolean carries(Operation operation) {
        return switch (this) {
            case RC -> true;
            case UC -> !operation.answers();
            case UD -> operation == Operation.SEND;
            case SRD -> operation != Operation.ATOMIC;
        };
    }

    /** Returns what to use instead of an operation that this does not carry. */
    String carried() {
        return switch (this) {
            case RC -> "it supports all tests";
            case UC -> "it supports send and write; give -c RC";
            case UD -> "it supports send-lat and send-bw";
            case SRD -> "it supports send, write and read";
        };
    }

    /** Whether messages of an operation are at most about as long as a packet. */
    boolean isLimitedToPackets(Operation operation) {
        return this == UD || (this == SRD && operation == Operation.SEND);
    }
}
