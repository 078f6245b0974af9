package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.memory.Memory;

/** The SIDR_REP datagram, which answers a {@link SidrReq}. (Section 12.11.2.) */
public final class SidrRep {
    public static final int PRIVATE_BYTES = 136;

    /** The offset of the private data. */
    public static final int PRIVATE = 120;

    // Statuses.
    public static final int VALID = 0;
    public static final int UNSUPPORTED = 1;
    public static final int REJECTED = 2;

    private static final int STATUS = 28;
    private static final int QUEUE_PAIR = 32;
    private static final int SERVICE = 36;
    private static final int QKEY = 44;

    private SidrRep() {}

    public static void write(
            long mad, long transaction, int requestId, int status, long service, int queuePair, int qkey) {
        Mad.begin(mad, Mad.SIDR_REP, transaction, requestId, 0);
        Memory.putByte(mad + STATUS, (byte) status);
        Memory.putNetInt(mad + QUEUE_PAIR, queuePair << 8);
        Memory.putNetLong(mad + SERVICE, service);
        Memory.putNetInt(mad + QKEY, qkey);
    }

    public static int status(long mad) {
        return Mad.unsignedByte(mad + STATUS);
    }

    public static int queuePair(long mad) {
        return Mad.upper24(mad + QUEUE_PAIR);
    }

    public static int qkey(long mad) {
        return Memory.getNetInt(mad + QKEY);
    }
}
