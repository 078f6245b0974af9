package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.memory.Memory;

/**
 * The common part of all management datagrams of the communication management class. (Sections 13.4.3 and 12.6 of the
 * InfiniBand Architecture Specification, volume 1.) The methods of this package take the address of a datagram of
 * {@link #BYTES} bytes, so that every field can be read whatever the bytes are. Stateless.
 */
public final class Mad {
    public static final int BYTES = 256;

    // Kinds, by their attribute.
    public static final int REQ = 0x10;
    public static final int MRA = 0x11;
    public static final int REJ = 0x12;
    public static final int REP = 0x13;
    public static final int RTU = 0x14;
    public static final int DREQ = 0x15;
    public static final int DREP = 0x16;
    public static final int SIDR_REQ = 0x17;
    public static final int SIDR_REP = 0x18;

    /** The queue pair of these datagrams, on both sides. */
    public static final int QUEUE_PAIR = 1;

    /** Its Q_Key. */
    public static final int QKEY = 0x8001_0000;

    private static final int HEADER = 0x01_07_02_03;
    private static final int TRANSACTION = 8;
    private static final int ATTRIBUTE = 16;
    private static final int LOCAL_ID = 24;
    private static final int REMOTE_ID = 28;

    private Mad() {}

    /** Writes the header of a datagram and zeros the rest. */
    static void begin(long mad, int attribute, long transaction) {
        Memory.zero(mad, BYTES);
        Memory.putNetInt(mad, HEADER);
        Memory.putNetLong(mad + TRANSACTION, transaction);
        Memory.putNetShort(mad + ATTRIBUTE, (short) attribute);
    }

    /** Writes the header and both communication identifiers. */
    static void begin(long mad, int attribute, long transaction, int localId, int remoteId) {
        begin(mad, attribute, transaction);
        Memory.putNetInt(mad + LOCAL_ID, localId);
        Memory.putNetInt(mad + REMOTE_ID, remoteId);
    }

    /** Writes an RTU: the connection is ready to use. */
    public static void writeRtu(long mad, long transaction, int localId, int remoteId) {
        begin(mad, RTU, transaction, localId, remoteId);
    }

    /** Writes a DREP: confirms the end of the connection. */
    public static void writeDrep(long mad, long transaction, int localId, int remoteId) {
        begin(mad, DREP, transaction, localId, remoteId);
    }

    /** Whether it is of this class, in the version that this package knows, and sent rather than asked for. */
    public static boolean isValid(long mad) {
        return Memory.getNetInt(mad) == HEADER;
    }

    public static int attribute(long mad) {
        return Short.toUnsignedInt(Memory.getNetShort(mad + ATTRIBUTE));
    }

    public static long transaction(long mad) {
        return Memory.getNetLong(mad + TRANSACTION);
    }

    /** Returns the communication identifier of the sender; in SIDR datagrams, that of the request. */
    public static int localId(long mad) {
        return Memory.getNetInt(mad + LOCAL_ID);
    }

    /** Returns the communication identifier of the receiver; REQ and SIDR datagrams have none. */
    public static int remoteId(long mad) {
        return Memory.getNetInt(mad + REMOTE_ID);
    }

    /** Returns the upper 24 bits of a word. */
    static int upper24(long at) {
        return Memory.getNetInt(at) >>> 8;
    }

    static int unsignedByte(long at) {
        return Byte.toUnsignedInt(Memory.getByte(at));
    }
}
