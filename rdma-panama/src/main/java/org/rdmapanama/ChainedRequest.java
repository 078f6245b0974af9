package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
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
        this.arena = arena;
        notPosted = size + Segments.bytes(maxSegments);
        struct = arena.allocate(notPosted + Long.BYTES, Long.BYTES);
        address = struct.address();
        segments = new Segments(struct, size, maxSegments, count);
        struct.set(JAVA_LONG, list, address + size);
    }

    /** Returns the request that is chained behind this one, or null. */
    abstract T following();

    /** Returns the address of the C structure, for a queue of this arena. */
    final long address(VerbsArena queueArena) {
        if (queueArena != arena) {
            throw new IllegalArgumentException(
                    this + " belongs to another arena than the queue; allocate it in the arena of the queue");
        }
        return address;
    }

    /** For the driver. Each chain has its own field, because many threads may post to a queue. */
    final long addressOfFirstNotPosted() {
        return address + notPosted;
    }

    /** Returns the address of the first request of this chain that was not posted, or 0. */
    final long firstNotPosted() {
        return struct.get(JAVA_LONG, notPosted);
    }

    /** Called only within a call on a queue of the same arena, which keeps the memory alive. */
    final void firstNotPosted(long first) {
        Native.MEMORY.set(JAVA_LONG, address + notPosted, first);
    }

    /**
     * Returns the first request of a chain that was not posted, or null.
     *
     * @throws IllegalArgumentException when the chain belongs to another arena than the queue
     */
    static <T extends ChainedRequest<T>> T rest(T first, VerbsArena queueArena) {
        Objects.requireNonNull(first, "first");
        long wanted = first.firstNotPosted();
        T request = first;
        while (request != null && request.address(queueArena) != wanted) {
            request = request.following();
        }
        return request;
    }

    /** A driver would follow a ring forever. */
    final void requireNoRing(T chain) {
        for (T request = chain; request != null; request = request.following()) {
            if (request == this) {
                throw new IllegalArgumentException(
                        "following must not lead back to this request; a chain of requests must end");
            }
        }
    }
}
