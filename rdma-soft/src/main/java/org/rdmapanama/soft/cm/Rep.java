package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.memory.Memory;

/** The REP datagram, which accepts a request. (Section 12.6.8.) */
public final class Rep {
    public static final int PRIVATE_BYTES = 196;

    /** The offset of the private data. */
    public static final int PRIVATE = 60;

    private static final int QUEUE_PAIR = 36;
    private static final int PSN = 44;
    private static final int RESPONDER_RESOURCES = 48;
    private static final int INITIATOR_DEPTH = 49;
    private static final int DELAY = 50;
    private static final int RNR = 51;
    private static final int GUID = 52;

    private Rep() {}

    public static void begin(long mad, long transaction, int localId, int remoteId, long guid) {
        Mad.begin(mad, Mad.REP, transaction, localId, remoteId);
        Memory.putNetLong(mad + GUID, guid);
    }

    /** Writes the queue pair of the responder and its limits. */
    public static void queuePair(
            long mad, int number, int psn, int responderResources, int initiatorDepth, boolean sharedReceives) {
        Memory.putNetInt(mad + QUEUE_PAIR, number << 8);
        Memory.putNetInt(mad + PSN, psn << 8);
        Memory.putByte(mad + RESPONDER_RESOURCES, (byte) responderResources);
        Memory.putByte(mad + INITIATOR_DEPTH, (byte) initiatorDepth);
        Memory.putByte(mad + RNR, (byte) ((Memory.getByte(mad + RNR) & 0xe0) | (sharedReceives ? 1 << 4 : 0)));
    }

    public static void transport(long mad, boolean flowControl, int rnrRetryCount) {
        Memory.putByte(mad + DELAY, (byte) (flowControl ? 1 : 0));
        Memory.putByte(mad + RNR, (byte) ((Memory.getByte(mad + RNR) & 0x1f) | rnrRetryCount << 5));
    }

    public static int queuePair(long mad) {
        return Mad.upper24(mad + QUEUE_PAIR);
    }

    public static int psn(long mad) {
        return Mad.upper24(mad + PSN);
    }

    public static int responderResources(long mad) {
        return Mad.unsignedByte(mad + RESPONDER_RESOURCES);
    }

    public static int initiatorDepth(long mad) {
        return Mad.unsignedByte(mad + INITIATOR_DEPTH);
    }

    public static boolean flowControl(long mad) {
        return (Memory.getByte(mad + DELAY) & 1) != 0;
    }

    public static int rnrRetryCount(long mad) {
        return Mad.unsignedByte(mad + RNR) >>> 5;
    }

    public static boolean sharedReceives(long mad) {
        return (Memory.getByte(mad + RNR) & 1 << 4) != 0;
    }
}
