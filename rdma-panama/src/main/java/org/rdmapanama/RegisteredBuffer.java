package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A part of a {@link RegisteredPool}: memory that is registered already, with the keys that go with it. It goes into
 * work requests by {@link SendWorkRequest#add(RegisteredBuffer)} and {@link ReceiveWorkRequest#add(RegisteredBuffer)}.
 *
 * <p>Closing it gives the memory back to the pool, which may hand it out again at once: not before the work requests that
 * use it have completed, and not while a peer may still reach it. All buffers of a pool have the same keys; a peer that
 * knows the key of one can reach them all. A {@link MemoryWindow} opens one alone.
 *
 * <p>Threads: as the {@link VerbsArena} of the pool says; in a shared arena closing it in one thread while another uses
 * it is for the program to prevent.
 */
public final class RegisteredBuffer implements AutoCloseable {
    private final RegisteredPool pool;
    private final long offset;
    private final long byteSize;
    private final MemorySegment memory;

    /** Null once this is closed. Guarded by the pool. */
    BlockAllocator.Block block;

    RegisteredBuffer(RegisteredPool pool, BlockAllocator.Block block, long offset, MemorySegment memory) {
        this.pool = pool;
        this.block = block;
        this.offset = offset;
        this.memory = memory;
        byteSize = memory.byteSize();
    }

    private void checkOpen() {
        if (!isOpen()) {
            throw new IllegalStateException(this + " is closed, or its pool is: its memory may belong to another one");
        }
    }

    /** A place in the region, after checking that a part lies inside. */
    long offsetOf(long partOffset, long length) {
        checkOpen();
        return offset + Objects.checkFromIndexSize(partOffset, length, byteSize);
    }

    /**
     * The memory. It keeps what the buffer before left in it.
     *
     * @return a segment of just the size asked for; not to be used once this is closed
     * @throws IllegalStateException when this, or its pool, is closed
     */
    public MemorySegment memory() {
        checkOpen();
        return memory;
    }

    /**
     * The region that this is a part of.
     *
     * @return the pool's region
     */
    public MemoryRegion region() {
        return pool.region();
    }

    /**
     * Where it begins in the region.
     *
     * @return an offset in bytes
     */
    public long offset() {
        return offset;
    }

    /**
     * Where peers find the first byte.
     *
     * @return the address, for their work requests
     */
    public long address() {
        return region().address() + offset;
    }

    /**
     * How large it is.
     *
     * @return the size in bytes that was asked for
     */
    public long byteSize() {
        return byteSize;
    }

    /**
     * The key for work requests of this side.
     *
     * @return the local key of the pool's region, 32 bits
     */
    public int lkey() {
        return region().lkey();
    }

    /**
     * The key for work requests of peers.
     *
     * @return the remote key of the pool's region, 32 bits
     */
    public int rkey() {
        return region().rkey();
    }

    /**
     * Whether this can still be used.
     *
     * @return false once this, or its pool, is closed
     */
    public boolean isOpen() {
        return block != null && region().isOpen();
    }

    /**
     * Gives the memory back to the pool. Does nothing when this is closed already, or the pool is.
     *
     * @throws WrongThreadException when the arena is confined to another thread
     */
    @Override
    public void close() {
        pool.free(this);
    }

    /** Size and place. */
    @Override
    public String toString() {
        return "buffer of " + byteSize + " bytes at offset " + offset + " of " + pool;
    }
}
