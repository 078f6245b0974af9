package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.memory.Memory;

/** The REQ datagram, which requests a connection. (Section 12.6.5.) Requests have no alternate path. */
public final class Req {
    public static final int PRIVATE_BYTES = 92;

    /** The offset of the private data. */
    public static final int PRIVATE = 164;

    /** Transport services: reliable and unreliable connections. */
    public static final int RC = 0;

    public static final int UC = 1;

    private static final int SERVICE = 32;
    private static final int GUID = 40;
    private static final int QUEUE_PAIR = 56;
    private static final int RESPONDER_RESOURCES = 59;
    private static final int INITIATOR_DEPTH = 63;
    private static final int REMOTE_TIMEOUT = 67;
    private static final int PSN = 68;
    private static final int LOCAL_TIMEOUT = 71;
    private static final int PKEY = 72;
    private static final int MTU = 74;
    private static final int RETRIES = 75;
    private static final int LIDS = 76;
    private static final int LOCAL_GID = 80;
    private static final int REMOTE_GID = 96;
    private static final int TRAFFIC_CLASS = 116;
    private static final int HOP_LIMIT = 117;
    private static final int ACK_TIMEOUT = 119;

    private Req() {}

    public static void begin(long mad, long transaction, int localId, long service, long guid) {
        Mad.begin(mad, Mad.REQ, transaction, localId, 0);
        Memory.putNetLong(mad + SERVICE, service);
        Memory.putNetLong(mad + GUID, guid);
        Memory.putNetShort(mad + PKEY, (short) 0xffff);
        // RoCE has no local identifiers.
        Memory.putNetInt(mad + LIDS, -1);
    }

    /** Writes the queue pair of the requester and its limits. */
    public static void queuePair(
            long mad, int number, int psn, int responderResources, int initiatorDepth, boolean sharedReceives) {
        Memory.putNetInt(mad + QUEUE_PAIR, number << 8 | responderResources);
        Memory.putByte(mad + INITIATOR_DEPTH, (byte) initiatorDepth);
        Memory.putNetInt(mad + PSN, psn << 8 | Mad.unsignedByte(mad + LOCAL_TIMEOUT));
        Memory.putByte(mad + RETRIES, (byte) ((Memory.getByte(mad + RETRIES) & 0xf0) | (sharedReceives ? 1 << 3 : 0)));
    }

    /** Writes the transport parameters; the response timeout applies to the connection managers of both sides. */
    public static void transport(
            long mad,
            int service,
            boolean flowControl,
            int mtu,
            int retryCount,
            int rnrRetryCount,
            int responseTimeout) {
        Memory.putByte(mad + REMOTE_TIMEOUT, (byte) (responseTimeout << 3 | service << 1 | (flowControl ? 1 : 0)));
        Memory.putByte(mad + LOCAL_TIMEOUT, (byte) (responseTimeout << 3 | retryCount));
        Memory.putByte(mad + MTU, (byte) (mtu << 4 | rnrRetryCount));
    }

    /** Writes how often a datagram is retransmitted at most. */
    public static void retries(long mad, int count) {
        Memory.putByte(mad + RETRIES, (byte) ((Memory.getByte(mad + RETRIES) & 0x0f) | count << 4));
    }

    /** Writes the primary path, with each GID as two numbers. */
    public static void path(
            long mad,
            long localHigh,
            long localLow,
            long remoteHigh,
            long remoteLow,
            int trafficClass,
            int hopLimit,
            int ackTimeout) {
        Memory.putNetLong(mad + LOCAL_GID, localHigh);
        Memory.putNetLong(mad + LOCAL_GID + Long.BYTES, localLow);
        Memory.putNetLong(mad + REMOTE_GID, remoteHigh);
        Memory.putNetLong(mad + REMOTE_GID + Long.BYTES, remoteLow);
        Memory.putByte(mad + TRAFFIC_CLASS, (byte) trafficClass);
        Memory.putByte(mad + HOP_LIMIT, (byte) hopLimit);
        Memory.putByte(mad + ACK_TIMEOUT, (byte) (ackTimeout << 3));
    }

    public static long service(long mad) {
        return Memory.getNetLong(mad + SERVICE);
    }

    /** Returns the GUID of the sender's device. */
    public static long guid(long mad) {
        return Memory.getNetLong(mad + GUID);
    }

    public static int queuePair(long mad) {
        return Mad.upper24(mad + QUEUE_PAIR);
    }

    public static int responderResources(long mad) {
        return Mad.unsignedByte(mad + RESPONDER_RESOURCES);
    }

    public static int initiatorDepth(long mad) {
        return Mad.unsignedByte(mad + INITIATOR_DEPTH);
    }

    /** {@link #RC}, {@link #UC}, or another that is not supported. */
    public static int transportService(long mad) {
        return Memory.getByte(mad + REMOTE_TIMEOUT) >>> 1 & 3;
    }

    public static boolean flowControl(long mad) {
        return (Memory.getByte(mad + REMOTE_TIMEOUT) & 1) != 0;
    }

    public static int psn(long mad) {
        return Mad.upper24(mad + PSN);
    }

    /** Returns the response time of the sender: 4.096 microseconds times two to the power of this. */
    public static int localTimeout(long mad) {
        return Mad.unsignedByte(mad + LOCAL_TIMEOUT) >>> 3;
    }

    public static int retryCount(long mad) {
        return Memory.getByte(mad + LOCAL_TIMEOUT) & 7;
    }

    /** Returns the path MTU, of enum ibv_mtu if the datagram is valid. */
    public static int mtu(long mad) {
        return Mad.unsignedByte(mad + MTU) >>> 4;
    }

    public static int rnrRetryCount(long mad) {
        return Memory.getByte(mad + MTU) & 7;
    }

    public static boolean sharedReceives(long mad) {
        return (Memory.getByte(mad + RETRIES) & 1 << 3) != 0;
    }

    public static int trafficClass(long mad) {
        return Mad.unsignedByte(mad + TRAFFIC_CLASS);
    }

    public static int ackTimeout(long mad) {
        return Mad.unsignedByte(mad + ACK_TIMEOUT) >>> 3;
    }
}
