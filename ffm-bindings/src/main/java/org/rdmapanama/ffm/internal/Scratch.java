package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory for the arguments of one native call, where an arena for each call would be garbage. It is reused and never
 * freed: there are as many as calls were in progress at a time. Threads: one for each.
 */
public final class Scratch implements AutoCloseable {
    private static final int BYTES = 64;

    private static final ShortLock FREE_LOCK = new ShortLock();

    /** Those not in use. */
    private static Scratch free;

    private final MemorySegment memory = Arena.global().allocate(BYTES, 8);
    private final MemorySegment errno = Errno.allocate(Arena.global());
    private Scratch next;

    private Scratch() {}

    /**
     * Takes one, which {@link #close} gives back.
     *
     * @return memory with undefined contents
     */
    public static Scratch take() {
        FREE_LOCK.lock();
        Scratch taken = free;
        if (taken != null) {
            free = taken.next;
        }
        FREE_LOCK.unlock();
        return taken == null ? new Scratch() : taken;
    }

    /**
     * Returns the memory for arguments.
     *
     * @return 64 bytes, aligned to 8
     */
    public MemorySegment memory() {
        return memory;
    }

    /**
     * Returns the memory for errno.
     *
     * @return as of {@link Errno#allocate}
     */
    public MemorySegment errno() {
        return errno;
    }

    @Override
    public void close() {
        FREE_LOCK.lock();
        next = free;
        free = this;
        FREE_LOCK.unlock();
    }
}
