package org.rdmapanama.samples.table;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * Reads and writes the slots of a table or of a copy of a part of it. A slot is
 *
 * <pre>
 *  0  version, 8 bytes: odd while the slot is being written, {@link #MOVED} once another table has replaced this one
 *  8  checksum, 4 bytes: CRC-32C of the version, and of everything from the generation to the end of the value
 * 12  generation of the table, 4 bytes
 * 16  length of the key, 4 bytes: 0 if the slot is empty
 * 20  length of the value, 4 bytes
 * 24  key, and the value right behind it
 * </pre>
 *
 * <p><b>Order of memory.</b> The writer makes the version odd, writes the rest, and makes the version even, with fences between.
 * That orders its stores for other processors. It does not order what a device fetches for an RDMA READ: the device may
 * fetch the lines of a slot in any order, and some of them before and some after a store, so a reader may see an even version
 * and a half of another value. Nor is there a promise that the fetch of one line is one step, though it is on today's machines.
 * So the version is a hint that saves computing a checksum in vain, and the checksum is what decides. The version is part of
 * it: two writes of the same bytes differ, and halves of both do not pass for either.
 *
 * <p>The checksum has 32 bits. Of torn slots with random content one in four billion would pass.
 *
 * <p>Threads: one at a time.
 */
final class Slot {
    static final int VERSION = 0;
    static final int CHECKSUM = 8;
    static final int GENERATION = 12;
    static final int KEY_LENGTH = 16;
    static final int VALUE_LENGTH = 20;
    static final int HEADER = 24;

    /** The version of all slots of a table that was replaced. It is odd. */
    static final long MOVED = -1;

    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);

    private static final VarHandle VERSION_HANDLE = LONG.varHandle();

    private final MemorySegment memory;
    private final ByteBuffer bytes;
    private final int slotBytes;
    private final int generation;
    private final CRC32C crc = new CRC32C();
    private final ByteBuffer version = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);

    /** For slots in a memory of at most 2 GiB, which begins at a multiple of 8. */
    Slot(MemorySegment memory, int slotBytes, int generation) {
        this.memory = memory;
        this.slotBytes = slotBytes;
        this.generation = generation;
        bytes = memory.asByteBuffer();
    }

    private int checksum(long at, long ofVersion, int entryBytes) {
        crc.reset();
        version.clear();
        version.putLong(0, ofVersion);
        crc.update(version);
        int from = (int) at + GENERATION;
        bytes.limit((int) at + HEADER + entryBytes).position(from);
        crc.update(bytes);
        bytes.clear();
        return (int) crc.getValue();
    }

    long version(long at) {
        return memory.get(LONG, at + VERSION);
    }

    int keyLength(long at) {
        return memory.get(INT, at + KEY_LENGTH);
    }

    int valueLength(long at) {
        return memory.get(INT, at + VALUE_LENGTH);
    }

    /** Returns whether a slot has a key, and it is this one; the slot may be torn nevertheless. */
    boolean hasKey(long at, MemorySegment key, long from, int length) {
        return keyLength(at) == length
                && MemorySegment.mismatch(memory, at + HEADER, at + HEADER + length, key, from, from + length) < 0;
    }

    /** Returns whether a slot was read in one piece: everything in it may be anything. */
    boolean isWhole(long at) {
        long now = version(at);
        int key = keyLength(at);
        int value = valueLength(at);
        int most = slotBytes - HEADER;
        return (now & 1) == 0
                && memory.get(INT, at + GENERATION) == generation
                && key >= 0
                && key <= most
                && value >= 0
                && value <= most - key
                && memory.get(INT, at + CHECKSUM) == checksum(at, now, key + value);
    }

    /** Writes a slot that readers may be reading; with an empty key, the slot is empty. */
    void write(long at, MemorySegment key, MemorySegment value) {
        long next = version(at) + 2;
        VERSION_HANDLE.setOpaque(memory, at + VERSION, next - 1);
        VarHandle.storeStoreFence();
        int keyLength = (int) key.byteSize();
        int valueLength = (int) value.byteSize();
        memory.set(INT, at + GENERATION, generation);
        memory.set(INT, at + KEY_LENGTH, keyLength);
        memory.set(INT, at + VALUE_LENGTH, valueLength);
        MemorySegment.copy(key, 0, memory, at + HEADER, keyLength);
        MemorySegment.copy(value, 0, memory, at + HEADER + keyLength, valueLength);
        memory.set(INT, at + CHECKSUM, checksum(at, next, keyLength + valueLength));
        VERSION_HANDLE.setRelease(memory, at + VERSION, next);
    }

    /** Tells readers to look elsewhere. */
    void move(long at) {
        VERSION_HANDLE.setRelease(memory, at + VERSION, MOVED);
    }
}
