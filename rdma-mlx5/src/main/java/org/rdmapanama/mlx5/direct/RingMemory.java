package org.rdmapanama.mlx5.direct;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.internal.Native;

/**
 * Access to what the device reads and writes, which is in network byte order. This class is for x86-64 only: values are
 * converted from little-endian.
 *
 * <p>All addresses are aligned, but the layouts are not, so that no access checks that.
 *
 * <p>Order. The processor keeps stores to memory in order, and loads; the fences here keep the compiler from changing it. A
 * page of doorbells that is not cached is in the same order. One that is write-combining is not: a store is delayed there and may
 * pass others. A locked instruction ends that, which an atomic addition is on HotSpot. The Java memory model promises none of
 * this for devices.
 */
final class RingMemory {
    private static final MemorySegment MEMORY = Native.MEMORY;

    /** All addresses that a process on x86-64 can have. */
    private static final long ADDRESSES = 0x00ff_ffff_ffff_ffffL;

    /**
     * Masks an address for an access, so that the compiler needs no check of its bounds. It is wider than {@link #ADDRESSES}:
     * behind {@link #known} the compiler sees that this changes nothing, and leaves it out.
     */
    private static final long ACCESSES = Native.INDEXES;

    /** As {@link #ACCESSES}, for aligned accesses of four bytes, so that the compiler needs no check of that either. */
    private static final long ALIGNED_ACCESSES = ACCESSES & -Integer.BYTES;

    // A path to memory through few methods: the compiler inlines only so many into each other.
    private static final VarHandle BYTE = JAVA_BYTE.varHandle();
    private static final VarHandle INT = JAVA_INT.varHandle();
    private static final VarHandle SHORT_UNALIGNED = JAVA_SHORT_UNALIGNED.varHandle();
    private static final VarHandle INT_UNALIGNED = JAVA_INT_UNALIGNED.varHandle();
    private static final VarHandle LONG_UNALIGNED = JAVA_LONG_UNALIGNED.varHandle();

    /** A data segment, and a block in which a send work request begins. */
    static final int SEGMENT_BYTES = 16;

    static final int BLOCK_SHIFT = 6;
    static final int BLOCK_BYTES = 1 << BLOCK_SHIFT;

    private RingMemory() {}

    /** Returns an address, in such a way that the compiler knows its range and that of all addresses close to it. */
    static long known(long address) {
        return address & ADDRESSES;
    }

    static long getLong(long address) {
        return (long) LONG_UNALIGNED.get(MEMORY, address & ACCESSES);
    }

    static int getInt(long address) {
        return (int) INT_UNALIGNED.get(MEMORY, address & ACCESSES);
    }

    static short getShort(long address) {
        return (short) SHORT_UNALIGNED.get(MEMORY, address & ACCESSES);
    }

    static byte getByte(long address) {
        return (byte) BYTE.get(MEMORY, address & ACCESSES);
    }

    /** Reads what the device may change at any time: each call reads it anew. */
    static byte getOpaque(long address) {
        return (byte) BYTE.getOpaque(MEMORY, address & ACCESSES);
    }

    static void putLong(long address, long value) {
        LONG_UNALIGNED.set(MEMORY, address & ACCESSES, value);
    }

    static void putInt(long address, int value) {
        INT_UNALIGNED.set(MEMORY, address & ACCESSES, value);
    }

    static void putShort(long address, short value) {
        SHORT_UNALIGNED.set(MEMORY, address & ACCESSES, value);
    }

    static void putByte(long address, byte value) {
        BYTE.set(MEMORY, address & ACCESSES, value);
    }

    /** Reads a number of 32 bits in network byte order. */
    static int getNetworkInt(long address) {
        return Integer.reverseBytes(getInt(address));
    }

    /** Stores a number of 32 bits in network byte order. */
    static void putNetworkInt(long address, int value) {
        putInt(address, Integer.reverseBytes(value));
    }

    /** Stores a number of 64 bits in network byte order. */
    static void putNetworkLong(long address, long value) {
        putLong(address, Long.reverseBytes(value));
    }

    static void copy(long from, long to, long bytes) {
        MemorySegment.copy(MEMORY, from, MEMORY, to, bytes);
    }

    /** Returns the first half of a {@code struct mlx5_wqe_data_seg}, of the length in the low half and the local key. */
    static long dataWord(long lengthAndKey) {
        // Each half is converted by itself.
        return Long.rotateLeft(Long.reverseBytes(lengthAndKey), Integer.SIZE);
    }

    /**
     * Stores a data segment, {@code struct mlx5_wqe_data_seg}.
     *
     * @param lengthAndKey length and local key as they are in {@code struct ibv_sge}, the length in the low half
     */
    static void putData(long address, long lengthAndKey, long data) {
        putLong(address, dataWord(lengthAndKey));
        putNetworkLong(address + Long.BYTES, data);
    }

    /**
     * Has the device see a doorbell record after all earlier stores, and after earlier loads: where it takes an entry back, that
     * has been read.
     *
     * @param record its address
     * @param value its value
     */
    static void publish(long record, int value) {
        VarHandle.releaseFence();
        putNetworkInt(record, value);
    }

    /**
     * Rings a doorbell: all earlier stores are seen before it, and it is on its way to the device when this returns.
     *
     * @param record the address of the doorbell record, which was stored before
     * @param doorbell its address in the page of the device
     * @param value its eight bytes, as they are in memory
     */
    static void ring(long record, long doorbell, long value) {
        flush(record);
        putLong(doorbell, value);
        flush(record);
    }

    /**
     * Rings a doorbell by a copy of a work request (BlueFlame): all earlier stores are seen before it, and it is on its way to
     * the device when this returns.
     *
     * <p>The processor collects stores to write-combining memory in buffers of 64 bytes (Intel's manual, volume 3A, "Buffering
     * of Write Combining Memory Locations"). It sends a buffer when it likes, and one before the other or not. A full one is
     * sent as a whole; another one in parts, in any order, but never divides eight aligned bytes. A second store to a place
     * replaces the first one, if that was not sent yet. Hence:
     *
     * <ul>
     *   <li>A locked instruction before the copy: the doorbell record is seen first, and nothing of an earlier doorbell is left
     *       in a buffer.
     *   <li>Stores of eight aligned bytes with increasing addresses: a buffer is full as soon as may be, and what is sent
     *       earlier is in whole parts. The fences between them hold the compiler, which might choose another order or other
     *       sizes. libmlx5 does not copy by {@code memcpy} for that reason. Neither asks for an order of blocks.
     *   <li>A locked instruction behind it: it empties the buffers, so that nothing waits, and the next doorbell, perhaps of
     *       another queue pair, is not merged with this one. libmlx5 has an {@code sfence} in both places.
     * </ul>
     *
     * @param record the address of the doorbell record, which was stored before
     * @param doorbell where to copy to
     * @param first the block in which the work request begins
     * @param next the block behind it: all of its last block is copied
     * @param start the first block of the ring
     * @param end behind its last block, where the copy goes on at the start
     */
    static void ringWhole(long record, long doorbell, long first, long next, long start, long end) {
        flush(record);
        long to = known(doorbell);
        long from = first;
        do {
            long block = known(from);
            for (int i = 0; i < BLOCK_BYTES; i += Long.BYTES) {
                putLong(to + i, getLong(block + i));
                VarHandle.releaseFence();
            }
            to += BLOCK_BYTES;
            from = block + BLOCK_BYTES == end ? start : block + BLOCK_BYTES;
        } while (from != next);
        flush(record);
    }

    /**
     * Rings a doorbell in a page that is not cached, where a store is never delayed and passes no other one.
     *
     * @param doorbell its address in the page of the device
     * @param value its eight bytes, as they are in memory
     */
    static void ringUncached(long doorbell, long value) {
        VarHandle.releaseFence();
        putLong(doorbell, value);
        VarHandle.releaseFence();
    }

    /**
     * Executes a locked instruction, which changes nothing in memory. {@link VarHandle#fullFence} would not do: the compiler
     * leaves it out where another one follows before the next load, since that is all that the Java memory model asks.
     */
    @SuppressWarnings("ReturnValueIgnored") // what counts is the instruction
    private static void flush(long address) {
        int unused = (int) INT.getAndAdd(MEMORY, address & ALIGNED_ACCESSES, 0);
    }
}
