package org.rdmapanama.soft.wire;

import org.rdmapanama.soft.memory.Memory;

/**
 * The atomic extended transport header. (Section 9.3.4 of the InfiniBand Architecture Specification, volume 1.) All
 * methods take the address of this header.
 */
public final class AtomicEth {
    public static final int BYTES = 28;

    /** The offset of this header in a packet. */
    public static final int OFFSET = Bth.BYTES;

    private AtomicEth() {}

    public static void write(long header, long remoteAddress, int rkey, long swapOrAdd, long compare) {
        Memory.putNetLong(header, remoteAddress);
        Memory.putNetInt(header + 8, rkey);
        Memory.putNetLong(header + 12, swapOrAdd);
        Memory.putNetLong(header + 20, compare);
    }

    public static long remoteAddress(long header) {
        return Memory.getNetLong(header);
    }

    public static int rkey(long header) {
        return Memory.getNetInt(header + 8);
    }

    public static long swapOrAdd(long header) {
        return Memory.getNetLong(header + 12);
    }

    /** Returns the value that a compare-and-swap compares with. */
    public static long compare(long header) {
        return Memory.getNetLong(header + 20);
    }
}
