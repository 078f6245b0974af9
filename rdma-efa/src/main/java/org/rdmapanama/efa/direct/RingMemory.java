package org.rdmapanama.efa.direct;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.internal.Native;

/**
 * Access to what the device reads and writes, which is little-endian as x86-64 is. This class is for x86-64 only.
 *
 * <p>Order. The processor keeps stores to memory in order, and loads; the fences here keep the compiler from changing it. The
 * pages of doorbells are not cached, and a store there passes no other one. The ring of sends is in the device, in pages that
 * are write-combining: a store is delayed there and may pass others. A locked instruction ends that, which an atomic addition is on
 * HotSpot. The Java memory model promises none of this for devices.
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

    /** What a buffer of the processor holds. */
    private static final int BLOCK_BYTES = 64;

    /** What is set to zero at once. */
    private static final int WORDS_BYTES = 32;

    // A path to memory through few methods: the compiler inlines only so many into each other.
    private static final VarHandle BYTE = JAVA_BYTE.varHandle();
    private static final VarHandle INT = JAVA_INT.varHandle();
    private static final VarHandle SHORT_UNALIGNED = JAVA_SHORT_UNALIGNED.varHandle();
    private static final VarHandle INT_UNALIGNED = JAVA_INT_UNALIGNED.varHandle();
    private static final VarHandle LONG_UNALIGNED = JAVA_LONG_UNALIGNED.varHandle();

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

    /**
     * Stores zeros.
     *
     * @param bytes a multiple of 32, at least as much
     */
    static void zero(long address, int bytes) {
        int done = 0;
        do {
            long words = known(address + done);
            for (int i = 0; i < WORDS_BYTES; i += Long.BYTES) {
                putLong(words + i, 0);
            }
            done += WORDS_BYTES;
        } while (done < bytes);
    }

    static void copy(long from, long to, long bytes) {
        MemorySegment.copy(MEMORY, from, MEMORY, to, bytes);
    }

    /**
     * Stores eight aligned bytes to write-combining memory. Those who do so with increasing addresses fill a buffer of the processor,
     * which is sent as a whole then, as soon as may be. The fence holds the compiler, which might choose another order or other
     * sizes.
     */
    static void putToDevice(long address, long value) {
        putLong(address, value);
        VarHandle.releaseFence();
    }

    /**
     * Copies to write-combining memory, by {@link #putToDevice}.
     *
     * @param from where to copy from
     * @param to where to copy to
     * @param bytes a multiple of 64, at least as much
     */
    static void copyToDevice(long from, long to, int bytes) {
        int copied = 0;
        do {
            long source = known(from + copied);
            long target = known(to + copied);
            // Written out: the compiler would unroll a part of a loop only.
            putToDevice(target, getLong(source));
            putToDevice(target + 8, getLong(source + 8));
            putToDevice(target + 16, getLong(source + 16));
            putToDevice(target + 24, getLong(source + 24));
            putToDevice(target + 32, getLong(source + 32));
            putToDevice(target + 40, getLong(source + 40));
            putToDevice(target + 48, getLong(source + 48));
            putToDevice(target + 56, getLong(source + 56));
            copied += BLOCK_BYTES;
        } while (copied < bytes);
    }

    /**
     * Has all stores to write-combining memory be on their way to the device before any later store, by a locked instruction that
     * changes nothing. {@link VarHandle#fullFence} would not do: the compiler leaves it out where another one follows before the
     * next load, since that is all that the Java memory model asks.
     *
     * @param address of four aligned bytes of ordinary memory
     */
    @SuppressWarnings("ReturnValueIgnored") // what counts is the instruction
    static void flush(long address) {
        int unused = (int) INT.getAndAdd(MEMORY, address & ACCESSES, 0);
    }

    /**
     * Rings a doorbell, in a page that is not cached: all earlier stores to ordinary memory are seen before it, and all earlier
     * loads were made.
     *
     * @param doorbell its address
     * @param value its four bytes
     */
    static void ring(long doorbell, int value) {
        VarHandle.releaseFence();
        putInt(doorbell, value);
        VarHandle.releaseFence();
    }
}
