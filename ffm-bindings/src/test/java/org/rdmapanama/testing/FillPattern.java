package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The data of transfers: each byte depends on its place and on a seed. It never repeats, so that a shift, a gap and a
 * piece of an earlier transfer show.
 */
public final class FillPattern {
    private FillPattern() {}

    public static void fill(MemorySegment memory, int seed) {
        for (long i = 0; i < memory.byteSize(); i++) {
            memory.set(ValueLayout.JAVA_BYTE, i, at(i, seed));
        }
    }

    public static byte[] bytes(int size, int seed) {
        byte[] bytes = new byte[size];
        // Not by fill: a JVM without its second compiler, as in the lab, is slow at access to segments.
        for (int i = 0; i < size; i++) {
            bytes[i] = at(i, seed);
        }
        return bytes;
    }

    /** Checks that a memory has what {@link #fill} has written. */
    public static void assertFilled(MemorySegment memory, int seed) {
        for (long i = 0; i < memory.byteSize(); i++) {
            long place = i;
            assertEquals(at(i, seed), memory.get(ValueLayout.JAVA_BYTE, i), () -> "byte " + place);
        }
    }

    private static byte at(long place, int seed) {
        long mixed = (place + ((long) seed << 40)) * 0x9E37_79B9_7F4A_7C15L;
        mixed = (mixed ^ mixed >>> 32) * 0xD6E8_FEB8_6659_FD93L;
        return (byte) (mixed >>> 56);
    }
}
