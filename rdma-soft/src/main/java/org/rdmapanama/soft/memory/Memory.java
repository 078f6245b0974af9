package org.rdmapanama.soft.memory;

import static org.rdmapanama.ffm.internal.Native.at;
import static org.rdmapanama.ffm.internal.Native.index;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Reads and writes the memory of this process by address, as a driver does: the caller is responsible for the address.
 * The byte order is native, or that of the network in methods with Net in their name; addresses need not be aligned.
 * Stateless.
 */
public final class Memory {
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final ValueLayout.OfShort NET_SHORT = SHORT.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt NET_INT = INT.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong NET_LONG = LONG.withOrder(ByteOrder.BIG_ENDIAN);

    private static final VarHandle ATOMIC = ValueLayout.JAVA_LONG.varHandle();
    private static final VarHandle ATOMIC_INT = ValueLayout.JAVA_INT.varHandle();

    private Memory() {}

    public static byte getByte(long address) {
        return at(address, Byte.BYTES).get(BYTE, index(address));
    }

    public static short getShort(long address) {
        return at(address, Short.BYTES).get(SHORT, index(address));
    }

    public static int getInt(long address) {
        return at(address, Integer.BYTES).get(INT, index(address));
    }

    public static long getLong(long address) {
        return at(address, Long.BYTES).get(LONG, index(address));
    }

    public static short getNetShort(long address) {
        return at(address, Short.BYTES).get(NET_SHORT, index(address));
    }

    public static int getNetInt(long address) {
        return at(address, Integer.BYTES).get(NET_INT, index(address));
    }

    public static long getNetLong(long address) {
        return at(address, Long.BYTES).get(NET_LONG, index(address));
    }

    public static void putByte(long address, byte value) {
        at(address, Byte.BYTES).set(BYTE, index(address), value);
    }

    public static void putShort(long address, short value) {
        at(address, Short.BYTES).set(SHORT, index(address), value);
    }

    public static void putInt(long address, int value) {
        at(address, Integer.BYTES).set(INT, index(address), value);
    }

    public static void putLong(long address, long value) {
        at(address, Long.BYTES).set(LONG, index(address), value);
    }

    public static void putNetShort(long address, short value) {
        at(address, Short.BYTES).set(NET_SHORT, index(address), value);
    }

    public static void putNetInt(long address, int value) {
        at(address, Integer.BYTES).set(NET_INT, index(address), value);
    }

    public static void putNetLong(long address, long value) {
        at(address, Long.BYTES).set(NET_LONG, index(address), value);
    }

    /** Atomically adds at an address that is a multiple of eight. Returns the previous value. */
    public static long getAndAdd(long address, long value) {
        return (long) ATOMIC.getAndAdd(at(address, Long.BYTES), index(address), value);
    }

    /** Atomically replaces an expected value at an address that is a multiple of eight. Returns the previous value. */
    public static long compareAndExchange(long address, long expected, long value) {
        return (long) ATOMIC.compareAndExchange(at(address, Long.BYTES), index(address), expected, value);
    }

    /** Reads at an address that is a multiple of four, before whatever is read later. */
    public static int getIntAcquire(long address) {
        return (int) ATOMIC_INT.getAcquire(at(address, Integer.BYTES), index(address));
    }

    /** Writes at an address that is a multiple of four, after whatever was written before. */
    public static void putIntRelease(long address, int value) {
        ATOMIC_INT.setRelease(at(address, Integer.BYTES), index(address), value);
    }

    /** Reads at an address that is a multiple of eight, before whatever is read later. */
    public static long getLongAcquire(long address) {
        return (long) ATOMIC.getAcquire(at(address, Long.BYTES), index(address));
    }

    /** Writes at an address that is a multiple of eight, after whatever was written before. */
    public static void putLongRelease(long address, long value) {
        ATOMIC.setRelease(at(address, Long.BYTES), index(address), value);
    }

    /** Copies bytes; source and target may overlap. */
    public static void copy(long from, long to, long bytes) {
        MemorySegment.copy(at(from, bytes), index(from), at(to, bytes), index(to), bytes);
    }

    /** Writes zeros, without allocating a slice. */
    public static void zero(long address, long bytes) {
        long at = address;
        long end = address + bytes;
        for (; at <= end - Long.BYTES; at += Long.BYTES) {
            putLong(at, 0);
        }
        for (; at < end; at++) {
            putByte(at, (byte) 0);
        }
    }
}
