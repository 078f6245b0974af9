package org.rdmapanama.soft.net;

import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.memory.Memory;

/**
 * The datagrams between devices of this kind, most of them about links in shared memory: management datagrams of a vendor's class, which devices of other kinds do not
 * know and drop. (Section 16.5 of the InfiniBand Architecture Specification, volume 1.) The methods take the address of a
 * datagram of {@link Mad#BYTES} bytes. Stateless.
 */
final class RingMessage {
    /** Here is a file: please open it. */
    static final int OFFER = 1;

    /** The file is open. */
    static final int ACCEPT = 2;

    /** A device of this kind is here. The datagram itself says so, by the port that it comes from: nothing is to be done. */
    static final int GREETING = 3;

    /** Base version 1, a class of vendors, its version, and the method Send, which nobody answers. */
    private static final int HEADER = 0x01_32_01_03;

    private static final int TRANSACTION = 8;
    private static final int ATTRIBUTE = 16;

    /** The identifier of the vendor, in the lower 24 bits: locally administered, as is the GUID of the device. */
    private static final int VENDOR_AT = 36;

    private static final int VENDOR = 0x02_00_00;

    // The data of this vendor.
    private static final int MAGIC_AT = 40;
    private static final long MAGIC = 0x736f66742d72696eL;
    private static final int VERSION_AT = 48;
    private static final int RING_BYTES_AT = 52;
    private static final int NAME_AT = 56;
    private static final int SECRET_AT = 72;

    private RingMessage() {}

    static void write(long mad, int kind, long transaction, RingFile.Key key) {
        begin(mad, kind);
        Memory.putNetLong(mad + TRANSACTION, transaction);
        Memory.putNetLong(mad + NAME_AT, key.nameHigh());
        Memory.putNetLong(mad + NAME_AT + Long.BYTES, key.nameLow());
        Memory.putNetLong(mad + SECRET_AT, key.secretHigh());
        Memory.putNetLong(mad + SECRET_AT + Long.BYTES, key.secretLow());
    }

    /** Writes a datagram of a kind that is about no file. */
    static void begin(long mad, int kind) {
        Memory.zero(mad, Mad.BYTES);
        Memory.putNetInt(mad, HEADER);
        Memory.putNetShort(mad + ATTRIBUTE, (short) kind);
        Memory.putNetInt(mad + VENDOR_AT, VENDOR);
        Memory.putNetLong(mad + MAGIC_AT, MAGIC);
        Memory.putNetInt(mad + VERSION_AT, RingFile.VERSION);
        Memory.putNetInt(mad + RING_BYTES_AT, RingFile.RING_BYTES);
    }

    /** Returns whether it is a datagram of this kind, of a device that lays out the memory in the same way. */
    static boolean isValid(long mad) {
        return Memory.getNetInt(mad) == HEADER
                && Memory.getNetInt(mad + VENDOR_AT) == VENDOR
                && Memory.getNetLong(mad + MAGIC_AT) == MAGIC
                && Memory.getNetInt(mad + VERSION_AT) == RingFile.VERSION
                && Memory.getNetInt(mad + RING_BYTES_AT) == RingFile.RING_BYTES;
    }

    static int kind(long mad) {
        return Memory.getNetShort(mad + ATTRIBUTE);
    }

    static long transaction(long mad) {
        return Memory.getNetLong(mad + TRANSACTION);
    }

    static RingFile.Key key(long mad) {
        return new RingFile.Key(
                Memory.getNetLong(mad + NAME_AT),
                Memory.getNetLong(mad + NAME_AT + Long.BYTES),
                Memory.getNetLong(mad + SECRET_AT),
                Memory.getNetLong(mad + SECRET_AT + Long.BYTES));
    }
}
