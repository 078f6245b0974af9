package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_ops_wr;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * An operation on the list of tags of a shared receive queue, {@code struct ibv_ops_wr}: encoded in native memory,
 * posted as often as wanted, and changed in place in between; see ibv_post_srq_ops(3).
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
 * <p>A message matches when its tag, restricted to the bits of the mask, is the tag of the buffer. The device hands
 * what matches nothing, an unexpected message, to the ordinary receives. Whoever works through those tells the device
 * how many there have been ({@link #unexpectedCount}): it does not use tags added later before both agree.
 *
 * <p>The operation itself may be changed or posted again as soon as posting returns. The memory that it points to
 * belongs to the device until it has completed or its tag is deleted.
 *
 * <p>Threads: one at a time. It lives as long as its arena.
 */
public final class TagOperation {
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

    private final VerbsArena arena;
    private final MemorySegment struct;
    private final long address;
    private final Segments segments;

    /** Offset of where a driver writes, when this begins a chain, which of the chain it did not post. */
    private final long notPosted;

    private TagOperation next;

    private TagOperation(VerbsArena arena, int maxSegments) {
        this.arena = arena;
        notPosted = SIZE + Segments.bytes(maxSegments);
        struct = arena.allocate(notPosted + Long.BYTES, Long.BYTES);
        address = struct.address();
        segments = new Segments(struct, SIZE, maxSegments, NUM_SGE);
        struct.set(JAVA_LONG, SG_LIST, address + SIZE);
        struct.set(JAVA_INT, OPCODE, OPCODE_SYNC);
    }

    /**
     * Makes an operation: {@link #synchronize}, not signaled, until told otherwise.
     *
     * @param arena of the queues that it will be posted to
     * @param maxSegments how many segments it can hold, 0 or more
     * @return a new one
     * @throws IllegalArgumentException when the number is negative
     * @throws IllegalStateException when the arena is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static TagOperation allocate(VerbsArena arena, int maxSegments) {
        return new TagOperation(arena, Segments.checkCount(maxSegments));
    }

    long address(VerbsArena queueArena) {
        if (queueArena != arena) {
            throw new IllegalArgumentException("this operation belongs to another arena than the queue");
        }
        return address;
    }

    /** For the driver. Each chain has its own, since many threads may post to a queue. */
    long addressOfFirstNotPosted() {
        return address + notPosted;
    }

    /** The address of the first one of this chain that was not posted, or 0. */
    long firstNotPosted() {
        return struct.get(JAVA_LONG, notPosted);
    }

    void firstNotPosted(long first) {
        struct.set(JAVA_LONG, notPosted, first);
    }

    /**
     * Checks this and all that is chained behind. Drivers are not careful here: some read one segment only, and take
     * any handle for an index into their memory.
     */
    void check(int maxSegments, int maxHandle) {
        for (TagOperation operation = this; operation != null; operation = operation.next) {
            int opcode = operation.struct.get(JAVA_INT, OPCODE);
            if (opcode == OPCODE_ADD) {
                operation.segments.checkFits(maxSegments, "DeviceAttributes.tagMatching");
            } else if (opcode == OPCODE_DEL && Integer.compareUnsigned(operation.handle(), maxHandle) > 0) {
                throw new IllegalArgumentException(operation + " is no handle of this queue: take what handle()"
                        + " gave after the tag was added");
            }
        }
    }

    /** The one of this chain that is at an address, or null. */
    TagOperation find(VerbsArena queueArena, long wanted) {
        TagOperation operation = this;
        while (operation != null && operation.address(queueArena) != wanted) {
            operation = operation.next;
        }
        return operation;
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

    /**
     * The identifier that the completion of this operation will carry.
     *
     * @return what was set, else 0
     */
    public long id() {
        return struct.get(JAVA_LONG, WR_ID);
    }

    /**
     * Makes this a TAG_ADD: the segments of this become a buffer for messages with a tag.
     *
     * @param tag the tag, 64 bits
     * @param mask which bits of a message's tag count; -1 for all
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
     * Makes this a TAG_DEL: a buffer that was added leaves the list. When a message was faster, the operation completes
     * with {@link CompletionStatus#TM_ERR}.
     *
     * @param handle what {@link #handle()} gave after it was added; of a buffer that a message has used up, drivers
     *     do not all notice that it is gone
     * @return this
     */
    public TagOperation deleteTag(int handle) {
        struct.set(JAVA_INT, OPCODE, OPCODE_DEL);
        struct.set(JAVA_INT, HANDLE, handle);
        return this;
    }

    /**
     * Makes this a TAG_SYNC: it changes nothing but tells the device how many unexpected messages there have been.
     *
     * @param count how many unexpected messages have been worked through since the queue was made
     * @return this
     */
    public TagOperation synchronize(int count) {
        struct.set(JAVA_INT, OPCODE, OPCODE_SYNC);
        return unexpectedCount(count);
    }

    /**
     * Lets this operation, of any kind, tell the device how many unexpected messages there have been: sets the flag
     * TM_SYNC.
     *
     * @param count how many unexpected messages have been worked through since the queue was made
     * @return this
     */
    public TagOperation unexpectedCount(int count) {
        struct.set(JAVA_INT, UNEXPECTED_CNT, count);
        return flag(TM_SYNC, true);
    }

    /**
     * Takes {@link #unexpectedCount} back.
     *
     * @return this
     */
    public TagOperation withoutUnexpectedCount() {
        struct.set(JAVA_INT, UNEXPECTED_CNT, 0);
        return flag(TM_SYNC, false);
    }

    /**
     * Sets whether this completes visibly, in the completion queue of the shared receive queue.
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

    /**
     * What this does.
     *
     * @return the opcode
     */
    public TagOpcode opcode() {
        return TagOpcode.of(struct.get(JAVA_INT, OPCODE));
    }

    /**
     * The handle of a tag: what the driver gave when this was posted to add one, or what {@link #deleteTag} set.
     *
     * @return the handle
     */
    public int handle() {
        return struct.get(JAVA_INT, HANDLE);
    }

    /**
     * Adds a part of a region to the buffer, to be filled after the parts added before.
     *
     * @param region where the data goes; it needs {@link AccessFlag#LOCAL_WRITE}
     * @param offset where it begins in the region, in bytes
     * @param length how long it is, in bytes, up to 2 to the 32 minus 1
     * @return this
     * @throws IndexOutOfBoundsException when the part is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena
     * @throws IllegalStateException when the region is closed or no further segment fits
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public TagOperation add(MemoryRegion region, long offset, long length) {
        segments.add(arena, region, offset, length);
        return this;
    }

    /**
     * Changes one part of the buffer in place.
     *
     * @param index which one, in the order added
     * @param region where the data goes; it needs {@link AccessFlag#LOCAL_WRITE}
     * @param offset where it begins in the region, in bytes
     * @param length how long it is, in bytes, up to 2 to the 32 minus 1
     * @return this
     * @throws IndexOutOfBoundsException when there is no such part, or the new one is not inside the region
     * @throws IllegalArgumentException when the region belongs to another arena
     * @throws IllegalStateException when the region is closed
     * @throws WrongThreadException when the arena is confined to another thread
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
     * @param following what comes after this, or null for nothing
     * @return this
     * @throws IllegalArgumentException when it belongs to another arena, or the chain would be a ring
     */
    public TagOperation next(TagOperation following) {
        for (TagOperation operation = following; operation != null; operation = operation.next) {
            if (operation == this) {
                throw new IllegalArgumentException("a chain of operations must end");
            }
        }
        struct.set(JAVA_LONG, NEXT, following == null ? 0 : following.address(arena));
        next = following;
        return this;
    }

    /**
     * What is chained behind this.
     *
     * @return the next operation, or null
     */
    public TagOperation next() {
        return next;
    }

    /** Opcode, identifier, handle and number of segments. */
    @Override
    public String toString() {
        return "tag operation " + opcode() + ", id " + id() + ", handle " + handle() + " (" + segments + ")";
    }
}
