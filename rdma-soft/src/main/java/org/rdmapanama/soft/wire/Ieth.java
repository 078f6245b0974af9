package org.rdmapanama.soft.wire;

import org.rdmapanama.soft.memory.Memory;

/**
 * The invalidate extended transport header. (Section 9.4.1 of the InfiniBand Architecture Specification, volume 1.)
 * All methods take the address of this header.
 */
public final class Ieth {
    public static final int BYTES = 4;

    /** The offset of this header in a packet. */
    public static final int OFFSET = Bth.BYTES;

    private Ieth() {}

    public static void write(long header, int rkey) {
        Memory.putNetInt(header, rkey);
    }

    public static int rkey(long header) {
        return Memory.getNetInt(header);
    }
}
