package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One large region, handed out in buffers. Registering memory is expensive: a system call that pins every page and
 * tells the device of it. A program that needs registered memory now and then registers much once, and takes from it.
 *
 * <p>{@snippet :
 * RegisteredPool pool = RegisteredPool.create(pd, 64 << 20, LOCAL_WRITE, REMOTE_READ);
 * RegisteredBuffer message = pool.allocate(4096);
 * message.memory().setString(0, "hello");
 * qp.postSend(SendWorkRequest.allocate(arena, 1).add(message).signaled(true));
 * // when it has completed:
 * message.close();
 * }
 *
 * <p>Taking a buffer and giving it back make no system call and touch none of its pages, and cost the same whatever the
 * size and however many there are; only where hardly any free block is large enough, or after alignment, they are looked
 * at one by one.
 * Buffers begin at multiples of 64 bytes, and neighbours that are given back become one again.
 *
 * <p>Closing the pool closes its region; its buffers then count as closed, too. The memory goes with the arena.
 *
 * <p>Threads: as its {@link VerbsArena} says. In a shared arena a lock is taken for each buffer.
 */
public final class RegisteredPool implements AutoCloseable {
    private static final long PAGE = 4096;

    private final MemoryRegion region;

    /** What the region was of when this was made: buffers are parts of it. */
    private final MemorySegment memory;

    private final BlockAllocator allocator;

    /** Null in a confined arena. */
    private final ReentrantLock lock;

    private RegisteredPool(MemoryRegion region) {
        this.region = region;
        memory = region.memory();
        allocator = new BlockAllocator(memory.address(), memory.byteSize());
        lock = region.arena.owner() == null ? new ReentrantLock() : null;
    }

    /**
     * Allocates memory, registers it, and makes a pool of it.
     *
     * @param protectionDomain where it is registered; its arena owns the memory
     * @param byteSize how much, in bytes, at least 1; it is rounded up to whole pages of 4096
     * @param access what may be done to the memory
     * @return a pool, all of it free
     * @throws IllegalArgumentException when the size is not positive, or remote writes or atomics are asked for without
     *     local writes
     * @throws IllegalStateException when the protection domain is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @throws OutOfMemoryError when there is no such memory, or {@code -XX:MaxDirectMemorySize} does not allow it
     * @throws UnsupportedVerbException when the device does not have what the access asks for
     * @throws VerbsException when registering fails; for want of locked memory the message names the limit
     */
    public static RegisteredPool create(ProtectionDomain protectionDomain, long byteSize, AccessFlag... access) {
        if (byteSize < 1 || byteSize > Long.MAX_VALUE - PAGE) {
            throw new IllegalArgumentException("a pool cannot have " + byteSize + " bytes");
        }
        protectionDomain.checkOpen();
        // The memory goes with the arena and not before: none is taken for what would be refused.
        RegistrableMemory.checkAccess(AccessFlag.copyOf(Arrays.asList(access)));
        long rounded = (byteSize + PAGE - 1) / PAGE * PAGE;
        return over(protectionDomain.register(protectionDomain.arena.allocate(rounded, PAGE), access));
    }

    /**
     * Makes a pool of a region, such as one of huge pages or of a mapped file. Nobody else should use the region then,
     * nor {@linkplain MemoryRegion#reregister change} it.
     *
     * @param region of memory of this process
     * @return a pool, all of it free
     * @throws UnsupportedOperationException when the region has no memory of this process
     * @throws IllegalStateException when the region is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static RegisteredPool over(MemoryRegion region) {
        region.checkOpen();
        return new RegisteredPool(region);
    }

    /**
     * Takes a buffer.
     *
     * @param byteSize its size in bytes, at least 1
     * @return a buffer, whose memory is as the one before left it
     * @throws IllegalArgumentException when the size is not positive
     * @throws PoolExhaustedException when no free block is large enough, also when the pool never has one
     * @throws IllegalStateException when the pool is closed, or its region was changed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public RegisteredBuffer allocate(long byteSize) {
        return allocate(byteSize, 1);
    }

    /**
     * Takes a buffer that begins at a multiple of something.
     *
     * @param byteSize its size in bytes, at least 1
     * @param byteAlignment what its address in memory is to be a multiple of, a power of two; it is one of 64 anyway
     * @return a buffer, whose memory is as the one before left it
     * @throws IllegalArgumentException when the size is not positive, or the alignment no power of two
     * @throws PoolExhaustedException when no free block is large enough, also when the pool never has one
     * @throws IllegalStateException when the pool is closed, or its region was changed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public RegisteredBuffer allocate(long byteSize, long byteAlignment) {
        RegisteredBuffer buffer = tryAllocate(byteSize, byteAlignment);
        if (buffer == null) {
            throw new PoolExhaustedException(byteSize, byteAlignment, freeBytes(), largestFree(), toString());
        }
        return buffer;
    }

    /**
     * Takes a buffer if there is one.
     *
     * @param byteSize its size in bytes, at least 1
     * @param byteAlignment what its address in memory is to be a multiple of, a power of two; it is one of 64 anyway
     * @return a buffer, whose memory is as the one before left it, or null when no free block is large enough
     * @throws IllegalArgumentException when the size is not positive, or the alignment no power of two
     * @throws IllegalStateException when the pool is closed, or its region was changed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public RegisteredBuffer tryAllocate(long byteSize, long byteAlignment) {
        if (byteSize < 1) {
            throw new IllegalArgumentException("a buffer has at least one byte, not " + byteSize);
        }
        if (Long.bitCount(byteAlignment) != 1 || byteAlignment < 0) {
            throw new IllegalArgumentException("an alignment is a power of two, not " + byteAlignment);
        }
        begin();
        try {
            checkUsable();
            BlockAllocator.Block block = allocator.allocate(byteSize, byteAlignment);
            if (block == null) {
                return null;
            }
            long offset = allocator.offsetOf(block);
            return new RegisteredBuffer(this, block, offset, memory.asSlice(offset, byteSize));
        } finally {
            end();
        }
    }

    private void checkUsable() {
        region.checkOpen();
        if (!region.isUsable() || !region.memory().equals(memory)) {
            throw new IllegalStateException(this + " was made of a region that is not the same any longer");
        }
    }

    void free(RegisteredBuffer buffer) {
        begin();
        try {
            BlockAllocator.Block block = buffer.block;
            if (block != null) {
                buffer.block = null;
                allocator.free(block);
            }
        } finally {
            end();
        }
    }

    private void begin() {
        if (lock == null) {
            region.arena.checkThread();
        } else {
            lock.lock();
        }
    }

    private void end() {
        if (lock != null) {
            lock.unlock();
        }
    }

    /**
     * The region that the buffers are parts of.
     *
     * @return the region
     */
    public MemoryRegion region() {
        return region;
    }

    /**
     * How much the pool has in all.
     *
     * @return the size in bytes
     */
    public long byteSize() {
        return region.byteSize();
    }

    /**
     * How much is free, perhaps in many blocks.
     *
     * @return a size in bytes
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public long freeBytes() {
        begin();
        try {
            return allocator.freeBytes();
        } finally {
            end();
        }
    }

    /**
     * The largest buffer that could be taken now.
     *
     * @return a size in bytes
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public long largestFree() {
        begin();
        try {
            return allocator.largestFree();
        } finally {
            end();
        }
    }

    /**
     * Closes the region, and with it all buffers. Does nothing when it is closed already.
     *
     * @throws VerbsException when the verb failed; see {@link MemoryRegion#close()}
     * @throws WrongThreadException when the arena is confined to another thread
     */
    @Override
    public void close() {
        region.close();
    }

    /** The region. */
    @Override
    public String toString() {
        return "pool over " + region;
    }
}
