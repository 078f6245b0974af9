package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.wire.Memory;

/** The word that a datagram came, and that the answer takes longer. (Section 12.6.6.) */
public final class Mra {
    // What came.
    public static final int OF_REQ = 0;
    public static final int OF_REP = 1;

    private static final int CAME = 32;
    private static final int TIMEOUT = 33;

    private Mra() {}

    /** With how long the answer takes at most: 4.096 microseconds times two to the power of this. */
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
