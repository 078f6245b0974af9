package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What a queue pair is to be, {@code struct ibv_qp_init_attr}; see ibv_create_qp(3).
 *
 * <p>{@snippet :
 * QueuePair qp = pd.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue).maxSendWorkRequests(64));
 * }
 *
 * <p>Without further words: 16 sends and 16 receives of one segment each, no inline data, and only those sends
 * complete visibly that ask for it. Threads: one at a time.
 */
public final class QueuePairOptions {
    private static final int DEFAULT_WORK_REQUESTS = 16;

    private final QueuePairType type;
    private final CompletionQueue sendQueue;
    private final CompletionQueue receiveQueue;
    private QueuePairCapabilities sizes =
            new QueuePairCapabilities(DEFAULT_WORK_REQUESTS, DEFAULT_WORK_REQUESTS, 1, 1, 0);
    private boolean signalAll;
    private SharedReceiveQueue sharedReceiveQueue;
    private XrcDomain xrcDomain;

    /**
     * A queue pair that reports sends and receives to one completion queue.
     *
     * @param type its transport service
     * @param queue where it reports
     * @throws NullPointerException when an argument is null
     */
    public QueuePairOptions(QueuePairType type, CompletionQueue queue) {
        this(type, queue, queue);
    }

    /**
     * A queue pair that reports sends and receives to two completion queues.
     *
     * @param type its transport service
     * @param sendQueue where it reports sends
     * @param receiveQueue where it reports receives
     * @throws NullPointerException when an argument is null
     */
    public QueuePairOptions(QueuePairType type, CompletionQueue sendQueue, CompletionQueue receiveQueue) {
        this.type = Objects.requireNonNull(type, "type");
        this.sendQueue = Objects.requireNonNull(sendQueue, "send completion queue");
        this.receiveQueue = Objects.requireNonNull(receiveQueue, "receive completion queue");
    }

    QueuePairType type() {
        return type;
    }

    CompletionQueue sendQueue() {
        return sendQueue;
    }

    CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    QueuePairCapabilities sizes() {
        return sizes;
    }

    private static int checked(String name, int value) {
        if (value < 0) {
            throw new IllegalArgumentException(name + " must not be negative: " + value);
        }
        return value;
    }

    /**
     * Sets how many sends may be outstanding.
     *
     * @param count 0 or more
     * @return this
     * @throws IllegalArgumentException when the number is negative
     */
    public QueuePairOptions maxSendWorkRequests(int count) {
        sizes = new QueuePairCapabilities(
                checked("maxSendWorkRequests", count),
                sizes.maxReceiveWorkRequests(),
                sizes.maxSendSegments(),
                sizes.maxReceiveSegments(),
                sizes.maxInlineData());
        return this;
    }

    /**
     * Sets how many receives may be outstanding.
     *
     * @param count 0 or more
     * @return this
     * @throws IllegalArgumentException when the number is negative
     */
    public QueuePairOptions maxReceiveWorkRequests(int count) {
        sizes = new QueuePairCapabilities(
                sizes.maxSendWorkRequests(),
                checked("maxReceiveWorkRequests", count),
                sizes.maxSendSegments(),
                sizes.maxReceiveSegments(),
                sizes.maxInlineData());
        return this;
    }

    /**
     * Sets how many segments one work request may have.
     *
     * @param sends of a send, 0 or more
     * @param receives of a receive, 0 or more
     * @return this
     * @throws IllegalArgumentException when a number is negative
     */
    public QueuePairOptions maxSegments(int sends, int receives) {
        sizes = new QueuePairCapabilities(
                sizes.maxSendWorkRequests(),
                sizes.maxReceiveWorkRequests(),
                checked("maxSegments of sends", sends),
                checked("maxSegments of receives", receives),
                sizes.maxInlineData());
        return this;
    }

    /**
     * Sets how much can be sent inline, that is copied when posted, so that its memory is free at once.
     *
     * @param bytes 0 or more
     * @return this
     * @throws IllegalArgumentException when the number is negative
     */
    public QueuePairOptions maxInlineData(int bytes) {
        sizes = new QueuePairCapabilities(
                sizes.maxSendWorkRequests(),
                sizes.maxReceiveWorkRequests(),
                sizes.maxSendSegments(),
                sizes.maxReceiveSegments(),
                checked("maxInlineData", bytes));
        return this;
    }

    /**
     * Sets whether every send completes visibly, or only those marked {@link SendWorkRequest#signaled signaled}.
     *
     * @param all true for every one
     * @return this
     */
    public QueuePairOptions signalAll(boolean all) {
        signalAll = all;
        return this;
    }

    /**
     * Takes receives from a shared receive queue instead of a receive queue of this queue pair's own, whose sizes do
     * not matter then. It is posted to through {@link SharedReceiveQueue#postReceive}.
     *
     * @param queue where to take them from, or null for a receive queue of its own
     * @return this
     * @throws IllegalArgumentException when this is of a type whose messages name their queue, or that receives none:
     *     XRC_RECV and XRC_SEND
     */
    public QueuePairOptions sharedReceiveQueue(SharedReceiveQueue queue) {
        if (queue != null && (type == QueuePairType.XRC_SEND || type == QueuePairType.XRC_RECV)) {
            throw new IllegalArgumentException(
                    "a " + type + " queue pair has no receives: a message names the shared receive queue it goes to");
        }
        sharedReceiveQueue = queue;
        return this;
    }

    /**
     * Sets the domain of an XRC_RECV queue pair, which such a one needs. Neither the protection domain nor the
     * completion queues matter to it: those of the shared receive queues do.
     *
     * @param domain what it shares with the shared receive queues that messages may name
     * @return this
     * @throws IllegalArgumentException when this is of another type
     */
    public QueuePairOptions xrcDomain(XrcDomain domain) {
        if (type != QueuePairType.XRC_RECV) {
            throw new IllegalArgumentException("a " + type + " queue pair has no XRC domain: only XRC_RECV has");
        }
        xrcDomain = domain;
        return this;
    }

    SharedReceiveQueue sharedReceiveQueue() {
        return sharedReceiveQueue;
    }

    /** Whether ibv_create_qp cannot make it. */
    boolean isExtended() {
        return xrcDomain != null;
    }

    /** Whether receives are posted to such a queue pair itself. */
    boolean hasReceiveQueue() {
        return sharedReceiveQueue == null && type != QueuePairType.XRC_SEND && type != QueuePairType.XRC_RECV;
    }

    /** What such a queue pair uses beyond its protection domain. */
    List<ContextObject> uses() {
        return Stream.of(sendQueue, receiveQueue, sharedReceiveQueue, xrcDomain)
                .filter(Objects::nonNull)
                .toList();
    }

    /** Into a zeroed {@code struct ibv_qp_init_attr_ex}, which begins as a {@code struct ibv_qp_init_attr} does. */
    void write(MemorySegment attributes) {
        if (type == QueuePairType.XRC_RECV) {
            writeXrcReceive(attributes);
            return;
        }
        ibv_qp_init_attr.send_cq(attributes, MemorySegment.ofAddress(sendQueue.address));
        ibv_qp_init_attr.recv_cq(attributes, MemorySegment.ofAddress(receiveQueue.address));
        ibv_qp_init_attr.qp_type(attributes, type.code());
        ibv_qp_init_attr.sq_sig_all(attributes, signalAll ? 1 : 0);
        QueuePairCapabilities wanted = hasReceiveQueue()
                ? sizes
                : new QueuePairCapabilities(
                        sizes.maxSendWorkRequests(), 0, sizes.maxSendSegments(), 0, sizes.maxInlineData());
        wanted.write(ibv_qp_init_attr.cap(attributes));
        if (sharedReceiveQueue != null) {
            ibv_qp_init_attr.srq(attributes, MemorySegment.ofAddress(sharedReceiveQueue.address));
        }
    }

    /** Such a queue pair has neither queues nor a protection domain of its own: only its domain counts. */
    private void writeXrcReceive(MemorySegment attributes) {
        if (xrcDomain == null) {
            throw new IllegalArgumentException("an XRC_RECV queue pair needs a domain: see QueuePairOptions.xrcDomain");
        }
        ibv_qp_init_attr.qp_type(attributes, type.code());
        ibv_qp_init_attr_ex.comp_mask(attributes, rdma_h.IBV_QP_INIT_ATTR_XRCD());
        ibv_qp_init_attr_ex.xrcd(attributes, MemorySegment.ofAddress(xrcDomain.address));
    }

    /** Type and sizes. */
    @Override
    public String toString() {
        return type + ", " + sizes;
    }
}
