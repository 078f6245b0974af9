package org.rdmapanama.soft.wire;

import org.rdmapanama.soft.memory.Memory;

/**
 * The atomic acknowledge extended transport header. (Section 9.3.6 of the InfiniBand Architecture Specification, volume
 * 1.) All methods take the address of this header.
 */
public final class AtomicAckEth {
    public static final int BYTES = 8;

    /** The offset of this header in a packet. */
    public static final int OFFSET = Aeth.OFFSET + Aeth.BYTES;

    private AtomicAckEth() {}

    public static void write(long header, long original) {
        Memory.putNetLong(header, original);
    }

    /** Returns the value before the operation. */
    public static long original(long header) {
        return Memory.getNetLong(header);
    }
}
