package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.queue.QueuePairCapabilities;

/**
 * A work request for a receive queue, {@code struct ibv_recv_wr}: encoded once in native memory, posted any number of
 * times, and changed in place in between; see ibv_post_recv(3).
 *
 * <p>{@snippet :
 * ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 1).id(3).add(region, 0, 4096);
 * qp.postReceive(receive);
 * }
 *
 * <p>The request itself may be changed or posted again as soon as posting returns. The memory that it points to belongs
 * to the device until it has completed. A datagram needs {@link AddressHandle#GRH_BYTES} bytes more than its data.
 *
 * <p>Threads: one at a time. It lives as long as its arena, or as the queue pair that it was
 * allocated for. Methods that use a region throw {@link
 * WrongThreadException} when the arena is confined to another thread.
 */
public final class ReceiveWorkRequest extends ChainedRequest<ReceiveWorkRequest> {
    private static final long SIZE = ibv_recv_wr.sizeof();
    private static final long WR_ID = ibv_recv_wr.wr_id$offset();
    private static final long NEXT = ibv_recv_wr.next$offset();
    private static final long SG_LIST = ibv_recv_wr.sg_list$offset();
    private static final long NUM_SGE = ibv_recv_wr.num_sge$offset();

    private @Nullable ReceiveWorkRequest next;

    /** Whether this is, or was, chained to another request. */
    private boolean chained;

    /**
     * The segment limit of the queue that accepted the rest of the chain at the last check, or 0, and the number of
     * changes at that time.
     */
    private int fits;

    private long fitsSince;

    /** The number of requests of the chain that was checked last. */
    private int checkedLength;

    /** The number of segments at the last check. */
    private int segmentsSeen;

    private ReceiveWorkRequest(QueuePair queuePair, int maxSegments) {
        super(queuePair, maxSegments, SIZE, SG_LIST, NUM_SGE);
    }

    private ReceiveWorkRequest(VerbsArena arena, int maxSegments) {
        super(arena, maxSegments, SIZE, SG_LIST, NUM_SGE);
    }

    /**
     * Creates a work request, initially an empty receive.
     *
     * @param arena the arena of the queue pairs that it will be posted to
     * @param maxSegments the maximum number of segments, 0 to 65535
     * @return the new object
     * @throws IllegalArgumentException when the number is out of its range
     * @throws IllegalStateException when the arena is closed
     */
    @CheckReturnValue
    public static ReceiveWorkRequest allocate(VerbsArena arena, int maxSegments) {
        return new ReceiveWorkRequest(arena, Segments.checkCount(maxSegments));
    }

    /**
     * Creates a work request, initially an empty receive, for one queue pair: its memory is freed when the queue pair closes, not only with the arena. So a
     * program whose queue pairs come and go needs no more of it with time.
     *
     * @param queuePair the only queue pair that it can be posted to
     * @param maxSegments the maximum number of segments, 0 to 65535
     * @return the new object; once the queue pair is closed, its methods throw IllegalStateException
     * @throws IllegalArgumentException when the number is out of its range
     * @throws IllegalStateException when the queue pair is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    @CheckReturnValue
    public static ReceiveWorkRequest allocate(QueuePair queuePair, int maxSegments) {
        return new ReceiveWorkRequest(queuePair, Segments.checkCount(maxSegments));
    }

    @Override
    @Nullable
    ReceiveWorkRequest following() {
        return next;
    }

    /** Checks the whole chain against the sizes of a queue pair. Returns how many requests it has. */
    int checkFits(QueuePairCapabilities sizes) {
        return checkFits(sizes.maxReceiveSegments(), "QueuePairOptions.maxSegments");
    }

    /**
     * Checks the whole chain against the size of a queue. The requests after this one are not checked again as long as
     * no chain of the arena changes.
     *
     * @param option the option that sets the limit, or the place to read it
     * @return how many requests the chain has
     */
    int checkFits(int maxSegments, String option) {
        checkAlone(maxSegments, option);
        if (next == null) {
            return 1;
        }
        long changes = arena.chainChanges();
        if (fits != 0 && fits <= maxSegments && fitsSince == changes) {
            return checkedLength;
        }
        int length = 1;
        for (ReceiveWorkRequest request = next; request != null; request = request.next) {
            request.checkAlone(maxSegments, option);
            length++;
        }
        checkedLength = length;
        fits = maxSegments;
        fitsSince = changes;
        return length;
    }

    private void checkAlone(int maxSegments, String option) {
        segments.checkFits(maxSegments, option);
        segmentsSeen = segments.count();
    }

    private void grown() {
        if (segments.count() > segmentsSeen) {
            changed();
        }
    }

    /** Records that a queue that accepted this may no longer accept it. */
    private void changed() {
        if (chained) {
            arena.chainChanged();
        }
    }

    /**
     * Sets the identifier that the completion will carry.
     *
     * @param id any 64 bits
     * @return this
     */
    public ReceiveWorkRequest id(long id) {
        struct.set(JAVA_LONG, WR_ID, id);
        return this;
    }

    /** {@return the identifier that the completion carries, 0 if none was set} */
    public long id() {
        return struct.get(JAVA_LONG, WR_ID);
    }

    /**
     * Adds a part of a region, to be filled after the parts added before.
     *
     * @param region the region to fill, registered with {@link AccessFlag#LOCAL_WRITE}
     * @param offset the start of the part in the region, in bytes
     * @param length the length of the part in bytes, up to 2<sup>32</sup> - 1
     * @return this
     * @throws IndexOutOfBoundsException when the part is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena
     * @throws IllegalStateException when the region is closed or no further segment fits
     */
    public ReceiveWorkRequest add(MemoryRegion region, long offset, long length) {
        segments.add(arena, region, offset, length);
        grown();
        return this;
    }

    /**
     * Adds a slice of a region, to be filled after the parts added before.
     *
     * @param region the region to fill, registered with {@link AccessFlag#LOCAL_WRITE}
     * @param slice a slice of the region's memory; for a region of everything, any memory that could be registered
     * @return this
     * @throws IndexOutOfBoundsException when the slice is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena, or the slice is on the heap
     * @throws IllegalStateException when the region is closed or no further segment fits
     * @throws UnsupportedOperationException when the region has no memory of this process
     */
    public ReceiveWorkRequest add(MemoryRegion region, MemorySegment slice) {
        segments.add(arena, region, slice);
        grown();
        return this;
    }

    /**
     * Adds a buffer of a pool, as a whole, after the parts added before.
     *
     * @param buffer the buffer of the data
     * @return this
     * @throws IndexOutOfBoundsException when it is longer than 2<sup>32</sup> - 1 bytes
     * @throws IllegalArgumentException when it belongs to another arena
     * @throws IllegalStateException when the buffer or its pool is closed, or no further segment fits
     */
    public ReceiveWorkRequest add(RegisteredBuffer buffer) {
        return add(buffer, 0, buffer.byteSize());
    }

    /**
     * Adds a part of a buffer of a pool, after the parts added before.
     *
     * @param buffer the buffer of the data
     * @param offset the start of the part in the buffer, in bytes
     * @param length the length of the part in bytes, up to 2<sup>32</sup> - 1
     * @return this
     * @throws IndexOutOfBoundsException when the part is not inside the buffer
     * @throws IllegalArgumentException when the buffer belongs to another arena
     * @throws IllegalStateException when the buffer or its pool is closed, or no further segment fits
     */
    public ReceiveWorkRequest add(RegisteredBuffer buffer, long offset, long length) {
        segments.add(arena, buffer.region(), Segments.offsetOf(buffer, offset, length), length);
        grown();
        return this;
    }

    /**
     * Changes one part in place.
     *
     * @param index the index of the part, in the order of adding
     * @param region the region to fill, registered with {@link AccessFlag#LOCAL_WRITE}
     * @param offset the start of the part in the region, in bytes
     * @param length the length of the part in bytes, up to 2<sup>32</sup> - 1
     * @return this
     * @throws IndexOutOfBoundsException when there is no such part, or the new one is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena
     * @throws IllegalStateException when the region is closed
     */
    public ReceiveWorkRequest set(int index, MemoryRegion region, long offset, long length) {
        segments.set(arena, index, region, offset, length);
        return this;
    }

    /**
     * Removes all parts.
     *
     * @return this
     */
    public ReceiveWorkRequest clear() {
        segments.clear();
        return this;
    }

    /**
     * Chains another work request behind this one: posting this one posts both.
     *
     * @param following the request that follows this one, or null for none
     * @return this
     * @throws IllegalArgumentException when it belongs to another arena, or to a queue pair that this one does not
     *     belong to, or the chain would be a ring
     */
    public ReceiveWorkRequest next(@Nullable ReceiveWorkRequest following) {
        requireNoRing(following);
        struct.set(JAVA_LONG, NEXT, following == null ? 0 : following.addressBehind(this));
        next = following;
        fits = 0;
        changed();
        if (following != null) {
            following.chained = true;
        }
        return this;
    }

    /** {@return the work request that is chained behind this one, or null} */
    public @Nullable ReceiveWorkRequest next() {
        return next;
    }

    /** Identifier and number of segments. */
    @Override
    public String toString() {
        return "receive work request " + id() + " (" + segments + ")";
    }
}
