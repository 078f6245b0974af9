package org.rdmapanama.samples;

import org.rdmapanama.QueuePairType;

/** The transport services that ping-pong can use, in the spelling of the command line. */
enum Transport {
    rc(QueuePairType.RC, 4096),
    uc(QueuePairType.UC, 4096),
    ud(QueuePairType.UD, 1024);

    final QueuePairType type;

    /** What the C program of this transport uses, whatever its help text says. */
    final int defaultSize;

    Transport(QueuePairType type, int defaultSize) {
        this.type = type;
        this.defaultSize = defaultSize;
    }
}
