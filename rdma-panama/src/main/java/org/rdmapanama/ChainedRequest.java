package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Native;

/**
 * What can be posted to a queue, alone or with others chained to it: its memory, and which of a chain was not posted.
 *
 * <p>The memory holds the C structure, its scatter/gather list, and then a field for the chain that this begins, in
 * which the address of the first request that was not posted is written.
 *
 * @param <T> the type of all requests of a chain
 */
abstract sealed class ChainedRequest<T extends ChainedRequest<T>>
        permits SendWorkRequest, ReceiveWorkRequest, TagOperation {
    final VerbsArena arena;

    /** Where this may be posted: the arena for all of its queues, or the queue pair that frees the memory. */
    private final Object home;

    final MemorySegment struct;
    final long address;
    final Segments segments;

    /** The offset of the field for the first request that was not posted. */
    private final long notPosted;

    /**
     * Allocates the memory.
     *
     * @param size the size of the C structure
     * @param list the offset of its pointer to the scatter/gather list
     * @param count the offset of the number of segments
     */
    ChainedRequest(VerbsArena arena, int maxSegments, long size, long list, long count) {
        this(arena, arena, arena::allocate, maxSegments, size, list, count);
    }

    /** Allocates the memory with a queue pair, which frees it when it closes. */
    ChainedRequest(QueuePair queuePair, int maxSegments, long size, long list, long count) {
        this(queuePair.arena, queuePair, queuePair::allocate, maxSegments, size, list, count);
    }

    private ChainedRequest(
            VerbsArena arena,
            Object home,
            SegmentAllocator allocator,
            int maxSegments,
            long size,
            long list,
            long count) {
        this.arena = arena;
        this.home = home;
        notPosted = size + Segments.bytes(maxSegments);
        struct = allocator.allocate(notPosted + Long.BYTES, Long.BYTES);
        address = struct.address();
        segments = new Segments(struct, size, maxSegments, count);
        struct.set(JAVA_LONG, list, address + size);
    }

    /** Returns the request that is chained behind this one, or null. */
    abstract @Nullable T following();

    /** Returns the address of the C structure, for a queue that may use it. */
    final long address(VerbsObject queue) {
        checkMayBeUsedBy(queue);
        return address;
    }

    @SuppressWarnings("ReferenceEquality") // arenas and queue pairs are compared by identity
    private void checkMayBeUsedBy(VerbsObject queue) {
        if (home != queue.arena && home != queue) {
            throw elsewhere(queue.arena);
        }
    }

    /** Returns the address of the C structure, for a request that this is chained behind. */
    @SuppressWarnings("ReferenceEquality") // arenas and queue pairs are compared by identity
    final long addressBehind(ChainedRequest<?> before) {
        if (home != before.arena && home != before.home) {
            throw elsewhere(before.arena);
        }
        return address;
    }

    @SuppressWarnings("ReferenceEquality") // arenas are compared by identity
    private IllegalArgumentException elsewhere(VerbsArena wanted) {
        return new IllegalArgumentException(
                wanted == arena
                        ? this + " was allocated for " + home
                                + " and can be posted only there; allocate it in the arena"
                        : this + " belongs to another arena than the queue; allocate it in the arena of the queue");
    }

    /** For the driver. Each chain has its own field, because many threads may post to a queue. */
    final long addressOfFirstNotPosted() {
        return address + notPosted;
    }

    /** Returns the address of the first request of this chain that was not posted, or 0. */
    final long firstNotPosted() {
        return struct.get(JAVA_LONG, notPosted);
    }

    /** Called only within a call on a queue that may use this, which keeps the memory alive. */
    final void firstNotPosted(long first) {
        Native.putLong(address + notPosted, first);
    }

    /**
     * Returns the first request of a chain that was not posted, or null.
     *
     * @throws IllegalArgumentException when the chain cannot be posted to the queue
     */
    static <T extends ChainedRequest<T>> @Nullable T rest(T first, VerbsObject queue) {
        Objects.requireNonNull(first, "first");
        ((ChainedRequest<?>) first).checkMayBeUsedBy(queue);
        return rest(first);
    }

    static <T extends ChainedRequest<T>> @Nullable T rest(T first) {
        long wanted = first.firstNotPosted();
        T request = first;
        while (request != null && request.address != wanted) {
            request = request.following();
        }
        return request;
    }

    /**
     * Returns how many requests of a chain were posted before the first one that was not; 0 if the driver does not report
     * which one that is.
     */
    static <T extends ChainedRequest<T>> int countPosted(T first) {
        T rest = rest(first);
        int count = 0;
        if (rest != null) {
            for (T request = first; request != null && request != rest; request = request.following()) {
                count++;
            }
        }
        return count;
    }

    /** A driver would follow a ring forever. */
    final void requireNoRing(@Nullable T chain) {
        for (T request = chain; request != null; request = request.following()) {
            if (request == this) {
                throw new IllegalArgumentException(
                        "following must not lead back to this request; a chain of requests must end");
            }
        }
    }
}
