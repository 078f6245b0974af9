package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_tm_cap;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.queue.SharedReceiveQueueType;

/**
 * The options of a shared receive queue, {@code struct ibv_srq_init_attr} and {@code struct ibv_srq_init_attr_ex}; see
 * ibv_create_srq(3) and ibv_create_srq_ex(3).
 *
 * <p>{@snippet :
 * SharedReceiveQueue receives =
 *         pd.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(512).maxSegments(2));
 * }
 *
 * <p>Defaults: 128 receives of one segment each, for ordinary queue pairs. {@link #xrc} and {@link #tagMatching} select
 * another kind of queue; the last call of the two wins. Threads: one at a time.
 */
public final class SharedReceiveQueueOptions {
    private static final int DEFAULT_WORK_REQUESTS = 128;

    private SharedReceiveQueueType type = SharedReceiveQueueType.BASIC;
    private int maxWorkRequests = DEFAULT_WORK_REQUESTS;
    private int maxSegments = 1;
    private @Nullable XrcDomain xrcDomain;
    private @Nullable CompletionQueue completionQueue;
    private int maxTags;
    private int maxTagOperations;
    private boolean direct;

    /** Creates options for a queue for ordinary queue pairs. */
    public SharedReceiveQueueOptions() {}

    /**
     * Sets how many receives may be outstanding.
     *
     * @param count 1 or more
     * @return this
     * @throws IllegalArgumentException when the number is not positive
     */
    public SharedReceiveQueueOptions maxWorkRequests(int count) {
        maxWorkRequests = positive("maxWorkRequests", count);
        return this;
    }

    /**
     * Sets how many segments one receive may have.
     *
     * @param count 0 or more
     * @return this
     * @throws IllegalArgumentException when the number is negative
     */
    public SharedReceiveQueueOptions maxSegments(int count) {
        if (count < 0) {
            throw new IllegalArgumentException("maxSegments must not be negative: " + count);
        }
        maxSegments = count;
        return this;
    }

    /**
     * Makes this a queue for extended reliable connections: peers address it by its {@link SharedReceiveQueue#number},
     * and its receives complete in a completion queue of their own.
     *
     * @param domain the domain of the XRC_RECV queue pairs that may use it
     * @param queue the completion queue of its receives
     * @return this
     * @throws NullPointerException when an argument is null
     */
    public SharedReceiveQueueOptions xrc(XrcDomain domain, CompletionQueue queue) {
        xrcDomain = Objects.requireNonNull(domain, "XRC domain");
        completionQueue = Objects.requireNonNull(queue, "completion queue");
        type = SharedReceiveQueueType.XRC;
        maxTags = 0;
        maxTagOperations = 0;
        return this;
    }

    /**
     * Makes this a queue that matches the tags of messages with those of buffers, which {@link
     * SharedReceiveQueue#postTagOperation} adds. Messages that match no tag go to the ordinary receives.
     *
     * @param maxTags the maximum number of buffers with tags, 1 or more
     * @param maxOperations the maximum number of outstanding operations on the tag list, 1 or more
     * @param queue the completion queue of operations and matched messages
     * @return this
     * @throws IllegalArgumentException when a number is not positive
     * @throws NullPointerException when the queue is null
     */
    public SharedReceiveQueueOptions tagMatching(int maxTags, int maxOperations, CompletionQueue queue) {
        this.maxTags = positive("maxTags", maxTags);
        maxTagOperations = positive("maxOperations", maxOperations);
        completionQueue = Objects.requireNonNull(queue, "completion queue");
        type = SharedReceiveQueueType.TM;
        xrcDomain = null;
        return this;
    }

    /**
     * Has Java write the ring of this queue itself, for queue pairs whose completion queues are direct; see {@link
     * CompletionQueueOptions#direct}. Only for ordinary queues, without tags and XRC.
     *
     * @param value whether to do so
     * @return this
     */
    public SharedReceiveQueueOptions direct(boolean value) {
        direct = value;
        return this;
    }

    boolean direct() {
        return direct;
    }

    private static int positive(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " must be positive: " + value);
        }
        return value;
    }

    SharedReceiveQueueType type() {
        return type;
    }

    @Nullable
    CompletionQueue completionQueue() {
        return completionQueue;
    }

    int maxTags() {
        return maxTags;
    }

    /** The objects that such a queue uses besides its protection domain. */
    ContextObject[] uses() {
        return switch (type) {
            case BASIC -> new ContextObject[0];
            case XRC -> new ContextObject[] {xrcDomain, completionQueue};
            case TM -> new ContextObject[] {completionQueue};
        };
    }

    private void writeSizes(MemorySegment sizes) {
        ibv_srq_attr.max_wr(sizes, maxWorkRequests);
        ibv_srq_attr.max_sge(sizes, maxSegments);
    }

    /** Writes to a zeroed {@code struct ibv_srq_init_attr}. */
    void writeBasic(MemorySegment attributes) {
        writeSizes(ibv_srq_init_attr.attr(attributes));
    }

    /** Writes to a zeroed {@code struct ibv_srq_init_attr_ex}. */
    void writeExtended(MemorySegment attributes, ProtectionDomain protectionDomain) {
        writeSizes(ibv_srq_init_attr_ex.attr(attributes));
        int mask = rdma_h.IBV_SRQ_INIT_ATTR_TYPE() | rdma_h.IBV_SRQ_INIT_ATTR_PD() | rdma_h.IBV_SRQ_INIT_ATTR_CQ();
        ibv_srq_init_attr_ex.srq_type(attributes, type.code());
        ibv_srq_init_attr_ex.pd(attributes, MemorySegment.ofAddress(protectionDomain.address));
        ibv_srq_init_attr_ex.cq(attributes, MemorySegment.ofAddress(Objects.requireNonNull(completionQueue).address));
        if (type == SharedReceiveQueueType.XRC) {
            mask |= rdma_h.IBV_SRQ_INIT_ATTR_XRCD();
            ibv_srq_init_attr_ex.xrcd(attributes, MemorySegment.ofAddress(Objects.requireNonNull(xrcDomain).address));
        } else {
            mask |= rdma_h.IBV_SRQ_INIT_ATTR_TM();
            MemorySegment tags = ibv_srq_init_attr_ex.tm_cap(attributes);
            ibv_tm_cap.max_num_tags(tags, maxTags);
            ibv_tm_cap.max_ops(tags, maxTagOperations);
        }
        ibv_srq_init_attr_ex.comp_mask(attributes, mask);
    }

    /** Type and sizes. */
    @Override
    public String toString() {
        String sizes = type + ", " + maxWorkRequests + " work requests of " + maxSegments + " segments";
        return type == SharedReceiveQueueType.TM
                ? sizes + ", " + maxTags + " tags, " + maxTagOperations + " operations"
                : sizes;
    }
}
