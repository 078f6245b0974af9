package org.rdmapanama;

import java.lang.foreign.MemorySegment;

/**
 * Where a driver gets the memory of the queues that are made in a {@link ParentDomain}; see ibv_alloc_parent_domain(3).
 *
 * <p>The device reads and writes this memory by itself, as it does registered memory. So it comes from the
 * {@link VerbsArena} of the parent domain, from the global arena, or from an automatic one; other memory is refused, as
 * if there were none.
 *
 * <p>Both methods are called by the driver, in the middle of a call that makes or ends an object, in the thread of that
 * call. They must be short and must not use objects of the arena. What they throw is logged and goes no further: an
 * allocation that throws counts as one without memory, and the object is not made.
 */
public interface ResourceAllocator {
    /** What {@link #allocate} returns to have the driver allocate as it does without an allocator. */
    MemorySegment DEFAULT = MemorySegment.ofAddress(-1);

    /**
     * Gives memory to the driver. It is filled with zeros afterwards, as drivers expect.
     *
     * <p>The numbers are the driver's, and may be larger than any memory there is: then this returns null, or throws what
     * the arena that it asks throws, such as {@link IllegalArgumentException} or {@link OutOfMemoryError}.
     *
     * @param byteSize size in bytes, never negative
     * @param byteAlignment alignment in bytes, a power of two, at least 1
     * @param resourceType what it is for: the driver's number, {@code enum rdma_driver_id}, in the upper 32 bits, and
     *     below it a number whose meaning the driver defines
     * @return memory that is large enough, aligned, and not in use for something else, nor a part of what is; {@link #DEFAULT}; or null when
     *     there is none
     */
    MemorySegment allocate(long byteSize, long byteAlignment, long resourceType);

    /**
     * Takes memory back.
     *
     * @param memory what {@link #allocate} returned
     * @param resourceType the number it was allocated with
     */
    void free(MemorySegment memory, long resourceType);
}
