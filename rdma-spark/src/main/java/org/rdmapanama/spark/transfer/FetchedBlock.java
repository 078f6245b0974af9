package org.rdmapanama.spark.transfer;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.pool.RegisteredBuffer;

/**
 * The bytes of a block, in registered memory that goes back to its pool when the last user has released it.
 *
 * <p>Threads: any.
 */
public final class FetchedBlock {
    /** A buffer of which several blocks are parts. */
    static final class Shared {
        private final RegisteredBuffer buffer;
        private final Runnable freed;
        private final AtomicInteger users = new AtomicInteger();

        Shared(RegisteredBuffer buffer, Runnable freed) {
            this.buffer = buffer;
            this.freed = freed;
        }

        RegisteredBuffer buffer() {
            return buffer;
        }

        /** Returns a part, which counts as a user. */
        FetchedBlock part(long offset, long length) {
            users.incrementAndGet();
            return new FetchedBlock(this, buffer.memory().asSlice(offset, length));
        }

        private void release() {
            if (users.decrementAndGet() == 0) {
                buffer.close();
                freed.run();
            }
        }
    }

    /** Null for a block without bytes. */
    private final Shared shared;

    private final MemorySegment memory;
    private final AtomicInteger references = new AtomicInteger(1);

    private FetchedBlock(Shared shared, MemorySegment memory) {
        this.shared = shared;
        this.memory = memory;
    }

    /** Returns a block without bytes. */
    static FetchedBlock empty() {
        return new FetchedBlock(null, MemorySegment.ofArray(new byte[0]));
    }

    /**
     * Returns the bytes. They must not be used after the last release, when other blocks get the memory.
     *
     * @return memory outside the heap, unless it is empty
     */
    public MemorySegment memory() {
        return memory;
    }

    /**
     * Adds a user.
     *
     * @throws IllegalStateException when all users have released it
     */
    public void retain() {
        if (references.getAndUpdate(count -> count == 0 ? 0 : count + 1) == 0) {
            throw released();
        }
    }

    /**
     * Takes a user away.
     *
     * @throws IllegalStateException when all users have released it
     */
    public void release() {
        int before = references.getAndUpdate(count -> count == 0 ? 0 : count - 1);
        if (before == 0) {
            throw released();
        }
        if (before == 1 && shared != null) {
            shared.release();
        }
    }

    private static IllegalStateException released() {
        return new IllegalStateException("the block was released before");
    }
}
