package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.memory.Memory;

/** The REJ datagram, which rejects or aborts a connection. (Section 12.6.7.) */
public final class Rej {
    public static final int PRIVATE_BYTES = 148;

    /** The offset of the private data. */
    public static final int PRIVATE = 108;

    // The kind of datagram that is rejected.
    public static final int OF_REQ = 0;
    public static final int OF_REP = 1;
    public static final int OF_OTHER = 2;

    // Reasons; section 12.6.7.2.
    public static final int TIMEOUT = 4;
    public static final int UNSUPPORTED = 5;
    public static final int INVALID_SERVICE = 8;
    public static final int INVALID_TRANSPORT = 9;
    public static final int STALE_CONNECTION = 10;
    public static final int INVALID_MTU = 26;
    public static final int BY_CONSUMER = 28;
    public static final int VENDOR_OPTION = 35;

    private static final int REJECTED = 32;
    private static final int INFORMATION_LENGTH = 33;
    private static final int REASON = 34;
    private static final int INFORMATION = 36;

    private Rej() {}

    public static void write(long mad, long transaction, int localId, int remoteId, int rejected, int reason) {
        Mad.begin(mad, Mad.REJ, transaction, localId, remoteId);
        Memory.putByte(mad + REJECTED, (byte) (rejected << 6));
        Memory.putNetShort(mad + REASON, (short) reason);
    }

    /** Writes the GUID of the sender, which a rejection because of a timeout must contain. */
    public static void guid(long mad, long guid) {
        Memory.putByte(mad + INFORMATION_LENGTH, (byte) (Long.BYTES << 1));
        Memory.putNetLong(mad + INFORMATION, guid);
    }

    /** {@link #OF_REQ}, {@link #OF_REP}, or {@link #OF_OTHER}. */
    public static int rejected(long mad) {
        return Mad.unsignedByte(mad + REJECTED) >>> 6;
    }

    public static int reason(long mad) {
        return Short.toUnsignedInt(Memory.getNetShort(mad + REASON));
    }
}
