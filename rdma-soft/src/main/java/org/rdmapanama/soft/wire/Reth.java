package org.rdmapanama.soft.wire;

import org.rdmapanama.soft.memory.Memory;

/**
 * The RDMA extended transport header. (Section 9.3.3 of the InfiniBand Architecture Specification, volume 1.) All
 * methods take the address of this header.
 */
public final class Reth {
    public static final int BYTES = 16;

    /** The offset of this header in a packet. */
    public static final int OFFSET = Bth.BYTES;

    private Reth() {}

    public static void write(long header, long remoteAddress, int rkey, int length) {
        Memory.putNetLong(header, remoteAddress);
        Memory.putNetInt(header + 8, rkey);
        Memory.putNetInt(header + 12, length);
    }

    public static long remoteAddress(long header) {
        return Memory.getNetLong(header);
    }

    public static int rkey(long header) {
        return Memory.getNetInt(header + 8);
    }

    /** The bytes of the whole message: 32 bits without a sign. */
    public static int length(long header) {
        return Memory.getNetInt(header + 12);
    }
}
