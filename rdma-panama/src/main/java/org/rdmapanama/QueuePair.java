package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.counts.QueuePairCounts;
import org.rdmapanama.counts.QueuePairTraffic;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.flow.FlowRule;
import org.rdmapanama.internal.OpaqueCount;
import org.rdmapanama.internal.Traffic;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.internal.provider.DirectQueuePair;
import org.rdmapanama.internal.provider.PostVerbs;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.DataInOrder;
import org.rdmapanama.queue.Ece;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairInitialAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.RateLimit;
import org.rdmapanama.queue.WorkRequestOpcode;

/**
 * A queue pair, {@code struct ibv_qp}: a send queue and a receive queue to which work requests are posted.
 *
 * <p>{@snippet :
 * QueuePair qp = pd.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
 * send(qp.localEndpoint());                  // by any means to the other side
 * qp.connect(received());                    // what the other side sent
 * qp.postReceive(receive);
 * qp.postSend(send);
 * }
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread. In a shared arena several threads may post to one queue pair; the
 * device orders what they post. {@link #bindToThread} gives it to one thread.
 */
public sealed class QueuePair extends QueueObject implements EventSource permits ExtendedQueuePair {
    static final Ending ENDING = new Ending("ibv_destroy_qp", ProviderContext::destroyQueuePair);

    /** What {@link #tryPostSend} and its kind return when everything was posted. */
    public static final int POSTED = 0;

    /**
     * What {@link #tryPostSend} and its kind return when the queue was full: poll the completion queue and post the
     * rest again. Polling a completion frees the slot of its request, and those of earlier unsignaled sends. Do not use
     * this for flow control; see {@link #postSend}.
     */
    public static final int QUEUE_FULL = -12;

    private static final int RTS = QueuePairState.RTS.code();
    private static final long STATE = ibv_qp.state$offset();

    private final @Nullable ProtectionDomain protectionDomain;
    private final QueuePairType type;
    private final @Nullable CompletionQueue sendQueue;
    private final @Nullable CompletionQueue receiveQueue;
    private final @Nullable SharedReceiveQueue sharedReceiveQueue;
    private final QueuePairCapabilities capabilities;
    private final int maxTsoHeader;
    private final boolean takesSends;
    private final boolean takesReceives;
    private final MemorySegment struct;

    /** That of a target of the dynamically connected transport changes, once, when the device creates it. */
    private volatile int number;

    /** Null if this is not of the dynamically connected transport. */
    private final @Nullable DcRole role;

    /** Null if the driver posts. */
    private final @Nullable DirectQueuePair direct;

    /** The direct queue pair, or the provider. */
    final PostVerbs posting;

    /** The windows of type 2 that were bound through this. */
    final Set<MemoryWindow> windows = ConcurrentHashMap.newKeySet(2);

    private final MulticastGroups groups;
    private final QueuePairControl control;
    private final Connecting connecting;
    private final FirstFailure failures = new FirstFailure(this);
    private final OpaqueCount postedSends = new OpaqueCount();
    private final OpaqueCount postedReceives = new OpaqueCount();

    /** Null if it is not counted. */
    private final @Nullable Traffic traffic;

    QueuePair(
            Context context,
            @Nullable ProtectionDomain protectionDomain,
            QueuePairOptions options,
            long address,
            QueuePairCapabilities granted,
            @Nullable DcRole role) {
        super(
                context,
                address,
                ClearedQueues.of(options.sendQueue(), options.receiveQueue()),
                parents(context, protectionDomain, options));
        this.protectionDomain = protectionDomain;
        type = options.type();
        sendQueue = options.sendQueue();
        receiveQueue = options.receiveQueue();
        sharedReceiveQueue = options.sharedReceiveQueue();
        capabilities = granted;
        maxTsoHeader = options.maxTsoHeader();
        this.role = role;
        takesSends = sendQueue != null && role == null;
        takesReceives = options.hasReceiveQueue() && !(role instanceof DcRole.Initiator);
        struct = Native.struct(address, ibv_qp.layout());
        number = ibv_qp.qp_num(struct);
        direct = DirectQueues.queuePair(context, protectionDomain, options, address, granted);
        posting = direct == null ? provider : direct;
        traffic = Traffic.COUNTED
                ? new Traffic(granted.maxSendWorkRequests(), options.signalsAll(), takesReceives, failures::completions)
                : null;
        groups = new MulticastGroups(this);
        control = new QueuePairControl(this);
        connecting = new Connecting(this);
    }

    private static VerbsObject[] parents(
            Context context, @Nullable ProtectionDomain protectionDomain, QueuePairOptions options) {
        Set<VerbsObject> parents = new LinkedHashSet<>(options.uses());
        if (protectionDomain != null) {
            parents.add(protectionDomain);
        }
        if (parents.isEmpty()) {
            parents.add(context);
        }
        return parents.toArray(VerbsObject[]::new);
    }

    /**
     * Wraps a queue pair that other code in this process has created.
     *
     * @param protectionDomain the protection domain in which it was created
     * @param sendQueue the completion queue of its sends
     * @param receiveQueue the completion queue of its receives; null if it has none, as with type XRC_SEND
     * @param nativeAddress address of the {@code struct ibv_qp}
     * @param ownership whether closing this object destroys the native one
     * @return the queue pair
     * @throws IllegalArgumentException when the address is 0 or already has a Java object, when the native queue pair
     *     belongs to another protection domain or to other completion queues, when its shared receive queue has no
     *     Java object, or when it is of the dynamically connected transport: see the module of its driver
     * @throws NullPointerException when another argument is null
     * @throws VerbsException when the queue pair cannot be queried
     * @throws IllegalStateException when the protection domain or a completion queue is closed
     */
    @CheckReturnValue
    public static QueuePair ofNativeAddress(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            @Nullable CompletionQueue receiveQueue,
            long nativeAddress,
            Ownership ownership) {
        return QueuePairCreation.wrapPlain(protectionDomain, sendQueue, receiveQueue, nativeAddress, ownership, null);
    }

    /**
     * Wraps a queue pair of type XRC_RECV that other code in this process has created or opened.
     *
     * @param domain the XRC domain of the queue pair
     * @param nativeAddress address of the {@code struct ibv_qp}
     * @param ownership whether closing this object destroys the native one
     * @return the queue pair
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the domain is closed
     */
    @CheckReturnValue
    public static QueuePair ofNativeAddress(XrcDomain domain, long nativeAddress, Ownership ownership) {
        return QueuePairCreation.wrap(domain, nativeAddress, ownership);
    }

    /**
     * {@return the number, 24 bits, by which peers address this queue pair; 0 for a target of the dynamically connected
     * transport before it is in state RTR, in which the device gives it its number}
     */
    public final int number() {
        return number;
    }

    /** {@return the transport service} */
    public final QueuePairType type() {
        return type;
    }

    /** {@return the sizes that the device granted, each at least what was asked for} */
    public final QueuePairCapabilities capabilities() {
        return capabilities;
    }

    /** {@return the protection domain of this queue pair; null if it was opened through an XRC domain} */
    public final @Nullable ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** The protection domain of a queue pair that sends, which has one. */
    final ProtectionDomain domain() {
        return Objects.requireNonNull(protectionDomain);
    }

    /** {@return the completion queue of sends; null if this queue pair sends nothing} */
    public final @Nullable CompletionQueue sendQueue() {
        return sendQueue;
    }

    /**
     * {@return the completion queue of receives; null if this queue pair receives nothing, or through other objects}
     */
    public final @Nullable CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    /**
     * {@return the shared receive queue from which receives are taken; null if the queue pair has its own receive
     * queue}
     */
    public final @Nullable SharedReceiveQueue sharedReceiveQueue() {
        return sharedReceiveQueue;
    }

    /**
     * Returns the state that this side last put the queue pair into; or the state after an error, once a completion with
     * an error status was polled that tells of it. Before that, only {@link #query} tells that the device has moved it to
     * ERR. A queue pair of type UC, UD, RAW_PACKET or DRIVER may be able to continue; the device is asked then.
     *
     * @return the state
     * @throws VerbsException when the device is asked, and the verb fails
     * @throws IllegalStateException when this is closed
     */
    public final QueuePairState state() {
        QueuePairState known = knownState();
        if (failures.get() == null || known == QueuePairState.ERR) {
            return known;
        }
        return failures.failsWithItsWork()
                ? QueuePairState.ERR
                : query(QueuePairAttribute.STATE).state();
    }

    /** The state that this side last put it into. */
    final QueuePairState knownState() {
        enter();
        try {
            return QueuePairState.of(ibv_qp.state(struct));
        } finally {
            exit();
        }
    }

    /**
     * Returns why the queue pair has failed, as far as this side knows: what the first completion with an error status
     * told that was polled from either completion queue, or an event that {@link Context#awaitAsyncEvent} returned.
     * Completions that are flushed afterwards do not replace it. Until the cause is known, it may be a flushed completion;
     * see {@link QueuePairFailure#isCauseKnown}. Moving this to RESET forgets it.
     *
     * <p>An {@link ExtendedCompletionQueue} that several queue pairs share tells it only if it was created with {@link
     * org.rdmapanama.completion.CompletionField#QP_NUM}. Any thread may call this at any time, also after closing.
     *
     * @return the failure; empty if there is none, or if this side itself moved the queue pair to ERR before
     */
    public final Optional<QueuePairFailure> failure() {
        return Optional.ofNullable(failures.get());
    }

    /**
     * Returns what was posted here and what failed. Any thread may call this at any time, also after closing; it takes no
     * lock.
     *
     * @return the counts at this moment
     */
    public final QueuePairCounts counts() {
        return new QueuePairCounts(postedSends.get(), postedReceives.get(), failures.completions());
    }

    /**
     * Returns what this has moved and what is under way. Any thread may call this at any time, also after closing; it takes
     * no lock.
     *
     * @return the counts at this moment; empty unless the program was started with {@code -Dorg.rdmapanama.traffic=true}
     */
    public final Optional<QueuePairTraffic> traffic() {
        return Optional.ofNullable(traffic).map(Traffic::get);
    }

    /** For callers that know that {@link Traffic#COUNTED} is true: otherwise there are none. */
    final Traffic trafficCounts() {
        return Objects.requireNonNull(traffic);
    }

    /** Counts requests that the driver has accepted into the send queue. */
    final void countSends(int requests) {
        postedSends.add(requests);
        if (Traffic.COUNTED) {
            trafficCounts().accepted();
        }
    }

    /** Takes note of the sends of a chain before another one that are about to be posted, or of all if that is null. */
    private void announce(SendWorkRequest first, @Nullable SendWorkRequest end) {
        trafficCounts().begin();
        for (SendWorkRequest request = first; request != null && request != end; request = request.next()) {
            trafficCounts().announce(request.dataLength(), request.isSignaled());
        }
    }

    /**
     * {@return whether Java writes the rings of this queue pair itself; see {@link CompletionQueueOptions#direct}}
     */
    public final boolean isDirect() {
        return direct != null;
    }

    /** Prepares for batches of an extended queue pair, and returns their functions. */
    final SendVerbs sendVerbs() {
        return direct == null ? provider.prepareSendBatches() : direct.sendVerbs();
    }

    /** Null if this is not of the dynamically connected transport. */
    final @Nullable DcRole role() {
        return role;
    }

    /** Called when the device has changed the state, and may have given this a number. */
    final void takeNumber() {
        int now = ibv_qp.qp_num(struct);
        if (now != number) {
            context.renumber(this, () -> {
                connecting.renumber(now);
                number = now;
            });
        }
    }

    /** Called when the device has put this into state RESET. */
    final void wasReset() {
        if (direct != null) {
            direct.cleared(false);
        }
    }

    /** For completions and events that tell of failures. */
    final FirstFailure failures() {
        return failures;
    }

    /** Whether requests of this complete on any queue, with its number: none do before a target has one. */
    final boolean reports() {
        boolean isUnnumbered = role instanceof DcRole.Target && number == 0;
        return (sendQueue != null || receiveQueue != null) && !isUnnumbered;
    }

    @SuppressWarnings("ReferenceEquality") // queues are compared by identity
    final boolean reportsTo(CompletionQueue queue) {
        return sendQueue == queue || receiveQueue == queue;
    }

    /**
     * Queries the attributes from the device; see ibv_query_qp(3).
     *
     * @param wanted the attributes to query; none means all except {@link QueuePairAttribute#RATE_LIMIT}, which few
     *     drivers support. Of a target of the dynamically connected transport these are STATE, ACCESS_FLAGS, PKEY_INDEX,
     *     PORT, PATH_MTU and MIN_RNR_TIMER, once it is in state RTR; drivers tell nothing else of it
     * @return the attributes
     * @throws NullPointerException when one is null
     * @throws IllegalArgumentException when drivers do not tell one of a target
     * @throws UnsupportedVerbException when the driver does not support RATE_LIMIT
     * @throws VerbsException when the verb fails otherwise
     * @throws IllegalStateException when this is closed, or a target that is not in state RTR yet
     *
     * @verb ibv_query_qp
     */
    public final QueuePairAttributes query(QueuePairAttribute... wanted) {
        return control.query(wanted);
    }

    /**
     * Queries from the device what this was created with; see ibv_query_qp(3).
     *
     * @return type and sizes
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed, or a target of the dynamically connected transport that is not in
     *     state RTR yet
     *
     * @verb ibv_query_qp
     */
    public final QueuePairInitialAttributes queryInitial() {
        return control.queryInitial();
    }

    /**
     * Changes attributes, in particular the state; see ibv_modify_qp(3).
     *
     * @param attributes the attributes to change
     * @throws IllegalArgumentException when the transition is not legal, lacks a required attribute, or has one that it
     *     does not take; the message names them
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed, or a {@link ExtendedQueuePair#startWorkRequests batch} is
     *     open; or when the new state is RESET or ERR and another thread has a batch open on a completion queue of this
     *     queue pair and does not end it within two seconds
     *
     * @verb ibv_modify_qp
     */
    public final void modify(QueuePairAttributes attributes) {
        if (attributes.given().contains(QueuePairAttribute.STATE) && attributes.state() == QueuePairState.ERR) {
            failures.ending(() -> control.modify(attributes));
        } else {
            control.modify(attributes);
        }
        failures.modified(attributes);
        if (attributes.given().contains(QueuePairAttribute.STATE)) {
            connecting.stateChanged();
        }
    }

    /** For {@link org.rdmapanama.internal.provider.NativeModify}. */
    final void modify(MemorySegment attributes, int mask) {
        control.modify(attributes, mask);
        failures.modified(attributes, mask);
        connecting.stateChanged();
    }

    /**
     * Returns the endpoint that a peer needs to connect to this queue pair: the one that {@link
     * #localEndpoint(ConnectOptions)} created last. If there is none yet, it is created with default options, for port
     * 1 and the GID of {@link Context#preferredGid(int)}.
     *
     * @return the endpoint, the same one for all calls and threads until another one is created
     * @throws VerbsException when the port is down or has no GID, or too many files are open to choose one (EMFILE)
     * @throws IllegalStateException when this is closed, or a target of the dynamically connected transport that has no
     *     number yet
     */
    public final Endpoint localEndpoint() {
        return connecting.localEndpoint();
    }

    /**
     * Creates the endpoint that a peer needs to connect to this queue pair, with a new first packet sequence number.
     * {@link #localEndpoint()}, {@link #initialize}, {@link #connect}, {@link #activate} and {@link #pathTo} use it and
     * a copy of the options from then on. Earlier endpoints become invalid, so only one thread should create it, once
     * per connection. After a connection has ended it can be called again in state RESET, for the next one.
     *
     * @param options the options, such as port and GID
     * @return a new endpoint
     * @throws IllegalArgumentException when the port does not exist or the GID index is empty
     * @throws NullPointerException when the options are null
     * @throws VerbsException when the port is down or has no GID, or too many files are open to choose one (EMFILE)
     * @throws IllegalStateException when this is closed; or when this is of a connected type and not in state RESET,
     *     and so uses an earlier endpoint; or when this is a target of the dynamically connected transport that has no
     *     number yet
     */
    public final Endpoint localEndpoint(ConnectOptions options) {
        return connecting.localEndpoint(Objects.requireNonNull(options, "options"));
    }

    /**
     * Moves the queue pair from RESET to INIT, with the options of {@link #localEndpoint()}. From then on receives can
     * be posted, so that they are available to a peer that connects first and sends at once. This matters for types
     * without retransmission (UC and UD). {@link #connect} and {@link #activate} do this if necessary.
     *
     * @throws IllegalArgumentException when this is in another state than RESET or INIT
     * @throws VerbsException when a verb fails, or the port is down or has no GID
     * @throws IllegalStateException when this is closed
     */
    public final void initialize() {
        connecting.initialize();
    }

    /**
     * Connects to a peer, with the options of {@link #localEndpoint()}: moves the queue pair from RESET or INIT through
     * RTR to RTS. If that fails on the way, calling this again with the same endpoint continues from there. For another
     * endpoint, even of the same peer, modify the queue pair to RESET first.
     *
     * <p>Both sides use what both support, as far as the {@link Endpoint} of the peer says: the smaller path MTU, where
     * each side offers that of the port or {@link ConnectOptions#pathMtu} if that is less; and no more outstanding RDMA
     * reads and atomics than the other side answers, rounded down to a power of two, as devices need it. To a peer that
     * answers none, one can be posted, and fails there. Values that the peer's endpoint lacks are taken from this side.
     *
     * <p>A send for which the peer has no receive posted is retransmitted forever and never completes, so post receives
     * first. With {@link ConnectOptions#rnrRetry} below 7 it fails instead.
     *
     * <p>A datagram queue pair has no peer; use {@link #activate} for it.
     *
     * @param remote the peer's endpoint
     * @throws IllegalArgumentException when this is a datagram queue pair, or is in another state than RESET, INIT or
     *     RTR
     * @throws VerbsException when a verb fails, for example because the peer's address cannot be resolved; or when this
     *     side's GID cannot reach the peer's, because they differ in the version of RoCE or of IP, or the peer has none; or
     *     when the driver connects through the connection manager only, as those of most iWARP devices do
     * @throws NullPointerException when the endpoint is null
     * @throws IllegalStateException when this is closed; or is in state RTR for another reason than a failed call with
     *     the same endpoint
     */
    public final void connect(Endpoint remote) {
        connecting.connect(Objects.requireNonNull(remote, "remote"));
    }

    /**
     * Returns the path to a peer that {@link #connect} uses, for {@link ProtectionDomain#createAddressHandle}.
     *
     * @param remote the peer's endpoint
     * @return the path, by GID on Ethernet or if a GID index was given, otherwise by LID
     * @throws VerbsException when the port is down or has no GID; or when this side's GID cannot reach the peer's,
     *     because they differ in the version of RoCE or of IP, or the peer has none
     * @throws NullPointerException when the endpoint is null
     * @throws IllegalStateException when this is closed
     */
    public final AddressVector pathTo(Endpoint remote) {
        return connecting.pathTo(Objects.requireNonNull(remote, "remote"));
    }

    /**
     * Activates a queue pair that has no peer, with the options of {@link #localEndpoint()}: one for datagrams, SRD of EFA
     * among them, or raw packets, or of the dynamically connected transport. Moves it from RESET or INIT through RTR to RTS;
     * a target of the dynamically connected transport to RTR, where it receives. If that fails on the way, calling this
     * again continues from there.
     *
     * @throws IllegalArgumentException when this is of another type, or is in another state than RESET, INIT or RTR
     * @throws VerbsException when a verb fails
     * @throws IllegalStateException when this is closed
     */
    public final void activate() {
        connecting.activate();
    }

    /**
     * Activates a queue pair that has no peer, as {@link #activate()} does, with options of its own. They replace those of
     * {@link #localEndpoint()}, and earlier endpoints become invalid. The queue pair must be in state RESET.
     *
     * @param options the options, such as port and GID
     * @throws IllegalArgumentException as {@link #activate()}, or when the port does not exist or the GID index is empty
     * @throws NullPointerException when the options are null
     * @throws VerbsException when a verb fails, or the port is down or has no GID
     * @throws IllegalStateException when this is closed
     */
    public final void activate(ConnectOptions options) {
        connecting.activate(Objects.requireNonNull(options, "options"));
    }

    /**
     * Posts a send, or a chain of them; see ibv_post_send(3). Allocates nothing.
     *
     * <p>Do not rely on a full queue for flow control: some devices free a slot before its completion is polled, and a
     * program that posts until the queue is full can overrun the completion queue. Count the outstanding requests.
     *
     * @param first the work request, with all requests {@linkplain SendWorkRequest#next chained} to it
     * @throws QueueFullException when some or all of the chain did not fit; {@link #firstNotSent} returns the rest, and
     *     {@link #tryPostSend} is this without the exception
     * @throws IllegalArgumentException when the work request belongs to another arena, has more segments, more inline
     *     data or a longer header than this queue pair takes, is a datagram without an address handle of this
     *     protection domain, or binds a memory window of another protection domain or through a queue pair that is not
     *     connected
     * @throws VerbsException when the driver refuses a work request, for example with EINVAL for a misaligned atomic;
     *     those before it in the chain are posted then
     * @throws IllegalStateException when this, a datagram's address handle, or a memory window to be bound or its
     *     region is closed; when this is not yet in state RTS, or of a type without sends; or when a {@link
     *     ExtendedQueuePair#startWorkRequests batch} is open on this
     *
     * @verb ibv_post_send
     */
    public final void postSend(SendWorkRequest first) {
        if (tryPostSend(first) != POSTED) {
            throw sendQueueFull("ibv_post_send", "QueuePair.tryPostSend");
        }
    }

    /**
     * Posts a send, or a chain of them, as {@link #postSend} does, and returns a constant when the queue is full. For
     * programs that expect this. Allocates nothing.
     *
     * @param first the work request, with all requests {@linkplain SendWorkRequest#next chained} to it
     * @return {@link #POSTED}, or {@link #QUEUE_FULL} when some or all of the chain did not fit; {@link #firstNotSent}
     *     returns the rest
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws VerbsException as {@link #postSend}, but not when the queue is full
     * @throws IllegalStateException as {@link #postSend}
     *
     * @verb ibv_post_send
     */
    @CheckReturnValue
    public final int tryPostSend(SendWorkRequest first) {
        int before = enterData();
        try {
            long chain = first.address(this);
            first.firstNotPosted(chain);
            beginCall();
            try {
                return post(first, chain);
            } finally {
                endCall();
            }
        } finally {
            exitData(before);
        }
    }

    /** Returns the exception for a full send queue. */
    final QueueFullException sendQueueFull(String verb, String alternative) {
        return QueueFullException.of(
                verb, "send queue of " + this, capabilities.maxSendWorkRequests(), "poll for completions", alternative);
    }

    private IllegalStateException takesNoSends() {
        return new IllegalStateException(
                role instanceof DcRole.Initiator
                        ? this + " sends to targets, which these work requests cannot name; build sends with"
                                + " ExtendedQueuePair.startWorkRequests and WorkRequestBuilder.toTarget"
                        : this + " has no send queue");
    }

    private int post(SendWorkRequest first, long chain) {
        if (!takesSends) {
            throw takesNoSends();
        }
        int checked = first.checkFits(capabilities, maxTsoHeader);
        boolean binding = checked < 0;
        if (binding) {
            requireConnected();
        }
        int length = Math.abs(checked);
        int result = binding || isAddressed() ? postHolding(first, chain, length) : postChain(first, chain, length);
        return postedOrFull("ibv_post_send", result);
    }

    /** Whether each send must have a destination. */
    final boolean sendsDatagrams() {
        return connecting.sendsDatagrams();
    }

    /** Whether each send must name a target of the dynamically connected transport. */
    final boolean sendsToTargets() {
        return role instanceof DcRole.Initiator;
    }

    /** Whether each send may have a destination, to which drivers follow a pointer. */
    final boolean isAddressed() {
        return type == QueuePairType.UD || type == QueuePairType.DRIVER;
    }

    /**
     * Refuses sends before the queue pair is ready. Drivers check too late or not at all: the requests stay in the
     * queue, even if they refuse them, and are sent once this is connected. On iWARP the kernel connects and does not
     * report it.
     */
    final void requireReadyToSend() {
        int state = Native.getInt(address + STATE);
        if (state < RTS && context.transportType() != TransportType.IWARP) {
            throw new IllegalStateException(this + " is in state " + QueuePairState.of(state)
                    + " and cannot send before RTS; connect or activate it first");
        }
    }

    private int postChain(SendWorkRequest first, long chain, int length) {
        requireReadyToSend();
        if (Traffic.COUNTED) {
            announce(first, null);
        }
        int result = posting.postSend(address, chain, first.addressOfFirstNotPosted());
        if (result == POSTED) {
            first.firstNotPosted(0);
            countSends(length);
        } else {
            if (Traffic.COUNTED) {
                SendWorkRequest rest = ChainedRequest.rest(first);
                announce(first, rest == null ? first : rest);
            }
            countSends(ChainedRequest.countPosted(first));
        }
        return result;
    }

    /** Drivers follow the pointers to other objects when they post, so none may be null or closed meanwhile. */
    private int postHolding(SendWorkRequest first, long chain, int length) {
        SendWorkRequest held = first;
        try {
            for (SendWorkRequest request = first; request != null; request = request.next()) {
                request.hold(this);
                held = request.next();
            }
            int result = postChain(first, chain, length);
            long bad = first.firstNotPosted();
            for (SendWorkRequest request = first;
                    request != null && request.address(this) != bad;
                    request = request.next()) {
                request.posted(this);
            }
            return result;
        } finally {
            for (SendWorkRequest request = first; request != null && request != held; request = request.next()) {
                request.release(this);
            }
        }
    }

    void requireConnected() {
        if (type != QueuePairType.RC && type != QueuePairType.UC && type != QueuePairType.XRC_SEND) {
            throw new IllegalArgumentException("memory windows are bound only through connected queue pairs: " + this);
        }
    }

    /**
     * Posts a request to bind a memory window of type 1 to a part of a region, or, with a binding of length 0, to
     * unbind it; see ibv_bind_mw(3). Windows of type 2 are bound by {@link SendWorkRequest#bindMemoryWindow}.
     *
     * <p>Once this returns, {@link MemoryWindow#rkey()} is the new key. Send it to a peer on this queue pair, or by
     * other means when the binding has completed. If the completion says that the binding failed, restore the old key
     * with {@link MemoryWindow#restoreRkey}.
     *
     * @param window the window
     * @param binding the part to open; with length 0, any part of the region that it is bound to
     * @param id the identifier of the completion, any 64 bits
     * @param signaled whether it generates a completion when it succeeds
     * @throws QueueFullException when the send queue is full, and then nothing was posted; {@link #tryBind} is this
     *     without the exception
     * @throws NullPointerException when the window or the binding is null
     * @throws IllegalArgumentException when the window is of type 2; when it, the region and this are not in the same
     *     protection domain; or when this is of another type than RC, UC and XRC_SEND
     * @throws UnsupportedVerbException when the device does not support memory windows
     * @throws VerbsException when the driver refuses it, for example with EINVAL where a window cannot be ZERO_BASED
     * @throws IllegalStateException when this, the window or the region is closed; when this is not yet in state RTS;
     *     or when a {@link ExtendedQueuePair#startWorkRequests batch} is open on this
     * @verb ibv_bind_mw
     */
    public final void bind(MemoryWindow window, MemoryWindowBinding binding, long id, boolean signaled) {
        if (tryBind(window, binding, id, signaled) != POSTED) {
            throw sendQueueFull("ibv_bind_mw", "QueuePair.tryBind");
        }
    }

    /**
     * Posts a request to bind a memory window of type 1, as {@link #bind} does, and returns a constant when the queue
     * is full.
     *
     * @param window the window
     * @param binding the part to open; with length 0, any part of the region that it is bound to
     * @param id the identifier of the completion, any 64 bits
     * @param signaled whether it generates a completion when it succeeds
     * @return {@link #POSTED}, or {@link #QUEUE_FULL} when nothing was posted
     * @throws NullPointerException when the window or the binding is null
     * @throws IllegalArgumentException as {@link #bind}
     * @throws UnsupportedVerbException when the device does not support memory windows
     * @throws VerbsException as {@link #bind}, but not when the queue is full
     * @throws IllegalStateException as {@link #bind}
     * @verb ibv_bind_mw
     */
    @CheckReturnValue
    public final int tryBind(MemoryWindow window, MemoryWindowBinding binding, long id, boolean signaled) {
        MemoryRegion region = binding.region();
        if (window.type() != MemoryWindowType.TYPE_1) {
            throw new IllegalArgumentException(
                    "window must be of type 1: " + window + "; bind this one with SendWorkRequest.bindMemoryWindow");
        }
        requireConnected();
        window.requireSameDomain(this, region);
        int before = enterData();
        try {
            // This posts to the send queue, whose lock an open batch holds.
            beginCall();
            try {
                requireReadyToSend();
                DirectQueues.refuseWindows(this);
                if (Traffic.COUNTED) {
                    trafficCounts().begin();
                    trafficCounts().announce(0, signaled);
                }
                int result = window.bind(this, binding, id, signaled);
                if (result == POSTED) {
                    countSends(1);
                }
                return result;
            } finally {
                endCall();
            }
        } finally {
            exitData(before);
        }
    }

    /**
     * Posts a receive, or a chain of them; see ibv_post_recv(3). Allocates nothing.
     *
     * @param first the work request, with all requests {@linkplain ReceiveWorkRequest#next chained} to it
     * @throws QueueFullException when some or all of the chain did not fit; {@link #firstNotReceiving} returns the
     *     rest, and {@link #tryPostReceive} is this without the exception
     * @throws IllegalArgumentException when the work request belongs to another arena, or has more segments than this
     *     queue pair takes
     * @throws VerbsException when the driver refuses a work request; those before it in the chain are posted
     * @throws IllegalStateException when this is closed, takes its receives from a shared receive queue, or receives
     *     nothing
     *
     * @verb ibv_post_recv
     */
    public final void postReceive(ReceiveWorkRequest first) {
        if (tryPostReceive(first) != POSTED) {
            throw QueueFullException.of(
                    "ibv_post_recv",
                    "receive queue of " + this,
                    capabilities.maxReceiveWorkRequests(),
                    "wait for messages",
                    "QueuePair.tryPostReceive");
        }
    }

    /**
     * Posts a receive, or a chain of them, as {@link #postReceive} does, and returns a constant when the queue is full.
     * For programs that expect this. Allocates nothing.
     *
     * @param first the work request, with all requests {@linkplain ReceiveWorkRequest#next chained} to it
     * @return {@link #POSTED}, or {@link #QUEUE_FULL} when some or all of the chain did not fit; {@link
     *     #firstNotReceiving} returns the rest
     * @throws IllegalArgumentException as {@link #postReceive}
     * @throws VerbsException as {@link #postReceive}, but not when the queue is full
     * @throws IllegalStateException as {@link #postReceive}
     *
     * @verb ibv_post_recv
     */
    @CheckReturnValue
    public final int tryPostReceive(ReceiveWorkRequest first) {
        int before = enterData();
        try {
            long chain = first.address(this);
            first.firstNotPosted(chain);
            if (!takesReceives) {
                throw noReceiveQueue();
            }
            int length = first.checkFits(capabilities);
            int result = posting.postReceive(address, chain, first.addressOfFirstNotPosted());
            if (result == POSTED) {
                first.firstNotPosted(0);
                countReceives(length);
            } else {
                countReceives(ChainedRequest.countPosted(first));
            }
            return postedOrFull("ibv_post_recv", result);
        } finally {
            exitData(before);
        }
    }

    private void countReceives(int requests) {
        postedReceives.add(requests);
        if (Traffic.COUNTED) {
            trafficCounts().receivesAccepted(requests);
        }
    }

    /** Drivers follow a null pointer when a receive is posted to a queue pair without a receive queue. */
    private IllegalStateException noReceiveQueue() {
        if (role instanceof DcRole.Initiator) {
            return new IllegalStateException(this + " receives nothing; create a target for that");
        }
        return new IllegalStateException(this + " has no receive queue of its own; post to "
                + (sharedReceiveQueue == null
                        ? "the shared receive queue or work queue that its messages go to"
                        : "its shared receive queue with SharedReceiveQueue.postReceive"));
    }

    /**
     * Attaches this to a multicast group, so that it receives the datagrams sent to it; see ibv_attach_mcast(3).
     * Closing this detaches it.
     *
     * <p>Attaching alone may not be enough, because the network must deliver the datagrams. On InfiniBand the subnet
     * administration must have made the group and the port must have joined it; on RoCE the network interface must have
     * joined the group of the same IP address, for example through a {@link java.net.MulticastSocket}.
     *
     * <p>On RoCE the group of an IPv4 address has the GID {@code Gid.of(address)}. To send to a group, create an
     * address handle for its GID and use queue pair number 0xffffff.
     *
     * @param group a GID for which {@link Gid#isMulticast} is true
     * @param lid the group's LID on InfiniBand, 16 bits; 0 on RoCE
     * @throws IllegalArgumentException when this is not a datagram queue pair, the GID is not a multicast group, the
     *     LID has more than 16 bits, or this is attached to the group with another LID
     * @throws VerbsException when the verb fails, for example because the limit of the device is reached
     * @throws UnsupportedVerbException when the device does not support multicast
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_attach_mcast
     */
    public final void attachMulticast(Gid group, int lid) {
        groups.attach(group, lid);
    }

    /**
     * Detaches this from a multicast group; see ibv_detach_mcast(3).
     *
     * @param group the GID that it was attached with
     * @param lid the LID that it was attached with
     * @throws IllegalArgumentException when this is not a datagram queue pair, the GID is not a multicast group, or the
     *     LID has more than 16 bits
     * @throws VerbsException when the verb fails, for example because this is not attached to the group
     * @throws UnsupportedVerbException when the device does not support multicast
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_detach_mcast
     */
    public final void detachMulticast(Gid group, int lid) {
        groups.detach(group, lid);
    }

    /**
     * Steers packets to this; see ibv_create_flow(3). Closing the flow, or this, ends it.
     *
     * @param rule the rule that selects the packets
     * @return the flow
     * @throws IllegalArgumentException when this is of another type than UD and RAW_PACKET, there is no such port, an
     *     action or counters belong to another context, or DONT_TRAP is set on a rule of another type than NORMAL
     * @throws UnsupportedVerbException when the device does not support flow steering
     * @throws VerbsException when the verb fails: EPERM means that the process lacks the permission, EINVAL that the
     *     device cannot match this
     * @throws IllegalStateException when this, an action or counters are closed
     *
     * @verb ibv_create_flow
     */
    @CheckReturnValue
    public final Flow createFlow(FlowRule rule) {
        return Flow.create(this, rule);
    }

    private int postedOrFull(String verb, int result) {
        if (result == POSTED || result == QUEUE_FULL) {
            return result;
        }
        throw refused(verb, result);
    }

    /** Returns the exception for a failed post. */
    final VerbsException refused(String verb, int result) {
        QueuePairState state = QueuePairState.of(ibv_qp.state(struct));
        return new VerbsException(
                verb,
                -result,
                this + " in state " + state,
                direct != null && result == -Errno.EOPNOTSUPP
                        ? "a direct queue pair only sends, receives, writes, reads and does atomics; create it with"
                                + " completion queues that are not direct"
                        : cureOfPost(verb, context().transportType(), state, -result));
    }

    private static @Nullable String cureOfPost(String verb, TransportType transport, QueuePairState state, int errno) {
        if (errno != Errno.EINVAL) {
            return null;
        }
        if (transport == TransportType.IWARP && verb.equals("ibv_post_recv")) {
            return "software iWARP accepts no receive without a segment";
        }
        if (transport == TransportType.IWARP) {
            // The kernel changes the state of the queue pair, so it is not known here.
            return "iWARP has no immediate data, atomics or memory windows, except where a driver adds them, and the queue"
                    + " pair must be connected";
        }
        if (state == QueuePairState.RESET || state == QueuePairState.INIT || state == QueuePairState.RTR) {
            return "connect or activate the queue pair first";
        }
        return "the opcode or an atomic's alignment does not fit this queue pair";
    }

    /**
     * Returns the first request that was not posted when {@link #postSend} threw, or {@link #tryPostSend} threw or
     * returned {@link #QUEUE_FULL}. Valid until the first request of the chain is posted again.
     *
     * @param first the chain that was posted
     * @return the first work request of it that was not posted, or null when all are posted
     * @throws IllegalArgumentException when the work request belongs to another arena
     * @throws IllegalStateException when this is closed
     */
    @CheckReturnValue
    public final @Nullable SendWorkRequest firstNotSent(SendWorkRequest first) {
        checkOpen();
        return ChainedRequest.rest(first, this);
    }

    /**
     * Returns the first request that was not posted when {@link #postReceive} threw, or {@link #tryPostReceive} threw
     * or returned {@link #QUEUE_FULL}. Valid until the first request of the chain is posted again.
     *
     * @param first the chain that was posted
     * @return the first work request of it that was not posted, or null when all are posted, or when the driver does
     *     not report it
     * @throws IllegalArgumentException when the work request belongs to another arena
     * @throws IllegalStateException when this is closed
     */
    @CheckReturnValue
    public final @Nullable ReceiveWorkRequest firstNotReceiving(ReceiveWorkRequest first) {
        checkOpen();
        return ChainedRequest.rest(first, this);
    }

    /**
     * Queries the options of enhanced connection establishment; see ibv_query_ece(3). To agree with a peer, each side
     * sends its options to the other and {@link #setEce sets} the options it received.
     *
     * @return the options of this device, or those that were accepted
     * @throws UnsupportedVerbException when the driver does not support them
     * @throws VerbsException when the verb fails otherwise
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_query_ece
     */
    public final Ece queryEce() {
        return control.queryEce();
    }

    /**
     * Sets the options of enhanced connection establishment, which the following transitions use; see ibv_set_ece(3).
     *
     * @param options the options of the peer
     * @return the options that this side accepted
     * @throws UnsupportedVerbException when the driver does not support options, or the vendor is 0
     * @throws VerbsException when the verb fails otherwise
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_set_ece
     */
    public final Ece setEce(Ece options) {
        return control.setEce(options);
    }

    /**
     * Limits the sending rate; see ibv_modify_qp_rate_limit(3). The queue pair must be in state RTS.
     *
     * @param limit the rate, and the sizes of bursts and packets
     * @throws UnsupportedVerbException when the device does not support packet pacing
     * @throws VerbsException when the verb fails otherwise, for example for a rate that the device does not support
     * @throws IllegalStateException when this is closed, or a {@link ExtendedQueuePair#startWorkRequests batch} is open
     *
     * @verb ibv_modify_qp_rate_limit
     */
    public final void modifyRateLimit(RateLimit limit) {
        control.modifyRateLimit(limit);
    }

    /**
     * Queries whether the data of an operation of the peer becomes visible here in order, so that a program may watch
     * for the last byte; see ibv_query_qp_data_in_order(3). The answer holds for memory that was registered without
     * {@link AccessFlag#RELAXED_ORDERING}, and only x86 guarantees an order. It may change when this is connected.
     *
     * @param opcode the peer's operation, such as RDMA_WRITE; SEND stands for this side's receives
     * @return the guarantees, possibly none
     * @throws NullPointerException when the opcode is null
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_query_qp_data_in_order
     */
    public final Set<DataInOrder> queryDataInOrder(WorkRequestOpcode opcode) {
        return control.queryDataInOrder(opcode);
    }

    /** Whether receives can be posted to this and complete in its completion queue. */
    final boolean takesReceives() {
        return takesReceives && capabilities.maxReceiveWorkRequests() > 0;
    }

    /** Whether sends can be posted to this without a destination. */
    final boolean takesSendsToItsPeer() {
        return takesSends && connecting.hasPeer() && capabilities.maxSendWorkRequests() > 0;
    }

    /** Moves this to the error state, in which all posted requests are flushed. Returns whether that succeeded. */
    boolean fail() {
        return control.fail();
    }

    /**
     * Returns whether work may be outstanding, which is not the case if this never left RESET. A target has none of its own:
     * it sends nothing, and its receives are those of a shared receive queue. Nor has it an error state to move it to.
     */
    boolean mayHaveWork() {
        return !(role instanceof DcRole.Target) && ibv_qp.state(struct) != QueuePairState.RESET.code();
    }

    /** Whether this side has put it there. */
    private boolean isInErrorState() {
        return ibv_qp.state(struct) == QueuePairState.ERR.code();
    }

    @Override
    int destroy() {
        groups.detachAll();
        if (mayHaveWork() && !isInErrorState()) {
            fail();
        }
        // Soft-RoCE's windows of type 2 keep a pointer to the queue pair, which it frees all the same after a while.
        MemoryWindow.closeAll(windows);
        int result = super.destroy();
        if (direct != null && result == 0) {
            direct.cleared(true);
        }
        return result;
    }

    @Override
    void ended() {
        super.ended();
        MemoryWindow.forget(windows, this);
        if (isBorrowed()) {
            // Its owner could not destroy it while it is attached.
            groups.detachAll();
        }
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 1;
    }

    /** Type, number and device. */
    @Override
    public final String toString() {
        String kind = switch (role) {
            case null -> type.toString();
            case DcRole.Initiator initiator -> "DC initiator";
            case DcRole.Target target -> "DC target";
        };
        return "%s queue pair 0x%06x of %s".formatted(kind, number, context);
    }
}
