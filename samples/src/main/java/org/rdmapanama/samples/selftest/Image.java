package org.rdmapanama.samples.selftest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.rdmapanama.samples.TestPattern;

/** What the memory of one end must look like: every byte of it, also those around the data. */
final class Image {
    private final End end;
    private final MemorySegment memory;
    private final MemorySegment expected;

    /**
     * Fills the memory of an end.
     *
     * @param length number of bytes from its start, including those that must not change
     * @param seed selects the data
     */
    Image(End end, long length, long seed) throws InterruptedException {
        this.end = end;
        memory = end.memory().asSlice(0, length);
        try {
            TestPattern.fill(memory, seed, () -> {});
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        expected = MemorySegment.ofArray(memory.toArray(ValueLayout.JAVA_BYTE));
    }

    /** Expects data of another end at an offset. */
    void expect(Image source, long sourceOffset, long offset, long length) {
        MemorySegment.copy(source.expected, sourceOffset, expected, offset, length);
    }

    /** Accepts whatever is there now. */
    void accept(long offset, long length) {
        MemorySegment.copy(memory, offset, expected, offset, length);
    }

    /** Clears a part of the memory. */
    void clear(long offset, long length) {
        memory.asSlice(offset, length).fill((byte) 0);
        expected.asSlice(offset, length).fill((byte) 0);
    }

    void set(long offset, long value) {
        memory.set(ValueLayout.JAVA_LONG, offset, value);
        expect(offset, value);
    }

    void expect(long offset, long value) {
        expected.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, value);
    }

    /** Waits until the memory is as expected, for operations that say nothing to this end. */
    void await(Duration limit) throws CheckFailure, InterruptedException {
        long start = System.nanoTime();
        while (memory.mismatch(expected) >= 0) {
            if (System.nanoTime() - start > limit.toNanos()) {
                throw CheckFailure.silence(at(memory.mismatch(expected)), "the data", "other bytes");
            }
            Thread.sleep(1);
        }
    }

    void check() throws CheckFailure {
        long wrong = memory.mismatch(expected);
        if (wrong >= 0) {
            throw new CheckFailure(at(wrong), hex(expected, wrong), hex(memory, wrong));
        }
    }

    private String at(long offset) {
        return "byte " + (offset - Loopback.GUARD) + " at " + end.name + ", counted from the start of the data";
    }

    private static String hex(MemorySegment memory, long offset) {
        return "0x%02x".formatted(memory.get(ValueLayout.JAVA_BYTE, offset));
    }
}
