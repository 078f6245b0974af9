package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.memory.Memory;

/** The MRA datagram, which confirms a datagram whose answer will take longer. (Section 12.6.6.) */
public final class Mra {
    // The kind of datagram that is confirmed.
    public static final int OF_REQ = 0;
    public static final int OF_REP = 1;

    private static final int CAME = 32;
    private static final int TIMEOUT = 33;

    private Mra() {}

    /** Writes an MRA. The answer takes at most 4.096 microseconds times two to the power of {@code timeout}. */
    public static void write(long mad, long transaction, int localId, int remoteId, int came, int timeout) {
        Mad.begin(mad, Mad.MRA, transaction, localId, remoteId);
        Memory.putByte(mad + CAME, (byte) (came << 6));
        Memory.putByte(mad + TIMEOUT, (byte) (timeout << 3));
    }

    public static int came(long mad) {
        return Mad.unsignedByte(mad + CAME) >>> 6;
    }

    public static int timeout(long mad) {
        return Mad.unsignedByte(mad + TIMEOUT) >>> 3;
    }
}
