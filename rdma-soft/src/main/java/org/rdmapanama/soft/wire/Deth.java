package org.rdmapanama.soft.wire;

import org.rdmapanama.soft.memory.Memory;

/**
 * The datagram extended transport header. (Section 9.3.2 of the InfiniBand Architecture Specification, volume 1.) All
 * methods take the address of this header.
 */
public final class Deth {
    public static final int BYTES = 8;

    /** The offset of this header in a packet. */
    public static final int OFFSET = Bth.BYTES;

    private Deth() {}

    public static void write(long header, int qkey, int sourceQueuePair) {
        Memory.putNetInt(header, qkey);
        Memory.putNetInt(header + 4, sourceQueuePair & Bth.MASK_24);
    }

    public static int qkey(long header) {
        return Memory.getNetInt(header);
    }

    public static int sourceQueuePair(long header) {
        return Memory.getNetInt(header + 4) & Bth.MASK_24;
    }
}
