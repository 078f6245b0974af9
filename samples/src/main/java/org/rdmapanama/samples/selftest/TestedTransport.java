package org.rdmapanama.samples.selftest;

import java.util.List;
import org.rdmapanama.queue.QueuePairType;

/** A transport that is tested. */
enum TestedTransport {
    RC(QueuePairType.RC),
    UC(QueuePairType.UC),
    UD(QueuePairType.UD),
    /** Scalable reliable datagrams of EFA. Messages arrive in any order, RDMA is posted call by call only, and all is signaled. */
    SRD(QueuePairType.DRIVER);

    final QueuePairType type;

    TestedTransport(QueuePairType type) {
        this.type = type;
    }

    /** Returns the transports that are tested on an EFA device, or on another one, the most important one first. */
    static List<TestedTransport> of(boolean efa) {
        return efa ? List.of(SRD) : List.of(RC, UC, UD);
    }

    /** Whether nothing is lost. */
    boolean isReliable() {
        return this == RC || this == SRD;
    }

    /** Whether each message names its destination, and a message that is sent has one packet. */
    boolean isDatagram() {
        return this == UD || this == SRD;
    }
}
