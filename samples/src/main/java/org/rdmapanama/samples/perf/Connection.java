package org.rdmapanama.samples.perf;

import org.rdmapanama.queue.QueuePairType;

/** The transport services, spelled as in perftest. */
enum Connection {
    RC(QueuePairType.RC),
    UC(QueuePairType.UC),
    UD(QueuePairType.UD);

    final QueuePairType type;

    Connection(QueuePairType type) {
        this.type = type;
    }

    boolean carries(Operation operation) {
        return switch (this) {
            case RC -> true;
            case UC -> !operation.answers();
            case UD -> operation == Operation.SEND;
        };
    }
}
