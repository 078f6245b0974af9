package org.rdmapanama.soft.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.rdmapanama.ffm.internal.Native;

/**
 * Reads and writes the memory of this process by address, as a driver does: the caller is responsible for the address.
 * The byte order is native, or that of the network in methods with Net in their name; addresses need not be aligned.
 * Stateless.
 */
public final class Memory {
    private static final MemorySegment ALL = Native.struct(0, Long.MAX_VALUE);

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
        return ALL.get(BYTE, address);
    }

    public static short getShort(long address) {
        return ALL.get(SHORT, address);
    }

    public static int getInt(long address) {
        return ALL.get(INT, address);
    }

    public static long getLong(long address) {
        return ALL.get(LONG, address);
    }

    public static short getNetShort(long address) {
        return ALL.get(NET_SHORT, address);
    }

    public static int getNetInt(long address) {
        return ALL.get(NET_INT, address);
    }

    public static long getNetLong(long address) {
        return ALL.get(NET_LONG, address);
    }

    public static void putByte(long address, byte value) {
        ALL.set(BYTE, address, value);
    }

    public static void putShort(long address, short value) {
        ALL.set(SHORT, address, value);
    }

    public static void putInt(long address, int value) {
        ALL.set(INT, address, value);
    }

    public static void putLong(long address, long value) {
        ALL.set(LONG, address, value);
    }

    public static void putNetShort(long address, short value) {
        ALL.set(NET_SHORT, address, value);
    }

    public static void putNetInt(long address, int value) {
        ALL.set(NET_INT, address, value);
    }

    public static void putNetLong(long address, long value) {
        ALL.set(NET_LONG, address, value);
    }

    /** Atomically adds at an address that is a multiple of eight. Returns the previous value. */
    public static long getAndAdd(long address, long value) {
        return (long) ATOMIC.getAndAdd(ALL, address, value);
    }

    /** Atomically replaces an expected value at an address that is a multiple of eight. Returns the previous value. */
    public static long compareAndExchange(long address, long expected, long value) {
        return (long) ATOMIC.compareAndExchange(ALL, address, expected, value);
    }

    /** Reads at an address that is a multiple of four, before whatever is read later. */
    public static int getIntAcquire(long address) {
        return (int) ATOMIC_INT.getAcquire(ALL, address);
    }

    /** Writes at an address that is a multiple of four, after whatever was written before. */
    public static void putIntRelease(long address, int value) {
        ATOMIC_INT.setRelease(ALL, address, value);
    }

    /** Reads at an address that is a multiple of eight, before whatever is read later. */
    public static long getLongAcquire(long address) {
        return (long) ATOMIC.getAcquire(ALL, address);
    }

    /** Writes at an address that is a multiple of eight, after whatever was written before. */
    public static void putLongRelease(long address, long value) {
        ATOMIC.setRelease(ALL, address, value);
    }

    /** Copies bytes; source and target may overlap. */
    public static void copy(long from, long to, long bytes) {
        MemorySegment.copy(ALL, from, ALL, to, bytes);
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
