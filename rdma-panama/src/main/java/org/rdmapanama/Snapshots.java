package org.rdmapanama;

import java.lang.foreign.MemorySegment;

/** Copies of C structures on the Java heap, which nobody has to free. */
final class Snapshots {
    private Snapshots() {}

    /** An array of longs behind the copy gives it the alignment that structures ask for. */
    static MemorySegment copy(MemorySegment struct) {
        long[] words = new long[Math.toIntExact((struct.byteSize() + Long.BYTES - 1) / Long.BYTES)];
        MemorySegment copy = MemorySegment.ofArray(words).asSlice(0, struct.byteSize());
        return copy.copyFrom(struct).asReadOnly();
    }
}
