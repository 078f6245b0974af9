package org.rdmapanama.soft;

import org.rdmapanama.ffm.internal.Heap;

/** Zeroed native memory, such as a C structure or a ring. Freeing it waits for nobody, so that it is done in locks. */
final class NativeBlock {
    private static final int CACHE_LINE = 64;

    private final long address;

    /** What was allocated, of which the address is the first multiple of a cache line; 0 when it was given back. */
    private long allocated;

    NativeBlock(long bytes) {
        allocated = Heap.allocate(Math.addExact(bytes, CACHE_LINE - 1));
        address = (allocated + CACHE_LINE - 1) & -CACHE_LINE;
    }

    long address() {
        return address;
    }

    /**
     * Gives the memory back: nobody may use its address from now on.
     *
     * @throws IllegalStateException when it was given back already
     */
    synchronized void free() {
        if (allocated == 0) {
            throw new IllegalStateException("this memory was given back already");
        }
        Heap.free(allocated);
        allocated = 0;
    }
}
