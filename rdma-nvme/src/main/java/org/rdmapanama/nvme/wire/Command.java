package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;

/**
 * A submission queue entry of 64 bytes, the beginning of each command capsule (Base 2.0, 3.3.3.1; the data pointer: Base
 * 2.0, 4.1.2, and RDMA Transport 1.0, 3.2.1). All methods take the memory that begins with it.
 */
public final class Command {
    public static final int BYTES = 64;

    /** Says that the data pointer is an SGL, which it always is over Fabrics (bits 7:6 of the flags). */
    public static final int SGL = 0x40;

    /** The descriptor types: a keyed data block, the same to be invalidated, and an offset within the capsule. */
    public static final int KEYED = 0x40;

    public static final int KEYED_INVALIDATE = 0x4f;
    public static final int IN_CAPSULE = 0x01;

    /** The longest that the 24 bits of a keyed descriptor can say. */
    public static final int MAX_KEYED_LENGTH = 0xffffff;

    private static final int CDW10 = 40;

    /** An attribute of Connect: this host may delete one I/O queue, by Disconnect. */
    private static final int DELETES_QUEUES = 1 << 3;

    private Command() {}

    /**
     * Clears the entry and sets its first fields. The descriptor is a keyed one of no bytes, which a command without data has,
     * too: targets look at its type.
     */
    public static void begin(MemorySegment entry, int opcode, int id, int namespace) {
        for (int offset = 0; offset < BYTES; offset += Long.BYTES) {
            Fields.set64(entry, offset, 0);
        }
        Fields.set8(entry, 0, opcode);
        Fields.set8(entry, 1, SGL);
        Fields.set16(entry, 2, id);
        Fields.set32(entry, 4, namespace);
        Fields.set8(entry, 39, KEYED);
    }

    /** A command of Fabrics, which has a type in the place of the namespace (Fabrics 1.1, figure 10). */
    public static void beginFabrics(MemorySegment entry, int type, int id) {
        begin(entry, Opcode.FABRICS, id, type);
    }

    public static int opcode(MemorySegment entry) {
        return Fields.get8(entry, 0);
    }

    /** Bits 1:0 are of fused operations, bits 7:6 say what the data pointer is. */
    public static int flags(MemorySegment entry) {
        return Fields.get8(entry, 1);
    }

    public static int id(MemorySegment entry) {
        return Fields.get16(entry, 2);
    }

    public static int namespace(MemorySegment entry) {
        return Fields.get32(entry, 4);
    }

    public static int fabricsType(MemorySegment entry) {
        return Fields.get8(entry, 4);
    }

    /** Sets a keyed descriptor. The length has at most 24 bits. */
    public static void keyed(MemorySegment entry, long address, int length, int key, int type) {
        Fields.set64(entry, 24, address);
        // The key overlaps none of the length's three bytes: they come first.
        Fields.set32(entry, 32, length);
        Fields.set32(entry, 35, key);
        Fields.set8(entry, 39, type);
    }

    /** Sets a descriptor of data that follows the entry in the capsule. */
    public static void inCapsule(MemorySegment entry, long offset, int length) {
        Fields.set64(entry, 24, offset);
        Fields.set32(entry, 32, length);
        Fields.set8(entry, 39, IN_CAPSULE);
    }

    public static int descriptorType(MemorySegment entry) {
        return Fields.get8(entry, 39);
    }

    /** The address of a keyed descriptor, or the offset of one within the capsule. */
    public static long address(MemorySegment entry) {
        return Fields.get64(entry, 24);
    }

    public static int keyedLength(MemorySegment entry) {
        return Fields.get32(entry, 32) & MAX_KEYED_LENGTH;
    }

    /** The length of a descriptor within the capsule, 32 bits without sign. */
    public static long inCapsuleLength(MemorySegment entry) {
        return Integer.toUnsignedLong(Fields.get32(entry, 32));
    }

    public static int key(MemorySegment entry) {
        return Fields.get32(entry, 35);
    }

    /** Returns command dword 10 to 15. */
    public static int dword(MemorySegment entry, int number) {
        return Fields.get32(entry, CDW10 + 4L * (number - 10));
    }

    /** Sets command dword 10 to 15. */
    public static void dword(MemorySegment entry, int number, int value) {
        Fields.set32(entry, CDW10 + 4L * (number - 10), value);
    }

    /** The first block of a command that names blocks (NVM Command Set 1.0, 3.2): dwords 10 and 11. */
    public static long firstBlock(MemorySegment entry) {
        return Fields.get64(entry, CDW10);
    }

    /** The number of blocks, 1 to 65536: in the low half of dword 12, less one. */
    public static int blocks(MemorySegment entry) {
        return Fields.get16(entry, CDW10 + 8) + 1;
    }

    /** Sets first block and number of blocks, and the rest of dword 12 to zero. */
    public static void blocks(MemorySegment entry, long first, int count) {
        Fields.set64(entry, CDW10, first);
        Fields.set32(entry, CDW10 + 8, count - 1);
    }

    /** Connect: the queue, its size less one, and the time of keep-alive in milliseconds (Fabrics 1.1, 3.3). */
    public static void connect(MemorySegment entry, int queue, int sizeLessOne, int keepAliveMillis) {
        Fields.set16(entry, 40, 0);
        Fields.set16(entry, 42, queue);
        Fields.set16(entry, 44, sizeLessOne);
        Fields.set8(entry, 46, DELETES_QUEUES);
        Fields.set32(entry, 48, keepAliveMillis);
    }

    public static int connectFormat(MemorySegment entry) {
        return Fields.get16(entry, 40);
    }

    public static int connectQueue(MemorySegment entry) {
        return Fields.get16(entry, 42);
    }

    /** The number of entries, less one. */
    public static int connectSize(MemorySegment entry) {
        return Fields.get16(entry, 44);
    }

    /** Bit 2 asks for no flow control of the submission queue. */
    public static int connectAttributes(MemorySegment entry) {
        return Fields.get8(entry, 46);
    }

    public static int connectKeepAlive(MemorySegment entry) {
        return Fields.get32(entry, 48);
    }

    /** Property Get and Property Set (Fabrics 1.1, 3.4 and 3.5). */
    public static void property(MemorySegment entry, int offset, boolean eightBytes, long value) {
        Fields.set8(entry, 40, eightBytes ? 1 : 0);
        Fields.set32(entry, 44, offset);
        Fields.set64(entry, 48, value);
    }

    /** 0 for a property of four bytes, 1 for one of eight. */
    public static int propertySize(MemorySegment entry) {
        return Fields.get8(entry, 40) & 7;
    }

    public static int propertyOffset(MemorySegment entry) {
        return Fields.get32(entry, 44);
    }

    public static long propertyValue(MemorySegment entry) {
        return Fields.get64(entry, 48);
    }

    /** Whether the data of a command goes from the host to the controller (Base 2.0, figure 87: bits 1:0 of the code). */
    public static boolean sendsData(MemorySegment entry) {
        int code = opcode(entry) == Opcode.FABRICS ? fabricsType(entry) : opcode(entry);
        return (code & 3) == 1;
    }
}
