package org.rdmapanama.samples;

import org.rdmapanama.queue.QueuePairType;

/** The transport services of ping-pong, spelled as on the command line. */
enum Transport {
    rc(QueuePairType.RC, 4096),
    uc(QueuePairType.UC, 4096),
    ud(QueuePairType.UD, 1024);

    final QueuePairType type;

    /** The default of the C program for this transport, whatever its help text says. */
    final int defaultSize;

    Transport(QueuePairType type, int defaultSize) {
        this.type = type;
        this.defaultSize = defaultSize;
    }
}
