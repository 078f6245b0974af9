package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.verbs.ibv_ops_wr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.TagOpcode;

/**
 * An operation on the list of tags of a shared receive queue, {@code struct ibv_ops_wr}: encoded in native memory,
 * posted any number of times, and changed in place in between; see ibv_post_srq_ops(3).
 *
 * <p>{@snippet :
 * TagOperation add = TagOperation.allocate(arena, 1)
 *         .id(1)
 *         .addTag(0x17, -1, 2)                // messages tagged 0x17 complete with the identifier 2
 *         .add(region, 0, 4096)
 *         .signaled(true);
 * queue.postTagOperation(add);
 * int handle = add.handle();                 // for taking it out again
 * }
 *
 * <p>A message matches if its tag, restricted to the bits of the mask, equals the tag of the buffer. A message that
 * matches no tag is an unexpected message, and goes to the ordinary receives. The program that processes unexpected
 * messages must tell the device how many there have been ({@link #unexpectedCount}): the device does not use tags that
 * are added later until both counts agree.
 *
 * <p>The operation itself may be changed or posted again as soon as posting returns. The memory that it points to
 * belongs to the device until it has completed or its tag is deleted.
 *
 * <p>Threads: one at a time. It lives as long as its arena. Methods that use a region throw {@link
 * WrongThreadException} when the arena is confined to another thread.
 */
public final class TagOperation extends ChainedRequest<TagOperation> {
    private static final long SIZE = ibv_ops_wr.sizeof();
    private static final long WR_ID = ibv_ops_wr.wr_id$offset();
    private static final long NEXT = ibv_ops_wr.next$offset();
    private static final long OPCODE = ibv_ops_wr.opcode$offset();
    private static final long FLAGS = ibv_ops_wr.flags$offset();
    private static final long TM = ibv_ops_wr.tm$offset();
    private static final long UNEXPECTED_CNT = TM + ibv_ops_wr.tm.unexpected_cnt$offset();
    private static final long HANDLE = TM + ibv_ops_wr.tm.handle$offset();
    private static final long ADD = TM + ibv_ops_wr.tm.add$offset();
    private static final long RECV_WR_ID = ADD + ibv_ops_wr.tm.add.recv_wr_id$offset();
    private static final long SG_LIST = ADD + ibv_ops_wr.tm.add.sg_list$offset();
    private static final long NUM_SGE = ADD + ibv_ops_wr.tm.add.num_sge$offset();
    private static final long TAG = ADD + ibv_ops_wr.tm.add.tag$offset();
    private static final long MASK = ADD + ibv_ops_wr.tm.add.mask$offset();
    private static final int SIGNALED = rdma_h.IBV_OPS_SIGNALED();
    private static final int TM_SYNC = rdma_h.IBV_OPS_TM_SYNC();
    private static final int OPCODE_ADD = rdma_h.IBV_WR_TAG_ADD();
    private static final int OPCODE_DEL = rdma_h.IBV_WR_TAG_DEL();
    private static final int OPCODE_SYNC = rdma_h.IBV_WR_TAG_SYNC();

    private @Nullable TagOperation next;

    private TagOperation(VerbsArena arena, int maxSegments) {
        super(arena, maxSegments, SIZE, SG_LIST, NUM_SGE);
        struct.set(JAVA_INT, OPCODE, OPCODE_SYNC);
    }

    /**
     * Creates an operation, initially an unsignaled {@link #synchronize}.
     *
     * @param arena the arena of the queues that it will be posted to
     * @param maxSegments the maximum number of segments, 0 or more
     * @return the new object
     * @throws IllegalArgumentException when the number is negative
     * @throws IllegalStateException when the arena is closed
     */
    @CheckReturnValue
    public static TagOperation allocate(VerbsArena arena, int maxSegments) {
        return new TagOperation(arena, Segments.checkCount(maxSegments));
    }

    @Override
    @Nullable
    TagOperation following() {
        return next;
    }

    /**
     * Checks the whole chain. Drivers are not careful here: some read only one segment, and use any handle as an index
     * into their memory.
     */
    void check(int maxSegments, int maxHandle) {
        for (TagOperation operation = this; operation != null; operation = operation.next) {
            int opcode = operation.struct.get(JAVA_INT, OPCODE);
            if (opcode == OPCODE_ADD) {
                operation.segments.checkFits(maxSegments, "DeviceAttributes.tagMatching");
            } else if (opcode == OPCODE_DEL && Integer.compareUnsigned(operation.handle(), maxHandle) > 0) {
                throw new IllegalArgumentException(operation + " does not name a handle of this queue; pass what"
                        + " handle() returned after the tag was added");
            }
        }
    }

    /**
     * Sets the identifier that the completion of this operation will carry.
     *
     * @param id any 64 bits
     * @return this
     */
    public TagOperation id(long id) {
        struct.set(JAVA_LONG, WR_ID, id);
        return this;
    }

    /** {@return the identifier that the completion of this operation carries, 0 if none was set} */
    public long id() {
        return struct.get(JAVA_LONG, WR_ID);
    }

    /**
     * Makes this a TAG_ADD: the segments of this become a buffer for messages with a tag.
     *
     * @param tag the tag, 64 bits
     * @param mask the bits of a message's tag that are compared; -1 for all
     * @param receiveId the identifier that the completion of the message will carry
     * @return this
     */
    public TagOperation addTag(long tag, long mask, long receiveId) {
        struct.set(JAVA_INT, OPCODE, OPCODE_ADD);
        struct.set(JAVA_LONG, TAG, tag);
        struct.set(JAVA_LONG, MASK, mask);
        struct.set(JAVA_LONG, RECV_WR_ID, receiveId);
        return this;
    }

    /**
     * Makes this a TAG_DEL: a buffer leaves the list. If a message has already used it, the operation completes with
     * {@link CompletionStatus#TM_ERR}.
     *
     * @param handle the {@link #handle()} after the buffer was added; not all drivers notice that a message has used up
     *     the buffer
     * @return this
     */
    public TagOperation deleteTag(int handle) {
        struct.set(JAVA_INT, OPCODE, OPCODE_DEL);
        struct.set(JAVA_INT, HANDLE, handle);
        return this;
    }

    /**
     * Makes this a TAG_SYNC: it only tells the device how many unexpected messages there have been.
     *
     * @param count the number of unexpected messages processed since the queue was created
     * @return this
     */
    public TagOperation synchronize(int count) {
        struct.set(JAVA_INT, OPCODE, OPCODE_SYNC);
        return unexpectedCount(count);
    }

    /**
     * Makes this operation, of any kind, also tell the device how many unexpected messages there have been: sets the
     * flag TM_SYNC.
     *
     * @param count the number of unexpected messages processed since the queue was created
     * @return this
     */
    public TagOperation unexpectedCount(int count) {
        struct.set(JAVA_INT, UNEXPECTED_CNT, count);
        return flag(TM_SYNC, true);
    }

    /**
     * Undoes {@link #unexpectedCount}.
     *
     * @return this
     */
    public TagOperation withoutUnexpectedCount() {
        struct.set(JAVA_INT, UNEXPECTED_CNT, 0);
        return flag(TM_SYNC, false);
    }

    /**
     * Sets whether this generates a completion in the completion queue of the shared receive queue.
     *
     * @param on true to get a completion
     * @return this
     */
    public TagOperation signaled(boolean on) {
        return flag(SIGNALED, on);
    }

    private TagOperation flag(int bit, boolean on) {
        int flags = struct.get(JAVA_INT, FLAGS);
        struct.set(JAVA_INT, FLAGS, on ? flags | bit : flags & ~bit);
        return this;
    }

    /** {@return the opcode} */
    public TagOpcode opcode() {
        return TagOpcode.of(struct.get(JAVA_INT, OPCODE));
    }

    /**
     * {@return the handle of a tag: the one the driver assigned when this operation added a tag, or the one passed to
     * {@link #deleteTag}}
     */
    public int handle() {
        return struct.get(JAVA_INT, HANDLE);
    }

    /**
     * Adds a part of a region to the buffer, to be filled after the parts added before.
     *
     * @param region the region to fill, registered with {@link AccessFlag#LOCAL_WRITE}
     * @param offset the start of the part in the region, in bytes
     * @param length the length of the part in bytes, up to 2<sup>32</sup> - 1
     * @return this
     * @throws IndexOutOfBoundsException when the part is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena
     * @throws IllegalStateException when the region is closed or no further segment fits
     */
    public TagOperation add(MemoryRegion region, long offset, long length) {
        segments.add(arena, region, offset, length);
        return this;
    }

    /**
     * Changes one part of the buffer in place.
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
    public TagOperation set(int index, MemoryRegion region, long offset, long length) {
        segments.set(arena, index, region, offset, length);
        return this;
    }

    /**
     * Removes all parts of the buffer.
     *
     * @return this
     */
    public TagOperation clear() {
        segments.clear();
        return this;
    }

    /**
     * Chains another operation behind this one: posting this one posts both.
     *
     * @param following the operation that follows this one, or null for none
     * @return this
     * @throws IllegalArgumentException when it belongs to another arena, or the chain would be a ring
     */
    public TagOperation next(@Nullable TagOperation following) {
        requireNoRing(following);
        struct.set(JAVA_LONG, NEXT, following == null ? 0 : following.addressBehind(this));
        next = following;
        return this;
    }

    /** {@return the operation that is chained behind this one, or null} */
    public @Nullable TagOperation next() {
        return next;
    }

    /** Opcode, identifier, handle and number of segments. */
    @Override
    public String toString() {
        return "tag operation " + opcode() + ", id " + id() + ", handle " + handle() + " (" + segments + ")";
    }
}
