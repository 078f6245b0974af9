package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Test data that differs everywhere, so that misplaced data is detected. */
public final class TestPattern {
    private static final int BYTES_PER_PIECE = 1 << 20;
    private static final int WORDS_PER_PIECE = BYTES_PER_PIECE / Long.BYTES;
    private static final long GOLDEN_RATIO = 0x9e37_79b9_7f4a_7c15L;

    private TestPattern() {}

    /**
     * Fills memory.
     *
     * @param memory the memory to fill
     * @param seed selects the data
     * @param pause called after every few milliseconds of work
     * @throws IOException if the pause throws it
     * @throws InterruptedException if the pause throws it
     */
    public static void fill(MemorySegment memory, long seed, Checksum.Pause pause)
            throws IOException, InterruptedException {
        long words = memory.byteSize() / Long.BYTES;
        for (long first = 0; first < words; first += WORDS_PER_PIECE) {
            fill(memory, first, Math.min(words, first + WORDS_PER_PIECE), seed);
            pause.take();
        }
        for (long offset = words * Long.BYTES; offset < memory.byteSize(); offset++) {
            memory.set(ValueLayout.JAVA_BYTE, offset, (byte) mix(seed + offset));
        }
    }

    /**
     * Fills memory with zeros.
     *
     * @param memory the memory to fill
     * @param pause called after every few milliseconds of work
     */
    static void clear(MemorySegment memory, Checksum.Pause pause) throws IOException, InterruptedException {
        for (long offset = 0; offset < memory.byteSize(); offset += BYTES_PER_PIECE) {
            memory.asSlice(offset, Math.min(BYTES_PER_PIECE, memory.byteSize() - offset))
                    .fill((byte) 0);
            pause.take();
        }
    }

    private static void fill(MemorySegment memory, long from, long to, long seed) {
        for (long word = from; word < to; word++) {
            memory.setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, word, mix(seed + word * GOLDEN_RATIO));
        }
    }

    /** The output function of SplitMix64 without its last step: cheap, and no two inputs give the same output. */
    private static long mix(long value) {
        long mixed = (value ^ value >>> 30) * 0xbf58_476d_1ce4_e5b9L;
        return mixed ^ mixed >>> 27;
    }
}
