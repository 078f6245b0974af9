package org.rdmapanama.soft.memory;

import org.rdmapanama.ffm.internal.Heap;

/**
 * A block of zeroed native memory, aligned to a cache line, for C structures and rings. Freeing it never blocks, unlike
 * closing an arena, so it may be freed while a lock is held. Any thread may free it, once.
 */
public final class NativeBlock {
    private static final int CACHE_LINE = 64;

    private final long address;

    /** The start of the allocation, before alignment; 0 once it has been freed. */
    private long allocated;

    public NativeBlock(long bytes) {
        allocated = Heap.allocate(Math.addExact(bytes, CACHE_LINE - 1));
        address = (allocated + CACHE_LINE - 1) & -CACHE_LINE;
    }

    public long address() {
        return address;
    }

    /**
     * Frees the memory: its address must not be used from now on.
     *
     * @throws IllegalStateException when it has already been freed
     */
    public synchronized void free() {
        if (allocated == 0) {
            throw new IllegalStateException("native block has already been freed: 0x" + Long.toHexString(address));
        }
        Heap.free(allocated);
        allocated = 0;
    }
}
