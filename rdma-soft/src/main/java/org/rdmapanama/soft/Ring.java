package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Memory;

/** Native memory of places of one size, which are counted without end and used again and again. */
final class Ring {
    private final NativeBlock block;
    private final long first;
    private final long placeBytes;
    private final int mask;

    /** With at least one place more than entries, a power of two. */
    Ring(int entries, long placeBytes) {
        this.placeBytes = placeBytes;
        mask = (Integer.highestOneBit(Math.max(1, entries)) << 1) - 1;
        block = new NativeBlock(places() * placeBytes);
        first = block.address();
    }

    /** How many places there are. */
    long places() {
        return mask + 1L;
    }

    /** Where a place is, by its number. */
    long at(int number) {
        return first + (number & mask) * placeBytes;
    }

    /** Another ring in place of this one, which has some of its places as the first ones. */
    Ring resized(int entries, int from, int count) {
        Ring other = new Ring(entries, placeBytes);
        for (int i = 0; i < count; i++) {
            Memory.copy(at(from + i), other.at(i), placeBytes);
        }
        free();
        return other;
    }

    void free() {
        block.free();
    }
}
