package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_wq_init_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.queue.WorkQueueFlag;
import org.rdmapanama.queue.WorkQueueType;

/**
 * The options of a work queue, {@code struct ibv_wq_init_attr}; see ibv_create_wq(3).
 *
 * <p>Defaults: a receive queue for 128 receives of one segment each, with no flags. Threads: one at a time.
 */
public final class WorkQueueOptions {
    private static final int DEFAULT_WORK_REQUESTS = 128;

    private final CompletionQueue completionQueue;
    private final Set<WorkQueueFlag> flags = EnumSet.noneOf(WorkQueueFlag.class);
    private int maxWorkRequests = DEFAULT_WORK_REQUESTS;
    private int maxSegments = 1;

    /**
     * Creates options for a receive queue.
     *
     * @param completionQueue the completion queue of its receives
     * @throws NullPointerException when the queue is null
     */
    public WorkQueueOptions(CompletionQueue completionQueue) {
        this.completionQueue = Objects.requireNonNull(completionQueue, "completion queue");
    }

    /**
     * Sets how many receives may be outstanding.
     *
     * @param count 1 or more
     * @return this
     * @throws IllegalArgumentException when the number is not positive
     */
    public WorkQueueOptions maxWorkRequests(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("maxWorkRequests must be positive: " + count);
        }
        maxWorkRequests = count;
        return this;
    }

    /**
     * Sets how many segments one receive may have.
     *
     * @param count 0 or more
     * @return this
     * @throws IllegalArgumentException when the number is negative
     */
    public WorkQueueOptions maxSegments(int count) {
        if (count < 0) {
            throw new IllegalArgumentException("maxSegments must not be negative: " + count);
        }
        maxSegments = count;
        return this;
    }

    /**
     * Sets how the queue treats packets.
     *
     * @param wanted these flags and no others
     * @return this
     */
    public WorkQueueOptions flags(WorkQueueFlag... wanted) {
        flags.clear();
        flags.addAll(Arrays.asList(wanted));
        return this;
    }

    CompletionQueue completionQueue() {
        return completionQueue;
    }

    int maxWorkRequests() {
        return maxWorkRequests;
    }

    int maxSegments() {
        return maxSegments;
    }

    /** Writes to a zeroed {@code struct ibv_wq_init_attr}. */
    void write(MemorySegment attributes, ProtectionDomain protectionDomain) {
        ibv_wq_init_attr.wq_type(attributes, WorkQueueType.RQ.code());
        ibv_wq_init_attr.max_wr(attributes, maxWorkRequests);
        ibv_wq_init_attr.max_sge(attributes, maxSegments);
        ibv_wq_init_attr.pd(attributes, MemorySegment.ofAddress(protectionDomain.address));
        ibv_wq_init_attr.cq(attributes, MemorySegment.ofAddress(completionQueue.address));
        if (!flags.isEmpty()) {
            ibv_wq_init_attr.comp_mask(attributes, rdma_h.IBV_WQ_INIT_ATTR_FLAGS());
            ibv_wq_init_attr.create_flags(attributes, Codes.mask(flags, WorkQueueFlag::code));
        }
    }

    /** Sizes and flags. */
    @Override
    public String toString() {
        return maxWorkRequests + " work requests of " + maxSegments + " segments, flags " + flags;
    }
}
