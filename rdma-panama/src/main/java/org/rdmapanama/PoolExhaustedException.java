package org.rdmapanama;

/**
 * A {@link RegisteredPool} has no free block of the size asked for: not now, or, when it is larger than the pool, not
 * ever.
 */
public final class PoolExhaustedException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /** What was asked for. */
    private final long byteSize;

    /** All that is free. */
    private final long freeBytes;

    /** The largest block that is free. */
    private final long largestFree;

    PoolExhaustedException(long byteSize, long alignment, long freeBytes, long largestFree, String pool) {
        super("no " + byteSize + " bytes, aligned to " + alignment + ", in " + pool + ": " + freeBytes
                + " bytes are free, the largest block of them has " + largestFree
                + "; close buffers that are no longer used, or make the pool larger");
        this.byteSize = byteSize;
        this.freeBytes = freeBytes;
        this.largestFree = largestFree;
    }

    /**
     * What was asked for.
     *
     * @return a size in bytes
     */
    public long byteSize() {
        return byteSize;
    }

    /**
     * All that was free.
     *
     * @return a size in bytes
     */
    public long freeBytes() {
        return freeBytes;
    }

    /**
     * The largest block that was free. It may be larger than what was asked for, when that had to be aligned.
     *
     * @return a size in bytes
     */
    public long largestFree() {
        return largestFree;
    }
}
