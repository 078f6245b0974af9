package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.ffm.verbs.ibv_device_attr;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_tm_caps;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A shared receive queue, {@code struct ibv_srq}: receives for any number of queue pairs, each of which takes the next
 * one when a message comes.
 *
 * <p>{@snippet :
 * SharedReceiveQueue receives = pd.createSharedReceiveQueue(new SharedReceiveQueueOptions());
 * receives.postReceive(ReceiveWorkRequest.allocate(arena, 1).id(1).add(region, 0, 4096));
 * QueuePair qp = pd.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue).sharedReceiveQueue(receives));
 * }
 *
 * <p>A receive completes in the receive completion queue of the queue pair that took it;
 * {@link WorkCompletions#queuePairNumber} tells which one that was. The data lands in regions of the protection domain
 * of this queue, with Soft-RoCE in those of the protection domain of the queue pair: better have them in one. A queue
 * pair that goes to the error state flushes none of the receives here: they stay for the others,
 * and closing this drops them without completions. So this is closed after the queue pairs that use it, and before
 * the regions that its receives point to.
 *
 * <p>Threads: as its {@link VerbsArena} says. In a shared arena several threads may post.
 */
public final class SharedReceiveQueue extends ContextObject {
    static final Ending ENDING = new Ending("ibv_destroy_srq", ProviderContext::destroySharedReceiveQueue);

    private static final String TAG_MATCHING = "DeviceAttributes.tagMatching";
    private static final String SEGMENTS_OPTION = "SharedReceiveQueueOptions.maxSegments";

    private final ProtectionDomain protectionDomain;
    private final SharedReceiveQueueType type;
    private final CompletionQueue completionQueue;
    private final int maxSegments;
    private final int maxTags;
    private final int maxTagSegments;

    private volatile int maxWorkRequests;

    /** So that the size told last is the one that the driver changed last. */
    private final ReentrantLock resizing = new ReentrantLock();

    private SharedReceiveQueue(
            ProtectionDomain protectionDomain,
            SharedReceiveQueueOptions options,
            long address,
            MemorySegment granted,
            int maxTagSegments) {
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
    }

    private static CompletionQueue completionQueue(SharedReceiveQueueOptions options) {
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
        return options.type() == SharedReceiveQueueType.BASIC
                ? createBasic(protectionDomain, options)
                : createExtended(protectionDomain, options);
    }

    private static SharedReceiveQueue createBasic(
            ProtectionDomain protectionDomain, SharedReceiveQueueOptions options) {
        Context context = protectionDomain.context;
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_srq_init_attr.layout());
            options.writeBasic(attributes);
            return context.create(
                    "ibv_create_srq",
                    ENDING,
                    options.toString(),
                    errno -> cureOfCreate(context, errno),
                    "DeviceAttributes.maxSharedReceiveQueues",
                    () -> {
                        checkUsable(protectionDomain, options);
                        return context.provider()
                                .createSharedReceiveQueue(protectionDomain.address, attributes.address());
                    },
                    srq -> new SharedReceiveQueue(
                            protectionDomain, options, srq, ibv_srq_init_attr.attr(attributes), 0));
        }
    }

    private static SharedReceiveQueue createExtended(
            ProtectionDomain protectionDomain, SharedReceiveQueueOptions options) {
        Context context = protectionDomain.context;
        boolean tags = options.type() == SharedReceiveQueueType.TM;
        String capability = tags ? TAG_MATCHING : XrcDomain.CAPABILITY;
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment device = temporary.allocate(ibv_device_attr_ex.layout());
            MemorySegment attributes = temporary.allocate(ibv_srq_init_attr_ex.layout());
            options.writeExtended(attributes, protectionDomain);
            return context.create(
                    "ibv_create_srq_ex",
                    ENDING,
                    options.toString(),
                    errno -> cureOfCreate(context, errno),
                    capability,
                    () -> {
                        checkUsable(protectionDomain, options);
                        boolean known = context.provider().queryDevice(device.address()) >= 0;
                        long srq = context.provider().createExtendedSharedReceiveQueue(attributes.address());
                        if (srq < 0 && known && !(tags ? hasTagMatching(device) : hasXrc(device))) {
                            // Drivers do not agree on what to report here: some say EINVAL, some nothing.
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
                            maxTagSegments(device)));
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

    private static String cureOfCreate(Context context, int errno) {
        if (errno == Errno.EINVAL.number) {
            DeviceAttributes device = context.queryDevice();
            return "the device allows " + device.maxSharedReceiveWorkRequests() + " work requests and "
                    + device.maxSharedReceiveSegments() + " segments at most";
        }
        if (errno == Errno.ENOMEM.number) {
            return RegistrableMemory.cureOfTooMany("shared receive queues");
        }
        return null;
    }

    /**
     * Makes a shared receive queue for an ordinary one that other code of this process has made.
     *
     * @param protectionDomain what it was made in
     * @param nativeAddress address of the {@code struct ibv_srq}
     * @param ownership whether closing this object ends the native one
     * @return the queue, with the sizes that the device reports
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws VerbsException when the device does not tell the sizes
     * @throws IllegalStateException when the protection domain is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static SharedReceiveQueue ofNativeAddress(
            ProtectionDomain protectionDomain, long nativeAddress, Ownership ownership) {
        return ofNativeAddress(protectionDomain, new SharedReceiveQueueOptions(), nativeAddress, ownership);
    }

    /**
     * Makes a shared receive queue for one of any type that other code of this process has made.
     *
     * @param protectionDomain what it was made in
     * @param options what it was made with; its numbers of work requests and segments do not count here, because the
     *     device is asked for them
     * @param nativeAddress address of the {@code struct ibv_srq}
     * @param ownership whether closing this object ends the native one
     * @return the queue
     * @throws IllegalArgumentException when the address is 0 or has an object already, or what the options name
     *     belongs to another context
     * @throws NullPointerException when an argument is null
     * @throws VerbsException when the device does not tell the sizes
     * @throws IllegalStateException when the protection domain, or what the options name, is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static SharedReceiveQueue ofNativeAddress(
            ProtectionDomain protectionDomain,
            SharedReceiveQueueOptions options,
            long nativeAddress,
            Ownership ownership) {
        requireSameContext(protectionDomain, options);
        Context context = protectionDomain.context;
        try (Arena temporary = Arena.ofConfined()) {
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
                return new SharedReceiveQueue(protectionDomain, options, srq, sizes, maxTagSegments(device));
            });
        }
    }

    /**
     * The protection domain that this, and the regions of its receives, belong to.
     *
     * @return the protection domain
     */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /**
     * What this is for.
     *
     * @return the type
     */
    public SharedReceiveQueueType type() {
        return type;
    }

    /**
     * Where receives of an XRC queue, or operations and matched messages of a queue with tags, complete.
     *
     * @return the completion queue, or null for a BASIC one, whose receives complete where the queue pair says
     */
    public CompletionQueue completionQueue() {
        return completionQueue;
    }

    /**
     * How many receives may be outstanding.
     *
     * @return at least what was asked for
     */
    public int maxWorkRequests() {
        return maxWorkRequests;
    }

    /**
     * How many segments one receive may have.
     *
     * @return at least what was asked for
     */
    public int maxSegments() {
        return maxSegments;
    }

    /**
     * Number by which peers of extended reliable connections name this queue; see ibv_get_srq_num(3).
     *
     * @return 24 bits
     * @throws UnsupportedVerbException when the device has no such numbers
     * @throws VerbsException when the verb fails: with some drivers a BASIC queue has no number
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_get_srq_num
     */
    public int number() {
        try (Arena temporary = Arena.ofConfined()) {
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
     * Asks the device for sizes and limit; see ibv_query_srq(3).
     *
     * @return the attributes
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_query_srq
     */
    public SharedReceiveQueueAttributes query() {
        try (Arena temporary = Arena.ofConfined()) {
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
            return SharedReceiveQueueAttributes.read(attributes);
        }
    }

    /**
     * Changes how many receives may be outstanding; see ibv_modify_srq(3). What is posted stays posted.
     *
     * @param count 1 or more, not below an armed limit, and not below what is posted; {@link #maxWorkRequests} is at
     *     least that afterwards
     * @throws IllegalArgumentException when the number is not positive, or is smaller than the present size on
     *     Soft-RoCE, whose kernel driver frees the queue that it cannot shrink while it is in use
     * @throws UnsupportedVerbException when the device cannot resize shared receive queues
     * @throws VerbsException when the verb fails, for example because the number exceeds the device
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_modify_srq
     */
    public void resize(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("a shared receive queue has room for one receive at least: " + count);
        }
        resizing.lock();
        try {
            if ("rxe".equals(context.driverName())) {
                int now = query().maxWorkRequests();
                if (count < now && count == maxWorkRequests) {
                    // It has grown to this already, in a call that failed when it asked for the size.
                    maxWorkRequests = now;
                    return;
                }
                if (count < now) {
                    throw new IllegalArgumentException(
                            "a shared receive queue of Soft-RoCE only grows: make a smaller one instead of shrinking "
                                    + this + " to " + count);
                }
            }
            try (Arena temporary = Arena.ofConfined()) {
                MemorySegment attributes = temporary.allocate(ibv_srq_attr.layout());
                ibv_srq_attr.max_wr(attributes, count);
                modify(
                        attributes,
                        rdma_h.IBV_SRQ_MAX_WR(),
                        "DeviceCapability.SRQ_RESIZE in DeviceAttributes.capabilities");
            }
            // So many at least, should asking fail.
            maxWorkRequests = count;
            maxWorkRequests = Math.max(count, query().maxWorkRequests());
        } finally {
            resizing.unlock();
        }
    }

    /**
     * Asks to be told, once, when fewer receives than this are left: {@link Context#awaitAsyncEvent} gives
     * {@link AsyncEventType#SRQ_LIMIT_REACHED} then; see ibv_modify_srq(3).
     *
     * @param limit the number, up to the size of this queue; 0 takes an earlier request back
     * @throws IllegalArgumentException when the number is negative
     * @throws VerbsException when the verb fails, for example because the number is larger than this queue
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_modify_srq
     */
    public void armLimit(int limit) {
        if (limit < 0) {
            throw new IllegalArgumentException("fewer than no receives cannot be left: " + limit);
        }
        try (Arena temporary = Arena.ofConfined()) {
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

    private String cureOfModify(int errno) {
        return errno == Errno.EINVAL.number
                ? "the device allows " + context.queryDevice().maxSharedReceiveWorkRequests()
                        + " work requests at most, and the limit is not above the size of the queue"
                : null;
    }

    /**
     * Posts a receive, or a chain of them; see ibv_post_srq_recv(3). Allocates nothing.
     *
     * @param first the work request, with whatever is {@link ReceiveWorkRequest#next chained} behind it
     * @return {@link QueuePair#POSTED}, or {@link QueuePair#QUEUE_FULL} when some or all of the chain did not fit;
     *     {@link #firstNotReceiving} tells from where
     * @throws IllegalArgumentException when the work request belongs to another arena, or has more segments than this
     *     queue takes
     * @throws VerbsException when the driver refuses a work request; those before it in the chain are posted
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_post_srq_recv
     */
    public int postReceive(ReceiveWorkRequest first) {
        enter();
        try {
            long chain = first.address(arena);
            first.firstNotPosted(chain);
            first.checkFits(maxSegments, SEGMENTS_OPTION);
            int result = provider.postSharedReceive(address, chain, first.addressOfFirstNotPosted());
            if (result == QueuePair.POSTED) {
                first.firstNotPosted(0);
            }
            return result == QueuePair.POSTED || result == QueuePair.QUEUE_FULL ? result : refused(result);
        } finally {
            exit();
        }
    }

    private int refused(int result) {
        throw new VerbsException("ibv_post_srq_recv", -result, toString(), null);
    }

    /**
     * Where posting a chain stopped when {@link #postReceive} returned {@link QueuePair#QUEUE_FULL} or threw, until its
     * first work request is posted again.
     *
     * @param first the chain that was posted
     * @return the first work request of it that was not posted, or null when all are posted, or when the driver refused
     *     without saying which
     * @throws IllegalArgumentException when the work request belongs to another arena
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public ReceiveWorkRequest firstNotReceiving(ReceiveWorkRequest first) {
        checkOpen();
        return first.find(arena, first.firstNotPosted());
    }

    /**
     * Changes the list of tags of a queue made for {@link SharedReceiveQueueOptions#tagMatching}, by one operation or
     * a chain of them; see ibv_post_srq_ops(3). Allocates nothing.
     *
     * @param first the operation, with whatever is {@link TagOperation#next chained} behind it; of those that add a
     *     tag, {@link TagOperation#handle} then gives the handle
     * @return {@link QueuePair#POSTED}, or {@link QueuePair#QUEUE_FULL} when there is no room for some or all of the
     *     chain, in the queue or in the list of tags; {@link #firstNotOperated} tells from where
     * @throws IllegalArgumentException when the operation belongs to another arena, has more segments than the device
     *     takes for a tag, or deletes by a handle that cannot be one of this queue
     * @throws UnsupportedVerbException when the device has no tag matching
     * @throws VerbsException when the driver refuses an operation; those before it in the chain are posted
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_post_srq_ops
     */
    public int postTagOperation(TagOperation first) {
        enter();
        try {
            long chain = first.address(arena);
            // Drivers without tag matching do not say where they stopped: at the first.
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
            exit();
        }
    }

    private int operationRefused(int result) {
        String cure = type == SharedReceiveQueueType.TM
                ? null
                : "the queue was made without SharedReceiveQueueOptions.tagMatching";
        throw context.failure("ibv_post_srq_ops", -result, toString(), errno -> cure, TAG_MATCHING);
    }

    /**
     * Where posting a chain stopped when {@link #postTagOperation} returned {@link QueuePair#QUEUE_FULL} or threw, until
     * its first operation is posted again.
     *
     * @param first the chain that was posted
     * @return the first operation of it that was not posted, or null when all are posted, or when the driver refused
     *     without saying which
     * @throws IllegalArgumentException when the operation belongs to another arena
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public TagOperation firstNotOperated(TagOperation first) {
        checkOpen();
        return first.find(arena, first.firstNotPosted());
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
