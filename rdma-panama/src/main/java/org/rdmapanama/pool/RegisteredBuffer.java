package org.rdmapanama.pool;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.memory.RemoteMemory;

/**
 * A part of a {@link RegisteredPool}: memory that is already registered, with its keys. Add it to work requests with
 * {@link SendWorkRequest#add(RegisteredBuffer)} and {@link ReceiveWorkRequest#add(RegisteredBuffer)}.
 *
 * <p>Closing it returns the memory to the pool, which may hand it out again at once. Close it only when the work
 * requests that use it have completed and no peer may still access it. All buffers of a pool have the same keys, so a
 * peer that knows the key of one can access them all. A {@link MemoryWindow} opens a single one.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the pool throw {@link WrongThreadException} when its arena is
 * confined to another thread. In a shared arena the program must not close a buffer while another thread uses it.
 */
public final class RegisteredBuffer implements AutoCloseable {
    private final RegisteredPool pool;
    private final long offset;
    private final long byteSize;
    private final MemorySegment memory;

    /** Null once this is closed. Guarded by the pool. */
    BlockAllocator.@Nullable Block block;

    RegisteredBuffer(RegisteredPool pool, BlockAllocator.Block block, long offset, MemorySegment memory) {
        this.pool = pool;
        this.block = block;
        this.offset = offset;
        this.memory = memory;
        byteSize = memory.byteSize();
    }

    private void checkOpen() {
        if (!isOpen()) {
            throw new IllegalStateException(
                    this + " or its pool is closed; its memory may already belong to another buffer");
        }
    }

    /**
     * Returns the memory, which still holds what its previous user left in it.
     *
     * @return a segment of exactly the requested size; it must not be used once this is closed
     * @throws IllegalStateException when this, or its pool, is closed
     */
    public MemorySegment memory() {
        checkOpen();
        return memory;
    }

    /** {@return the region of the pool} */
    public MemoryRegion region() {
        return pool.region();
    }

    /** {@return the offset of the buffer in the region, in bytes} */
    public long offset() {
        return offset;
    }

    /** {@return the address of the first byte, for work requests of peers} */
    public long address() {
        return region().address() + offset;
    }

    /** {@return the size in bytes that was asked for} */
    public long byteSize() {
        return byteSize;
    }

    /** {@return the local key of the pool's region, 32 bits, for work requests of this side} */
    public int lkey() {
        return region().lkey();
    }

    /** {@return the remote key of the pool's region, 32 bits, for work requests of peers} */
    public int rkey() {
        return region().rkey();
    }

    /**
     * Returns what a peer needs to access this buffer: address, remote key and size. The key opens the whole pool.
     *
     * @return the whole buffer
     * @throws IllegalStateException when this, or its pool, is closed; or when the pool was created with none of
     *     REMOTE_READ, REMOTE_WRITE and REMOTE_ATOMIC
     */
    public RemoteMemory remote() {
        checkOpen();
        return region().remote().slice(offset, byteSize);
    }

    /** {@return whether neither this buffer nor its pool is closed} */
    public boolean isOpen() {
        return block != null && region().isOpen();
    }

    /** Returns the memory to the pool. Does nothing if this or the pool is already closed. */
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
