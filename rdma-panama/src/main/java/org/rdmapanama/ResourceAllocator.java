package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A source of memory for the queues that a driver creates in a {@link ParentDomain}; see ibv_alloc_parent_domain(3).
 *
 * <p>The device accesses this memory directly, like registered memory. So it must come from the {@link VerbsArena} of
 * the parent domain, from the global arena, or from an automatic one; other memory is refused as if the allocation had
 * failed.
 *
 * <p>Both methods are called by the driver, during a call that creates or destroys an object, in the thread of that
 * call. They must be short and must not use objects of the arena. Exceptions are logged and not propagated: an
 * allocation that throws counts as failed, and the object is not created.
 */
public interface ResourceAllocator {
    /** The return value of {@link #allocate} that makes the driver allocate as it does without an allocator. */
    MemorySegment DEFAULT = MemorySegment.ofAddress(-1);

    /**
     * Allocates memory for the driver. The library then fills it with zeros, as drivers expect.
     *
     * <p>The driver chooses the size, which may exceed the available memory. In that case return null, or let the
     * exception of the arena propagate, such as {@link IllegalArgumentException} or {@link OutOfMemoryError}.
     *
     * @param byteSize size in bytes, never negative
     * @param byteAlignment alignment in bytes, a power of two, at least 1
     * @param resourceType the purpose: the driver's number, {@code enum rdma_driver_id}, in the upper 32 bits, and a
     *     driver-defined number in the lower ones
     * @return memory that is large enough, aligned, and does not overlap memory in use; {@link #DEFAULT}; or null if
     *     there is none
     */
    @Nullable
    MemorySegment allocate(long byteSize, long byteAlignment, long resourceType);

    /**
     * Frees memory.
     *
     * @param memory the memory that {@link #allocate} returned
     * @param resourceType the number that was passed to {@link #allocate}
     */
    void free(MemorySegment memory, long resourceType);
}
