package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_wq;
import org.rdmapanama.ffm.verbs.ibv_wq_attr;
import org.rdmapanama.ffm.verbs.ibv_wq_init_attr;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.WorkQueueState;
import org.rdmapanama.queue.WorkQueueType;

/**
 * A work queue, {@code struct ibv_wq}: a receive queue outside of a queue pair. A {@link ReceiveIndirectionTable}
 * contains several, over which a queue pair spreads received packets.
 *
 * <p>It starts in state RESET; {@link #modify} makes it ready. It is closed after the tables that contain it, and
 * before the regions that its receives point to.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread. In a shared arena several threads may post. {@link
 * #bindToThread} gives it to one thread.
 */
public final class WorkQueue extends QueueObject implements EventSource {
    static final Ending ENDING = new Ending("ibv_destroy_wq", ProviderContext::destroyWorkQueue);

    static final String CAPABILITY = "DeviceAttributes.maxWorkQueues";
    private static final String SEGMENTS_OPTION = "WorkQueueOptions.maxSegments";

    private final ProtectionDomain protectionDomain;
    private final CompletionQueue completionQueue;
    private final MemorySegment struct;
    private final int number;
    private final int maxWorkRequests;
    private final int maxSegments;

    private WorkQueue(
            ProtectionDomain protectionDomain,
            WorkQueueOptions options,
            long address,
            int maxWorkRequests,
            int maxSegments) {
        super(
                protectionDomain.context,
                address,
                ClearedQueues.of(options.completionQueue()),
                protectionDomain,
                options.completionQueue());
        this.protectionDomain = protectionDomain;
        this.maxWorkRequests = maxWorkRequests;
        this.maxSegments = maxSegments;
        completionQueue = options.completionQueue();
        struct = Native.struct(address, ibv_wq.layout());
        number = ibv_wq.wq_num(struct);
    }

    static WorkQueue create(ProtectionDomain protectionDomain, WorkQueueOptions options) {
        protectionDomain.requireSameContext(options.completionQueue());
        DirectQueues.refuse(options.completionQueue(), "a work queue");
        Context context = protectionDomain.context;
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_wq_init_attr.layout());
            options.write(attributes, protectionDomain);
            return context.create(
                    new Creation("ibv_create_wq", ENDING)
                            .arguments(options::toString)
                            .capability(CAPABILITY),
                    () -> {
                        protectionDomain.checkOpen();
                        options.completionQueue().checkOpen();
                        return context.provider().createWorkQueue(attributes.address());
                    },
                    wq -> new WorkQueue(
                            protectionDomain,
                            options,
                            wq,
                            ibv_wq_init_attr.max_wr(attributes),
                            ibv_wq_init_attr.max_sge(attributes)));
        }
    }

    /**
     * Wraps a work queue that other code in this process has created.
     *
     * @param protectionDomain the protection domain in which it was created
     * @param options the options it was created with, which also determine the sizes, because the device does not
     *     report them
     * @param nativeAddress address of the {@code struct ibv_wq}
     * @param ownership whether closing this object destroys the native one
     * @return the queue
     * @throws IllegalArgumentException when the address is 0 or already has a Java object, or the completion queue
     *     belongs to another context
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the protection domain or the completion queue is closed
     */
    @CheckReturnValue
    public static WorkQueue ofNativeAddress(
            ProtectionDomain protectionDomain, WorkQueueOptions options, long nativeAddress, Ownership ownership) {
        protectionDomain.requireSameContext(options.completionQueue());
        DirectQueues.refuse(options.completionQueue(), "a work queue");
        return protectionDomain.context.wrap(nativeAddress, ownership, wq -> {
            protectionDomain.checkOpen();
            options.completionQueue().checkOpen();
            return new WorkQueue(protectionDomain, options, wq, options.maxWorkRequests(), options.maxSegments());
        });
    }

    /** {@return the protection domain of this queue and of the regions that its receives use} */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** {@return the completion queue of receives} */
    public CompletionQueue completionQueue() {
        return completionQueue;
    }

    /** {@return the kind of queue, which is always RQ} */
    public WorkQueueType type() {
        return WorkQueueType.RQ;
    }

    /** {@return the number of this queue on the device, 24 bits} */
    public int number() {
        return number;
    }

    /** {@return the maximum number of outstanding receives, at least what was asked for} */
    public int maxWorkRequests() {
        return maxWorkRequests;
    }

    /** {@return the maximum number of segments of one receive, at least what was asked for} */
    public int maxSegments() {
        return maxSegments;
    }

    /**
     * Returns the state that this side last put the queue into. An error of the device raises {@link
     * AsyncEventType#WQ_FATAL}.
     *
     * @return the state
     * @throws IllegalStateException when this is closed
     */
    public WorkQueueState state() {
        enter();
        try {
            return WorkQueueState.of(ibv_wq.state(struct));
        } finally {
            exit();
        }
    }

    /**
     * Changes state and flags; see ibv_modify_wq(3). It leaves a batch of the calling thread on the completion queue
     * open, but its current completion can no longer be read.
     *
     * @param attributes the attributes to change
     * @throws UnsupportedVerbException when the device does not support work queues
     * @throws VerbsException when the verb fails, for example because there is no such transition
     * @throws IllegalStateException when this is closed, or another thread has a batch open on the completion queue and
     *     does not end it within two seconds
     * @verb ibv_modify_wq
     */
    public void modify(WorkQueueAttributes attributes) {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment encoded = temporary.allocate(ibv_wq_attr.layout());
            attributes.write(encoded);
            enter();
            try {
                context.check(
                        "ibv_modify_wq",
                        clearedQueues.call(this, () -> provider.modifyWorkQueue(address, encoded.address())),
                        this + ", " + attributes,
                        CAPABILITY);
            } finally {
                exit();
            }
        }
    }

    /**
     * Posts a receive, or a chain of them: {@code ibv_post_wq_recv}, which has no manual page. Allocates nothing.
     *
     * @param first the work request, with all requests {@linkplain ReceiveWorkRequest#next chained} to it
     * @throws QueueFullException when some or all of the chain did not fit; {@link #firstNotReceiving} returns the
     *     rest, and {@link #tryPostReceive} is this without the exception
     * @throws IllegalArgumentException when the work request belongs to another arena, or has more segments than this
     *     queue takes
     * @throws VerbsException when the driver refuses a work request; those before it in the chain are posted
     * @throws IllegalStateException when this is closed
     * @verb ibv_post_wq_recv
     */
    public void postReceive(ReceiveWorkRequest first) {
        if (tryPostReceive(first) != QueuePair.POSTED) {
            throw QueueFullException.of(
                    "ibv_post_wq_recv", toString(), maxWorkRequests, "wait for messages", "WorkQueue.tryPostReceive");
        }
    }

    /**
     * Posts a receive, or a chain of them, as {@link #postReceive} does, and returns a constant when the queue is full.
     * For programs that expect this. Allocates nothing.
     *
     * @param first the work request, with all requests {@linkplain ReceiveWorkRequest#next chained} to it
     * @return {@link QueuePair#POSTED}, or {@link QueuePair#QUEUE_FULL} when some or all of the chain did not fit;
     *     {@link #firstNotReceiving} returns the rest
     * @throws IllegalArgumentException as {@link #postReceive}
     * @throws VerbsException as {@link #postReceive}, but not when the queue is full
     * @throws IllegalStateException when this is closed
     * @verb ibv_post_wq_recv
     */
    @CheckReturnValue
    public int tryPostReceive(ReceiveWorkRequest first) {
        int before = enterData();
        try {
            long chain = first.address(this);
            first.firstNotPosted(chain);
            first.checkFits(maxSegments, SEGMENTS_OPTION);
            int result = provider.postWorkQueueReceive(address, chain, first.addressOfFirstNotPosted());
            if (result == QueuePair.POSTED) {
                first.firstNotPosted(0);
            }
            return result == QueuePair.POSTED || result == QueuePair.QUEUE_FULL ? result : refused(result);
        } finally {
            exitData(before);
        }
    }

    private int refused(int result) {
        throw new VerbsException("ibv_post_wq_recv", -result, this + " in state " + state(), null);
    }

    /**
     * Returns the first request that was not posted when {@link #postReceive} threw, or {@link #tryPostReceive} threw
     * or returned {@link QueuePair#QUEUE_FULL}. Valid until the first request of the chain is posted again.
     *
     * @param first the chain that was posted
     * @return the first work request of it that was not posted, or null when all are posted, or when the driver does
     *     not report it
     * @throws IllegalArgumentException when the work request belongs to another arena
     * @throws IllegalStateException when this is closed
     */
    @CheckReturnValue
    public @Nullable ReceiveWorkRequest firstNotReceiving(ReceiveWorkRequest first) {
        checkOpen();
        return ChainedRequest.rest(first, this);
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 2;
    }

    /** Number and device. */
    @Override
    public String toString() {
        return "work queue " + number + " of " + context;
    }
}
