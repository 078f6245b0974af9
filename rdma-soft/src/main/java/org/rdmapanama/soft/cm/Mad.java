package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.wire.Memory;

/**
 * A management datagram of the communication management class: what all of them have. (Sections 13.4.3 and 12.6 of the
 * InfiniBand Architecture Specification, volume 1.) The methods of this package take the address of the datagram, which
 * has {@link #BYTES} bytes, so that each field can be read whatever they are.
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

    /** Begins a datagram: all but the header is zero. */
    static void begin(long mad, int attribute, long transaction) {
        Memory.zero(mad, BYTES);
        Memory.putNetInt(mad, HEADER);
        Memory.putNetLong(mad + TRANSACTION, transaction);
        Memory.putNetShort(mad + ATTRIBUTE, (short) attribute);
    }

    /** Writes a datagram of a kind that has both identifiers first. */
    static void begin(long mad, int attribute, long transaction, int localId, int remoteId) {
        begin(mad, attribute, transaction);
        Memory.putNetInt(mad + LOCAL_ID, localId);
        Memory.putNetInt(mad + REMOTE_ID, remoteId);
    }

    /** A datagram that says nothing but that the connection is ready to use. */
    public static void writeRtu(long mad, long transaction, int localId, int remoteId) {
        begin(mad, RTU, transaction, localId, remoteId);
    }

    /** A datagram that says nothing but that the other side's end of the connection is known. */
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

    /** The sender's communication identifier; of SIDR the request's. */
    public static int localId(long mad) {
        return Memory.getNetInt(mad + LOCAL_ID);
    }

    /** The receiver's communication identifier, but for REQ and SIDR. */
    public static int remoteId(long mad) {
        return Memory.getNetInt(mad + REMOTE_ID);
    }

    /** A field of the upper 24 bits of a word. */
    static int upper24(long at) {
        return Memory.getNetInt(at) >>> 8;
    }

    static int unsignedByte(long at) {
        return Byte.toUnsignedInt(Memory.getByte(at));
    }
}
