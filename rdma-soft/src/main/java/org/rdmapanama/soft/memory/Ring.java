package org.rdmapanama.soft.memory;

/**
 * A ring of equally sized slots in native memory, indexed by counters that only increase. The owning queue keeps head
 * and tail, and guards them.
 */
public final class Ring {
    private final NativeBlock block;
    private final long first;
    private final long placeBytes;
    private final int mask;

    /** Creates a ring with more slots than entries; the number of slots is a power of two. */
    public Ring(int entries, long placeBytes) {
        this.placeBytes = placeBytes;
        mask = (Integer.highestOneBit(Math.max(1, entries)) << 1) - 1;
        block = new NativeBlock(places() * placeBytes);
        first = block.address();
    }

    /** Returns the number of slots. */
    public long places() {
        return mask + 1L;
    }

    /** Returns the address of a slot. */
    public long at(int number) {
        return first + (number & mask) * placeBytes;
    }

    /**
     * Frees this ring and returns one of another size, whose first slots are copies of {@code count} slots of this one.
     */
    public Ring resized(int entries, int from, int count) {
        Ring other = new Ring(entries, placeBytes);
        for (int i = 0; i < count; i++) {
            Memory.copy(at(from + i), other.at(i), placeBytes);
        }
        free();
        return other;
    }

    public void free() {
        block.free();
    }
}
