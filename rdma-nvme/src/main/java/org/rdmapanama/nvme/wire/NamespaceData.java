package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;

/** Identify Namespace, 4096 bytes (NVM Command Set 1.0, figure 97). */
public final class NamespaceData {
    public static final int BYTES = 4096;

    private static final int LBAF = 128;
    private static final int NGUID = 104;

    private NamespaceData() {}

    /** Writes a namespace of one format, without metadata; the memory must be zero. */
    public static void write(MemorySegment data, long blocks, int blockShift, byte[] guid) {
        Fields.set64(data, 0, blocks);
        Fields.set64(data, 8, blocks);
        Fields.set64(data, 16, blocks);
        // Shared among controllers (NMIC).
        Fields.set8(data, 30, 1);
        for (int i = 0; i < 16; i++) {
            Fields.set8(data, NGUID + i, guid[i]);
        }
        Fields.set8(data, LBAF + 2, blockShift);
    }

    /** The size in blocks. */
    public static long blocks(MemorySegment data) {
        return Fields.get64(data, 0);
    }

    private static int format(MemorySegment data) {
        int flbas = Fields.get8(data, 26);
        // Bits 6:5 are the upper ones, of controllers with more than 16 formats.
        int index = (flbas & 0xf) | (Fields.get8(data, 25) > 15 ? (flbas >> 5 & 3) << 4 : 0);
        return Fields.get32(data, LBAF + 4L * index);
    }

    /** The size of a block as a power of two; what is less than 9 is not valid. */
    public static int blockShift(MemorySegment data) {
        return format(data) >>> 16 & 0xff;
    }

    /** The bytes of metadata of each block. */
    public static int metadata(MemorySegment data) {
        return format(data) & 0xffff;
    }

    /** The globally unique identifier; zeros if there is none. */
    public static byte[] guid(MemorySegment data) {
        return Fields.bytes(data, NGUID, 16);
    }
}
