package org.rdmapanama.samples;

import org.rdmapanama.queue.QueuePairType;

/** What ping-pong goes over, spelled as on the command line: transport services of RDMA, and TCP. */
enum Transport {
    rc(QueuePairType.RC, 4096),
    uc(QueuePairType.UC, 4096),
    ud(QueuePairType.UD, 1024),

    /** Scalable reliable datagrams of EFA. */
    srd(QueuePairType.DRIVER, 4096),

    /** A blocking socket, to compare with. */
    tcp(null, 4096);

    /** Null for TCP. */
    final QueuePairType type;

    /** The default of the C program for this transport, whatever its help text says. */
    final int defaultSize;

    Transport(QueuePairType type, int defaultSize) {
        this.type = type;
        this.defaultSize = defaultSize;
    }
}
