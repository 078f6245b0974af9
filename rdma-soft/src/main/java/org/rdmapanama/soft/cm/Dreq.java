package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.memory.Memory;

/** The DREQ datagram, which ends a connection. (Section 12.6.10.) */
public final class Dreq {
    private static final int QUEUE_PAIR = 32;

    private Dreq() {}

    /** With the queue pair of the receiver. */
    public static void write(long mad, long transaction, int localId, int remoteId, int queuePair) {
        Mad.begin(mad, Mad.DREQ, transaction, localId, remoteId);
        Memory.putNetInt(mad + QUEUE_PAIR, queuePair << 8);
    }

    public static int queuePair(long mad) {
        return Mad.upper24(mad + QUEUE_PAIR);
    }
}
