package org.rdmapanama.internal;

import java.lang.foreign.MemorySegment;

/** Copies of C structures on the Java heap, which need not be freed. */
public final class Snapshots {
    private Snapshots() {}

    /** The copy is backed by an array of longs, which gives it the alignment that structures need. */
    public static MemorySegment copy(MemorySegment struct) {
        long[] words = new long[Math.toIntExact((struct.byteSize() + Long.BYTES - 1) / Long.BYTES)];
        MemorySegment copy = MemorySegment.ofArray(words).asSlice(0, struct.byteSize());
        return copy.copyFrom(struct).asReadOnly();
    }
}
