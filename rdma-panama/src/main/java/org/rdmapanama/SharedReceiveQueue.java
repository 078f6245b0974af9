package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ibv_device_attr;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_tm_caps;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.QueueStructs;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.DirectSharedReceiveQueue;
import org.rdmapanama.internal.provider.PostVerbs;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.SharedReceiveQueueAttributes;
import org.rdmapanama.queue.SharedReceiveQueueType;

/**
 * A shared receive queue, {@code struct ibv_srq}: receives for any number of queue pairs, each of which takes the next
 * one when a message arrives.
 *
 * <p>{@snippet :
 * SharedReceiveQueue receives = pd.createSharedReceiveQueue(new SharedReceiveQueueOptions());
 * receives.postReceive(ReceiveWorkRequest.allocate(arena, 1).id(1).add(region, 0, 4096));
 * QueuePair qp = pd.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue).sharedReceiveQueue(receives));
 * }
 *
 * <p>A receive completes in the receive completion queue of the queue pair that took it; {@link
 * WorkCompletions#queuePairNumber} says which one. The data goes to regions of the protection domain of this queue, but
 * with Soft-RoCE to those of the protection domain of the queue pair, so use the same domain for both. A queue pair in
 * the error state does not flush receives of this queue: they stay for the others, and closing this discards them
 * without completions. So this is closed after the queue pairs that use it, and before the regions that its receives
 * point to.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread. In a shared arena several threads may post. {@link
 * #bindToThread} gives it to one thread.
 */
public final class SharedReceiveQueue extends QueueObject implements EventSource {
    static final Ending ENDING = new Ending("ibv_destroy_srq", ProviderContext::destroySharedReceiveQueue);

    private static final String TAG_MATCHING = "DeviceAttributes.tagMatching";
    private static final String SEGMENTS_OPTION = "SharedReceiveQueueOptions.maxSegments";

    private final ProtectionDomain protectionDomain;
    private final SharedReceiveQueueType type;
    private final @Nullable CompletionQueue completionQueue;
    private final int maxSegments;
    private final int maxTags;
    private final int maxTagSegments;

    /** Null if the driver posts. */
    private final @Nullable DirectSharedReceiveQueue direct;

    /** The direct queue, or the provider. */
    private final PostVerbs posting;

    private volatile int maxWorkRequests;

    /** Ensures that the recorded size is the one that the driver set last. */
    private final ReentrantLock resizing = new ReentrantLock();

    private SharedReceiveQueue(
            ProtectionDomain protectionDomain,
            SharedReceiveQueueOptions options,
            long address,
            MemorySegment granted,
            int maxTagSegments,
            @Nullable DirectPath path) {
        super(
                protectionDomain.context,
                address,
                ClearedQueues.of(completionQueue(options)),
                parents(protectionDomain, options));
        this.protectionDomain = protectionDomain;
        this.maxTagSegments = maxTagSegments;
        type = options.type();
        completionQueue = completionQueue(options);
        maxTags = options.maxTags();
        maxWorkRequests = ibv_srq_attr.max_wr(granted);
        maxSegments = ibv_srq_attr.max_sge(granted);
        direct = DirectQueues.sharedReceiveQueue(context, path, address, maxSegments);
        posting = direct == null ? provider : direct;
    }

    private static @Nullable CompletionQueue completionQueue(SharedReceiveQueueOptions options) {
        return options.type() == SharedReceiveQueueType.BASIC ? null : options.completionQueue();
    }

    private static VerbsObject[] parents(ProtectionDomain protectionDomain, SharedReceiveQueueOptions options) {
        ContextObject[] uses = options.uses();
        VerbsObject[] parents = new VerbsObject[uses.length + 1];
        parents[0] = protectionDomain;
        System.arraycopy(uses, 0, parents, 1, uses.length);
        return parents;
    }

    private static void checkUsable(ProtectionDomain protectionDomain, SharedReceiveQueueOptions options) {
        protectionDomain.checkOpen();
        for (ContextObject used : options.uses()) {
            used.checkOpen();
        }
    }

    private static void requireSameContext(ProtectionDomain protectionDomain, SharedReceiveQueueOptions options) {
        for (ContextObject used : options.uses()) {
            protectionDomain.requireSameContext(used);
        }
    }

    static SharedReceiveQueue create(ProtectionDomain protectionDomain, SharedReceiveQueueOptions options) {
        requireSameContext(protectionDomain, options);
        if (options.direct() && options.type() != SharedReceiveQueueType.BASIC) {
            throw new IllegalArgumentException("a direct shared receive queue must be an ordinary one: " + options);
        }
        DirectQueues.refuse(completionQueue(options), "a shared receive queue of type " + options.type());
        return options.type() == SharedReceiveQueueType.BASIC
                ? createBasic(protectionDomain, options)
                : createExtended(protectionDomain, options);
    }

    private static SharedReceiveQueue createBasic(
            ProtectionDomain protectionDomain, SharedReceiveQueueOptions options) {
        Context context = protectionDomain.context;
        DirectPath path = DirectQueues.path(context, options.direct());
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_srq_init_attr.layout());
            options.writeBasic(attributes);
            return context.create(
                    new Creation("ibv_create_srq", ENDING)
                            .arguments(options::toString)
                            .cures(errno -> cureOfCreate(context, errno))
                            .capability("DeviceAttributes.maxSharedReceiveQueues"),
                    () -> {
                        checkUsable(protectionDomain, options);
                        return context.provider()
                                .createSharedReceiveQueue(protectionDomain.address, attributes.address());
                    },
                    srq -> new SharedReceiveQueue(
                            protectionDomain, options, srq, ibv_srq_init_attr.attr(attributes), 0, path));
        }
    }

    private static SharedReceiveQueue createExtended(
            ProtectionDomain protectionDomain, SharedReceiveQueueOptions options) {
        Context context = protectionDomain.context;
        boolean tags = options.type() == SharedReceiveQueueType.TM;
        String capability = tags ? TAG_MATCHING : XrcDomain.CAPABILITY;
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment device = temporary.allocate(ibv_device_attr_ex.layout());
            MemorySegment attributes = temporary.allocate(ibv_srq_init_attr_ex.layout());
            options.writeExtended(attributes, protectionDomain);
            return context.create(
                    new Creation("ibv_create_srq_ex", ENDING)
                            .arguments(options::toString)
                            .cures(errno -> cureOfCreate(context, errno))
                            .capability(capability),
                    () -> {
                        checkUsable(protectionDomain, options);
                        boolean known = context.provider().queryDevice(device.address()) >= 0;
                        long srq = context.provider().createExtendedSharedReceiveQueue(attributes.address());
                        if (srq < 0 && known && !(tags ? hasTagMatching(device) : hasXrc(device))) {
                            // Drivers differ in what they report here: some EINVAL, some nothing.
                            throw new UnsupportedVerbException(
                                    "ibv_create_srq_ex",
                                    (int) -srq,
                                    context.deviceName(),
                                    options.toString(),
                                    capability);
                        }
                        return srq;
                    },
                    srq -> new SharedReceiveQueue(
                            protectionDomain,
                            options,
                            srq,
                            ibv_srq_init_attr_ex.attr(attributes),
                            maxTagSegments(device),
                            null));
        }
    }

    private static boolean hasXrc(MemorySegment device) {
        int flags = ibv_device_attr.device_cap_flags(ibv_device_attr_ex.orig_attr(device));
        return (flags & rdma_h.IBV_DEVICE_XRC()) != 0;
    }

    private static boolean hasTagMatching(MemorySegment device) {
        return ibv_tm_caps.max_num_tags(ibv_device_attr_ex.tm_caps(device)) != 0;
    }

    private static int maxTagSegments(MemorySegment device) {
        return ibv_tm_caps.max_sge(ibv_device_attr_ex.tm_caps(device));
    }

    private static @Nullable String cureOfCreate(Context context, int errno) {
        if (errno == Errno.EINVAL) {
            DeviceAttributes device = context.queryDevice();
            return "the device allows at most " + device.maxSharedReceiveWorkRequests() + " work requests and "
                    + device.maxSharedReceiveSegments() + " segments";
        }
        if (errno == Errno.ENOMEM) {
            return RegistrableMemory.cureOfTooMany("shared receive queues");
        }
        return null;
    }

    /**
     * Wraps an ordinary shared receive queue that other code in this process has created.
     *
     * @param protectionDomain the protection domain in which it was created
     * @param nativeAddress address of the {@code struct ibv_srq}
     * @param ownership whether closing this object destroys the native one
     * @return the queue, with the sizes that the device reports
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws VerbsException when the device does not report the sizes
     * @throws IllegalStateException when the protection domain is closed
     */
    @CheckReturnValue
    public static SharedReceiveQueue ofNativeAddress(
            ProtectionDomain protectionDomain, long nativeAddress, Ownership ownership) {
        return ofNativeAddress(protectionDomain, new SharedReceiveQueueOptions(), nativeAddress, ownership);
    }

    /**
     * Wraps a shared receive queue of any type that other code in this process has created.
     *
     * @param protectionDomain the protection domain in which it was created
     * @param options the options it was created with; the numbers of work requests and segments are ignored, because
     *     the device reports them
     * @param nativeAddress address of the {@code struct ibv_srq}
     * @param ownership whether closing this object destroys the native one
     * @return the queue
     * @throws IllegalArgumentException when the address is 0 or already has a Java object, or an object among the
     *     options belongs to another context
     * @throws NullPointerException when an argument is null
     * @throws VerbsException when the device does not report the sizes
     * @throws IllegalStateException when the protection domain, or an object among the options, is closed
     */
    @CheckReturnValue
    public static SharedReceiveQueue ofNativeAddress(
            ProtectionDomain protectionDomain,
            SharedReceiveQueueOptions options,
            long nativeAddress,
            Ownership ownership) {
        requireSameContext(protectionDomain, options);
        DirectQueues.refuse(completionQueue(options), "a shared receive queue of type " + options.type());
        Context context = protectionDomain.context;
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment device = temporary.allocate(ibv_device_attr_ex.layout());
            MemorySegment sizes = temporary.allocate(ibv_srq_attr.layout());
            return context.wrap(nativeAddress, ownership, srq -> {
                checkUsable(protectionDomain, options);
                context.provider().queryDevice(device.address());
                context.check(
                        "ibv_query_srq",
                        context.provider().querySharedReceiveQueue(srq, sizes.address()),
                        "",
                        "DeviceAttributes.maxSharedReceiveQueues");
                return new SharedReceiveQueue(protectionDomain, options, srq, sizes, maxTagSegments(device), null);
            });
        }
    }

    /** {@return the protection domain of this queue and of the regions that its receives use} */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /**
     * {@return whether Java writes the ring of this queue itself; see {@link SharedReceiveQueueOptions#direct}}
     */
    public boolean isDirect() {
        return direct != null;
    }

    /** Null if this is not direct. */
    @Nullable
    DirectSharedReceiveQueue direct() {
        return direct;
    }

    /** {@return the type of this queue} */
    public SharedReceiveQueueType type() {
        return type;
    }

    /**
     * {@return the completion queue of an XRC queue, or of the operations and matched messages of a queue with tags;
     * null for a BASIC queue, whose receives complete in the completion queue of the queue pair}
     */
    public @Nullable CompletionQueue completionQueue() {
        return completionQueue;
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
     * Returns the number by which peers of extended reliable connections address this queue; see ibv_get_srq_num(3).
     *
     * @return 24 bits
     * @throws UnsupportedVerbException when the device does not support such numbers
     * @throws VerbsException when the verb fails: with some drivers a BASIC queue has no number
     * @throws IllegalStateException when this is closed
     * @verb ibv_get_srq_num
     */
    public int number() {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment number = temporary.allocate(JAVA_INT);
            enter();
            try {
                context.check(
                        "ibv_get_srq_num",
                        provider.sharedReceiveQueueNumber(address, number.address()),
                        toString(),
                        XrcDomain.CAPABILITY);
            } finally {
                exit();
            }
            return number.get(JAVA_INT, 0);
        }
    }

    /**
     * Queries sizes and limit; see ibv_query_srq(3).
     *
     * @return the attributes
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @verb ibv_query_srq
     */
    public SharedReceiveQueueAttributes query() {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_srq_attr.layout());
            enter();
            try {
                context.check(
                        "ibv_query_srq",
                        provider.querySharedReceiveQueue(address, attributes.address()),
                        toString(),
                        "DeviceAttributes.maxSharedReceiveQueues");
            } finally {
                exit();
            }
            return QueueStructs.readSharedReceiveQueue(attributes);
        }
    }

    /**
     * Changes the maximum number of outstanding receives; see ibv_modify_srq(3). Posted receives stay posted.
     *
     * @param count 1 or more, at least an armed limit, and at least the number of posted receives; {@link
     *     #maxWorkRequests} is at least that afterwards
     * @throws IllegalArgumentException when the number is not positive, or is smaller than the present size on
     *     Soft-RoCE, whose kernel driver frees the queue in use when shrinking fails
     * @throws UnsupportedVerbException when the device does not support resizing shared receive queues
     * @throws VerbsException when the verb fails, for example because the number exceeds the limit of the device
     * @throws IllegalStateException when this is closed
     * @verb ibv_modify_srq
     */
    public void resize(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("count must be positive: " + count);
        }
        resizing.lock();
        try {
            if ("rxe".equals(context.driverName())) {
                int now = query().maxWorkRequests();
                if (count < now && count == maxWorkRequests) {
                    // An earlier call has already grown the queue to this size, and failed when it queried the size.
                    maxWorkRequests = now;
                    return;
                }
                if (count < now) {
                    throw new IllegalArgumentException(
                            "count must not be smaller than the present size on Soft-RoCE, whose driver cannot shrink "
                                    + this + ": " + count + "; create a smaller queue");
                }
            }
            try (Arena temporary = KnownMemory.ofConfined()) {
                MemorySegment attributes = temporary.allocate(ibv_srq_attr.layout());
                ibv_srq_attr.max_wr(attributes, count);
                modify(
                        attributes,
                        rdma_h.IBV_SRQ_MAX_WR(),
                        "DeviceCapability.SRQ_RESIZE in DeviceAttributes.capabilities");
            }
            // The queue has at least this size, should the query fail.
            maxWorkRequests = count;
            maxWorkRequests = Math.max(count, query().maxWorkRequests());
        } finally {
            resizing.unlock();
        }
    }

    /**
     * Requests one event when fewer receives than a limit are left: {@link Context#awaitAsyncEvent} then returns {@link
     * AsyncEventType#SRQ_LIMIT_REACHED}; see ibv_modify_srq(3).
     *
     * @param limit the limit, up to the size of this queue; 0 cancels an earlier request
     * @throws IllegalArgumentException when the number is negative
     * @throws VerbsException when the verb fails, for example because the limit exceeds the size of this queue
     * @throws IllegalStateException when this is closed
     * @verb ibv_modify_srq
     */
    public void armLimit(int limit) {
        if (limit < 0) {
            throw new IllegalArgumentException("limit must not be negative: " + limit);
        }
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_srq_attr.layout());
            ibv_srq_attr.srq_limit(attributes, limit);
            modify(attributes, rdma_h.IBV_SRQ_LIMIT(), "DeviceAttributes.maxSharedReceiveQueues");
        }
    }

    private void modify(MemorySegment attributes, int mask, String capability) {
        enter();
        try {
            int result = provider.modifySharedReceiveQueue(address, attributes.address(), mask);
            if (result < 0) {
                String arguments = this
                        + (mask == rdma_h.IBV_SRQ_LIMIT()
                                ? ", limit " + ibv_srq_attr.srq_limit(attributes)
                                : ", " + ibv_srq_attr.max_wr(attributes) + " work requests");
                throw context.failure("ibv_modify_srq", -result, arguments, this::cureOfModify, capability);
            }
        } finally {
            exit();
        }
    }

    private @Nullable String cureOfModify(int errno) {
        return errno == Errno.EINVAL
                ? "the device allows at most " + context.queryDevice().maxSharedReceiveWorkRequests()
                        + " work requests, and the limit must not exceed the size of the queue"
                : null;
    }

    /**
     * Posts a receive, or a chain of them; see ibv_post_srq_recv(3). Allocates nothing.
     *
     * @param first the work request, with all requests {@linkplain ReceiveWorkRequest#next chained} to it
     * @throws QueueFullException when some or all of the chain did not fit; {@link #firstNotReceiving} returns the
     *     rest, and {@link #tryPostReceive} is this without the exception
     * @throws IllegalArgumentException when the work request belongs to another arena, or has more segments than this
     *     queue takes
     * @throws VerbsException when the driver refuses a work request; those before it in the chain are posted
     * @throws IllegalStateException when this is closed
     * @verb ibv_post_srq_recv
     */
    public void postReceive(ReceiveWorkRequest first) {
        if (tryPostReceive(first) != QueuePair.POSTED) {
            throw QueueFullException.of(
                    "ibv_post_srq_recv",
                    toString(),
                    maxWorkRequests,
                    "wait for messages",
                    "SharedReceiveQueue.tryPostReceive");
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
     * @verb ibv_post_srq_recv
     */
    @CheckReturnValue
    public int tryPostReceive(ReceiveWorkRequest first) {
        int before = enterData();
        try {
            long chain = first.address(this);
            first.firstNotPosted(chain);
            first.checkFits(maxSegments, SEGMENTS_OPTION);
            int result = posting.postSharedReceive(address, chain, first.addressOfFirstNotPosted());
            if (result == QueuePair.POSTED) {
                first.firstNotPosted(0);
            }
            return result == QueuePair.POSTED || result == QueuePair.QUEUE_FULL ? result : refused(result);
        } finally {
            exitData(before);
        }
    }

    private int refused(int result) {
        throw new VerbsException("ibv_post_srq_recv", -result, toString(), null);
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

    /**
     * Changes the tag list of a queue created with {@link SharedReceiveQueueOptions#tagMatching}, by one operation or a
     * chain of them; see ibv_post_srq_ops(3). Allocates nothing.
     *
     * @param first the operation, with all operations {@linkplain TagOperation#next chained} to it; for operations that
     *     add a tag, {@link TagOperation#handle} then returns the handle
     * @throws QueueFullException when there is no room for some or all of the chain, in the queue or in the list of
     *     tags; {@link #firstNotOperated} returns the rest, and {@link #tryPostTagOperation} is this without the
     *     exception
     * @throws IllegalArgumentException when the operation belongs to another arena, has more segments than the device
     *     supports for a tag, or deletes by a handle that cannot be one of this queue
     * @throws UnsupportedVerbException when the device does not support tag matching
     * @throws VerbsException when the driver refuses an operation; those before it in the chain are posted
     * @throws IllegalStateException when this is closed
     * @verb ibv_post_srq_ops
     */
    public void postTagOperation(TagOperation first) {
        if (tryPostTagOperation(first) != QueuePair.POSTED) {
            throw QueueFullException.ofTags(toString(), maxWorkRequests, maxTags);
        }
    }

    /**
     * Changes the tag list as {@link #postTagOperation} does, and returns a constant when there is no room. For programs
     * that expect this. Allocates nothing.
     *
     * @param first the operation, with all operations {@linkplain TagOperation#next chained} to it
     * @return {@link QueuePair#POSTED}, or {@link QueuePair#QUEUE_FULL} when there is no room for some or all of the
     *     chain, in the queue or in the list of tags; {@link #firstNotOperated} returns the rest
     * @throws IllegalArgumentException as {@link #postTagOperation}
     * @throws UnsupportedVerbException when the device does not support tag matching
     * @throws VerbsException as {@link #postTagOperation}, but not when there is no room
     * @throws IllegalStateException when this is closed
     * @verb ibv_post_srq_ops
     */
    @CheckReturnValue
    public int tryPostTagOperation(TagOperation first) {
        int before = enterData();
        try {
            long chain = first.address(this);
            // Drivers without tag matching do not report where they stopped, which is at the first operation.
            first.firstNotPosted(chain);
            if (type == SharedReceiveQueueType.TM) {
                first.check(maxTagSegments, maxTags);
            }
            int result = provider.postSharedOperations(address, chain, first.addressOfFirstNotPosted());
            if (result == QueuePair.POSTED) {
                first.firstNotPosted(0);
            }
            return result == QueuePair.POSTED || result == QueuePair.QUEUE_FULL ? result : operationRefused(result);
        } finally {
            exitData(before);
        }
    }

    private int operationRefused(int result) {
        String cure = type == SharedReceiveQueueType.TM
                ? null
                : "the queue was created without SharedReceiveQueueOptions.tagMatching";
        throw context.failure("ibv_post_srq_ops", -result, toString(), errno -> cure, TAG_MATCHING);
    }

    /**
     * Returns the first operation that was not posted when {@link #postTagOperation} threw, or {@link
     * #tryPostTagOperation} threw or returned {@link QueuePair#QUEUE_FULL}. Valid until the first operation of the chain
     * is posted again.
     *
     * @param first the chain that was posted
     * @return the first operation of it that was not posted, or null when all are posted, or when the driver does not
     *     report it
     * @throws IllegalArgumentException when the operation belongs to another arena
     * @throws IllegalStateException when this is closed
     */
    @CheckReturnValue
    public @Nullable TagOperation firstNotOperated(TagOperation first) {
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

    /** Type, size and device. */
    @Override
    public String toString() {
        return type + " shared receive queue for " + maxWorkRequests + " work requests of " + context;
    }
}
