package org.rdmapanama.pool;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.counts.PoolCounts;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.NativeAccess;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.ObjectModelAccess;
import org.rdmapanama.internal.OpaqueCount;
import org.rdmapanama.memory.AccessFlag;

/**
 * A large memory region that is handed out in buffers. Registering memory is expensive: a system call pins every page
 * and passes it to the device. A program that often needs registered memory should register a large region once and
 * allocate from it.
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
 * <p>Allocating and freeing a buffer makes no system call, touches none of its pages, and costs the same for any size
 * and number of buffers. Only if hardly any free block is large enough, or for alignment, free blocks are examined one
 * by one. Buffers begin at multiples of 64 bytes, and adjacent free blocks are merged.
 *
 * <p>Closing the pool closes its region, and its buffers then count as closed. The memory is freed with the arena.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread. In a shared arena a lock is taken for each buffer.
 */
public final class RegisteredPool implements AutoCloseable {
    private static final long PAGE = 4096;
    private static final ObjectModelAccess MODEL = ObjectModelAccess.get();

    private final MemoryRegion region;
    private final VerbsArena arena;

    /** The memory of the region at creation, of which the buffers are parts. */
    private final MemorySegment memory;

    private final BlockAllocator allocator;

    /** Null in a confined arena. */
    private final @Nullable ReentrantLock lock;

    // Changed where the allocator is used: with the lock held, or by the thread of the arena.
    private final OpaqueCount free = new OpaqueCount();
    private final OpaqueCount allocated = new OpaqueCount();
    private final OpaqueCount freed = new OpaqueCount();
    private final OpaqueCount refused = new OpaqueCount();

    private RegisteredPool(MemoryRegion region) {
        this.region = region;
        arena = MODEL.arenaOf(region);
        memory = region.memory();
        allocator = new BlockAllocator(memory.address(), memory.byteSize());
        free.set(allocator.freeBytes());
        lock = MODEL.isShared(arena) ? new ReentrantLock() : null;
    }

    /**
     * Allocates memory, registers it, and makes a pool of it.
     *
     * @param protectionDomain the protection domain; its arena owns the memory, unless registering fails
     * @param byteSize the size in bytes, at least 1; it is rounded up to whole pages of 4096 bytes
     * @param access the operations that the memory allows
     * @return the new pool, all of it free
     * @throws IllegalArgumentException when the size is not positive, or remote writes or atomics are requested without
     *     local writes
     * @throws IllegalStateException when the protection domain is closed
     * @throws OutOfMemoryError when there is not enough memory, or {@code -XX:MaxDirectMemorySize} does not allow it
     * @throws UnsupportedVerbException when the device does not support the access
     * @throws VerbsException when registering fails; when the limit of locked memory is too low, the message names it
     */
    @CheckReturnValue
    public static RegisteredPool create(ProtectionDomain protectionDomain, long byteSize, AccessFlag... access) {
        if (byteSize < 1 || byteSize > Long.MAX_VALUE - PAGE) {
            throw new IllegalArgumentException("byteSize must be positive: " + byteSize);
        }
        MODEL.checkOpen(protectionDomain);
        // Check before memory is allocated.
        MODEL.checkAccess(Codes.copyOf(AccessFlag.class, Arrays.asList(access)));
        PoolMemory memory = new PoolMemory();
        MemorySegment segment = memory.allocate(MODEL.arenaOf(protectionDomain), (byteSize + PAGE - 1) / PAGE * PAGE);
        try {
            return over(protectionDomain.register(segment, access));
        } catch (VerbsException | UnsupportedVerbException e) {
            // The device never had this memory. Free it, so that a caller that retries does not fill the arena.
            memory.free();
            throw e;
        }
    }

    /** Allocates memory that is freed with the arena, unless it is freed before. */
    private static final class PoolMemory {
        private final Arena memory = Arena.ofShared();
        private final AtomicBoolean freed = new AtomicBoolean();

        MemorySegment allocate(VerbsArena arena, long byteSize) {
            if (!NativeAccess.ALLOWED) {
                // It cannot be freed before.
                free();
                return arena.allocate(byteSize, PAGE);
            }
            try {
                return Native.owned(memory.allocate(byteSize, PAGE), arena, this::free);
            } catch (Throwable e) {
                free();
                throw e;
            }
        }

        /** Once: an arena that is closed cannot be closed again. */
        void free() {
            if (freed.compareAndSet(false, true)) {
                memory.close();
            }
        }
    }

    /**
     * Creates a pool over a region, such as one of huge pages or of a mapped file. Other code should neither use nor
     * {@linkplain MemoryRegion#reregister change} the region then.
     *
     * @param region a region of memory of this process
     * @return the new pool, all of it free
     * @throws UnsupportedOperationException when the region has no memory of this process
     * @throws IllegalStateException when the region is closed
     */
    @CheckReturnValue
    public static RegisteredPool over(MemoryRegion region) {
        MODEL.checkOpen(region);
        return new RegisteredPool(region);
    }

    /**
     * Allocates a buffer.
     *
     * @param byteSize its size in bytes, at least 1
     * @return a buffer, whose memory still holds what its previous user left in it
     * @throws IllegalArgumentException when the size is not positive
     * @throws PoolExhaustedException when no free block is large enough, including when the whole pool is too small
     * @throws IllegalStateException when the pool is closed, or its region was changed
     */
    @CheckReturnValue
    public RegisteredBuffer allocate(long byteSize) {
        return allocate(byteSize, 1);
    }

    /**
     * Allocates an aligned buffer.
     *
     * @param byteSize its size in bytes, at least 1
     * @param byteAlignment the alignment of its address in memory, a power of two; it is always at least 64
     * @return a buffer, whose memory still holds what its previous user left in it
     * @throws IllegalArgumentException when the size is not positive, or the alignment not a power of two
     * @throws PoolExhaustedException when no free block is large enough, including when the whole pool is too small
     * @throws IllegalStateException when the pool is closed, or its region was changed
     */
    @CheckReturnValue
    public RegisteredBuffer allocate(long byteSize, long byteAlignment) {
        RegisteredBuffer buffer = tryAllocate(byteSize, byteAlignment);
        if (buffer == null) {
            throw new PoolExhaustedException(byteSize, byteAlignment, freeBytes(), largestFree(), toString());
        }
        return buffer;
    }

    /**
     * Allocates a buffer if there is room.
     *
     * @param byteSize its size in bytes, at least 1
     * @param byteAlignment the alignment of its address in memory, a power of two; it is always at least 64
     * @return a buffer, whose memory still holds what its previous user left in it, or null when no free block is large
     *     enough
     * @throws IllegalArgumentException when the size is not positive, or the alignment not a power of two
     * @throws IllegalStateException when the pool is closed, or its region was changed
     */
    @CheckReturnValue
    public @Nullable RegisteredBuffer tryAllocate(long byteSize, long byteAlignment) {
        if (byteSize < 1) {
            throw new IllegalArgumentException("byteSize must be positive: " + byteSize);
        }
        if (Long.bitCount(byteAlignment) != 1 || byteAlignment < 0) {
            throw new IllegalArgumentException("byteAlignment must be a power of two: " + byteAlignment);
        }
        begin();
        try {
            checkUsable();
            BlockAllocator.Block block = allocator.allocate(byteSize, byteAlignment);
            if (block == null) {
                refused.add(1);
                return null;
            }
            allocated.add(1);
            free.set(allocator.freeBytes());
            long offset = allocator.offsetOf(block);
            return new RegisteredBuffer(this, block, offset, memory.asSlice(offset, byteSize));
        } finally {
            end();
        }
    }

    private void checkUsable() {
        MODEL.checkOpen(region);
        if (!region.isUsable() || !region.memory().equals(memory)) {
            throw new IllegalStateException(
                    this + " is unusable because its region has been changed; close it and create another pool");
        }
    }

    void free(RegisteredBuffer buffer) {
        begin();
        try {
            BlockAllocator.Block block = buffer.block;
            if (block != null) {
                buffer.block = null;
                allocator.free(block);
                freed.add(1);
                free.set(allocator.freeBytes());
            }
        } finally {
            end();
        }
    }

    private void begin() {
        if (lock == null) {
            MODEL.checkThread(arena);
        } else {
            lock.lock();
        }
    }

    private void end() {
        if (lock != null) {
            lock.unlock();
        }
    }

    /** {@return the region that the buffers are parts of} */
    public MemoryRegion region() {
        return region;
    }

    /** {@return the size of the pool in bytes} */
    public long byteSize() {
        return region.byteSize();
    }

    /**
     * Returns how much of the pool is in use. Any thread may call this at any time, also after closing; it takes no lock.
     *
     * @return the counts at this moment; buffers that were not closed before the pool count as lent after its end
     */
    public PoolCounts counts() {
        long returned = freed.get();
        long lent = allocated.get();
        return new PoolCounts(memory.byteSize(), free.get(), Math.max(0, lent - returned), lent, refused.get());
    }

    /** {@return the number of free bytes, possibly in several blocks} */
    public long freeBytes() {
        begin();
        try {
            return allocator.freeBytes();
        } finally {
            end();
        }
    }

    /** {@return the size in bytes of the largest buffer that could be allocated now} */
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
