package org.rdmapanama.pool;

/**
 * Thrown when a {@link RegisteredPool} has no free block of the requested size, now or, if the size exceeds the pool,
 * at any time.
 */
public final class PoolExhaustedException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /** The requested size. */
    private final long byteSize;

    /** The total size of free blocks. */
    private final long freeBytes;

    /** The size of the largest free block. */
    private final long largestFree;

    PoolExhaustedException(long byteSize, long alignment, long freeBytes, long largestFree, String pool) {
        super(pool + " has no free block of " + byteSize + " bytes aligned to " + alignment + ": " + freeBytes
                + " bytes are free, and the largest block has " + largestFree
                + "; close buffers that are no longer used, or create a larger pool");
        this.byteSize = byteSize;
        this.freeBytes = freeBytes;
        this.largestFree = largestFree;
    }

    /** {@return the size that was asked for, in bytes} */
    public long byteSize() {
        return byteSize;
    }

    /** {@return the total of all free blocks, in bytes} */
    public long freeBytes() {
        return freeBytes;
    }

    /**
     * {@return the size of the largest free block, in bytes} It may exceed the requested size if that had to be
     * aligned.
     */
    public long largestFree() {
        return largestFree;
    }
}
