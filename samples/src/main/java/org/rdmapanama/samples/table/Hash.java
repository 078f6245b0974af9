package org.rdmapanama.samples.table;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** The hash of a key, which server and clients compute alike. It allocates nothing. */
final class Hash {
    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private Hash() {}

    static long of(MemorySegment memory, long from, int length, long seed) {
        long hash = mix(seed + length);
        int i = 0;
        for (; i + Long.BYTES <= length; i += Long.BYTES) {
            hash = mix(hash ^ memory.get(WORD, from + i));
        }
        long rest = 0;
        for (; i < length; i++) {
            rest = (rest << Byte.SIZE) | (memory.get(ValueLayout.JAVA_BYTE, from + i) & 0xFF);
        }
        return mix(hash ^ rest);
    }

    /** The finalizer of SplitMix64. */
    private static long mix(long value) {
        long mixed = value + 0x9E37_79B9_7F4A_7C15L;
        mixed = (mixed ^ (mixed >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94D0_49BB_1331_11EBL;
        return mixed ^ (mixed >>> 31);
    }
}
