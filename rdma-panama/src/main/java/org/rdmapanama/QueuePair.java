package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.rdmapanama.ffm.verbs.ibv_mw_bind;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.rdma_h;

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
 * <p>Threads: as its {@link VerbsArena} says. In a shared arena several threads may post to one queue pair; the device
 * orders what they post.
 */
public final class QueuePair extends ContextObject {
    /** What posting returns when all was posted. */
    public static final int POSTED = 0;

    /** What posting returns when the queue was full: poll the completion queue and post the rest again. */
    public static final int QUEUE_FULL = -12;

    private static final int MAX_PSN = 0xff_ffff;

    private final ProtectionDomain protectionDomain;
    private final QueuePairType type;
    private final CompletionQueue sendQueue;
    private final CompletionQueue receiveQueue;
    private final QueuePairCapabilities capabilities;
    private final int number;
    private final MemorySegment struct;

    /** Where the driver writes the address of the first work request that it did not post: a send, a receive. */
    private final MemorySegment firstNotPosted;

    private final long notSent;
    private final long notReceived;

    /** Windows of type 2 that were bound through this. */
    final Set<MemoryWindow> windows = ConcurrentHashMap.newKeySet(2);

    private ConnectOptions localOptions;
    private Endpoint localEndpoint;
    private int localGidIndex;

    private QueuePair(
            ProtectionDomain protectionDomain, QueuePairOptions options, long address, QueuePairCapabilities granted) {
        super(protectionDomain.context, address, protectionDomain, options.sendQueue(), options.receiveQueue());
        this.protectionDomain = protectionDomain;
        type = options.type();
        sendQueue = options.sendQueue();
        receiveQueue = options.receiveQueue();
        capabilities = granted;
        struct = Native.struct(address, ibv_qp.layout());
        number = ibv_qp.qp_num(struct);
        firstNotPosted = arena.allocate(JAVA_LONG, 2);
        notSent = firstNotPosted.address();
        notReceived = notSent + JAVA_LONG.byteSize();
    }

    static QueuePair create(ProtectionDomain protectionDomain, QueuePairOptions options) {
        protectionDomain.requireSameContext(options.sendQueue());
        protectionDomain.requireSameContext(options.receiveQueue());
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_init_attr.layout());
            options.write(attributes);
            return protectionDomain.context.create(
                    "ibv_create_qp",
                    options.toString(),
                    errno -> cureOfCreate(protectionDomain.context, errno),
                    options.type().capability(),
                    () -> {
                        protectionDomain.checkOpen();
                        options.sendQueue().checkOpen();
                        options.receiveQueue().checkOpen();
                        return protectionDomain.provider.createQueuePair(
                                protectionDomain.address, attributes.address());
                    },
                    qp -> new QueuePair(
                            protectionDomain,
                            options,
                            qp,
                            QueuePairCapabilities.read(ibv_qp_init_attr.cap(attributes))));
        }
    }

    private static String cureOfCreate(Context context, int errno) {
        if (errno == Errno.EINVAL.number) {
            DeviceAttributes device = context.queryDevice();
            return "the device allows " + device.maxWorkRequests() + " work requests and " + device.maxSegments()
                    + " segments at most, and may allow less inline data";
        }
        if (errno == Errno.ENOMEM.number) {
            return "the device is out of queue pairs, or the limit of locked memory (RLIMIT_MEMLOCK), "
                    + RegistrableMemory.lockedMemoryLimit() + ", is too low: see 'ulimit -l'";
        }
        return null;
    }

    /**
     * Number by which peers know this queue pair.
     *
     * @return 24 bits
     */
    public int number() {
        return number;
    }

    /**
     * Its transport service.
     *
     * @return the type
     */
    public QueuePairType type() {
        return type;
    }

    /**
     * Its sizes, as the device granted them.
     *
     * @return at least what was asked for
     */
    public QueuePairCapabilities capabilities() {
        return capabilities;
    }

    /**
     * The protection domain that this belongs to.
     *
     * @return the protection domain
     */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /**
     * Where sends complete.
     *
     * @return the completion queue
     */
    public CompletionQueue sendQueue() {
        return sendQueue;
    }

    /**
     * Where receives complete.
     *
     * @return the completion queue
     */
    public CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    /**
     * The state that this side last put the queue pair into. After an error the device moves it to ERR by itself,
     * which only {@link #query} tells.
     *
     * @return the state
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public QueuePairState state() {
        enter();
        try {
            return QueuePairState.of(ibv_qp.state(struct));
        } finally {
            exit();
        }
    }

    /**
     * Asks the device for the attributes; see ibv_query_qp(3).
     *
     * @param wanted which to ask for; none means all but {@link QueuePairAttribute#RATE_LIMIT}, which few drivers know
     * @return the attributes
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public QueuePairAttributes query(QueuePairAttribute... wanted) {
        Set<QueuePairAttribute> asked = EnumSet.complementOf(EnumSet.of(QueuePairAttribute.RATE_LIMIT));
        if (wanted.length > 0) {
            asked.clear();
            asked.addAll(Arrays.asList(wanted));
        }
        int mask = QueuePairAttribute.mask(asked);
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_attr.layout());
            MemorySegment initial = temporary.allocate(ibv_qp_init_attr.layout());
            enter();
            try {
                check("ibv_query_qp", provider.queryQueuePair(address, attributes.address(), mask, initial.address()));
            } finally {
                exit();
            }
            return QueuePairAttributes.read(attributes, asked);
        }
    }

    /**
     * Changes attributes, above all the state; see ibv_modify_qp(3).
     *
     * @param attributes what to change, and which
     * @throws IllegalArgumentException when the transition is not legal, an attribute that it needs is missing, or one
     *     is given that it does not take; the message names them
     * @throws VerbsException when the verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public void modify(QueuePairAttributes attributes) {
        // iWARP has states, but attributes of its own: its driver checks them.
        if (context.transportType() != TransportType.IWARP) {
            QueuePairTransitions.check(type, state(), attributes);
        }
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment encoded = temporary.allocate(ibv_qp_attr.layout());
            attributes.write(encoded);
            enter();
            try {
                int result = provider.modifyQueuePair(
                        address, encoded.address(), QueuePairAttribute.mask(attributes.given()));
                if (result < 0) {
                    throw new VerbsException("ibv_modify_qp", -result, this + ", " + attributes, cureOfModify(-result));
                }
            } finally {
                exit();
            }
        }
    }

    private static String cureOfModify(int errno) {
        if (errno == Errno.ETIMEDOUT.number
                || errno == Errno.ENETUNREACH.number
                || errno == Errno.EHOSTUNREACH.number) {
            return "the peer's address cannot be resolved: check it and the route to it";
        }
        return null;
    }

    /**
     * What a peer must know to connect to this queue pair, with everything chosen: port 1 and the GID of
     * {@link Context#preferredGid}.
     *
     * @return the endpoint; the same one each time
     * @throws VerbsException when the port is down or has no GID
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public Endpoint localEndpoint() {
        return localEndpoint == null ? localEndpoint(new ConnectOptions()) : localEndpoint;
    }

    /**
     * What a peer must know to connect to this queue pair. {@link #connect} goes by the same options.
     *
     * @param options which port, which GID
     * @return the endpoint, with a first packet sequence number of its own
     * @throws IllegalArgumentException when the port does not exist or the GID index is empty
     * @throws VerbsException when the port is down or has no GID
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public Endpoint localEndpoint(ConnectOptions options) {
        PortAttributes port = requireUp(options.port());
        int gidIndex = chooseGid(options, port);
        Gid gid =
                gidIndex < 0 ? Gid.ZERO : context.gid(options.port(), gidIndex).gid();
        localOptions = options;
        localGidIndex = gidIndex;
        localEndpoint =
                new Endpoint(port.lid(), number, ThreadLocalRandom.current().nextInt(MAX_PSN + 1), gid);
        return localEndpoint;
    }

    private PortAttributes requireUp(int portNumber) {
        PortAttributes port = context.queryPort(portNumber);
        if (!port.isUp()) {
            throw new VerbsException(
                    "ibv_query_port",
                    Errno.ENETDOWN.number,
                    context + ", port " + portNumber,
                    port.state() == PortState.DOWN
                            ? "the port is down: check the cable, or bring its network device up with"
                                    + " 'ip link set DEVICE up'"
                            : "the port is in state " + port.state() + ": an InfiniBand port waits there for a subnet"
                                    + " manager");
        }
        return port;
    }

    /** The GID to use, or -1 where LIDs do. Chosen once: the table may change before the peer has answered. */
    private int chooseGid(ConnectOptions options, PortAttributes port) {
        if (options.gidIndex() >= 0 || !port.needsGid(context.nodeType())) {
            return options.gidIndex();
        }
        return context.preferredGid(options.port())
                .orElseThrow(() -> new VerbsException(
                        "ibv_query_gid_table",
                        Errno.ENODATA.number,
                        context + ", port " + options.port(),
                        "the port has no GID: give its network device an IP address"))
                .index();
    }

    /**
     * Takes the queue pair from RESET to INIT, with what {@link #localEndpoint()} was made with. From then on receives
     * can be posted: a peer that connects first and sends at once finds them, which matters where nothing is sent again
     * (UC and UD). {@link #connect} and {@link #activate} do this by themselves when it has not been done.
     *
     * @throws IllegalArgumentException when this is in another state than RESET or INIT
     * @throws VerbsException when a verb fails, or the port is down or has no GID
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public void initialize() {
        localEndpoint();
        QueuePairAttributes attributes = new QueuePairAttributes()
                .state(QueuePairState.INIT)
                .pkeyIndex(localOptions.pkeyIndex())
                .port(localOptions.port());
        if (type == QueuePairType.UD) {
            attributes.qkey(localOptions.qkey());
        } else {
            attributes.accessFlags(remoteAccess(localOptions, context.queryDevice()));
        }
        modify(attributes);
    }

    private void initializeIfReset() {
        if (state() == QueuePairState.RESET) {
            initialize();
        }
    }

    /**
     * Connects to a peer, with what {@link #localEndpoint()} was made with: takes the queue pair from RESET or INIT
     * through RTR to RTS.
     *
     * <p>A datagram queue pair has no peer; for it there is {@link #activate}.
     *
     * @param remote the peer's endpoint
     * @throws IllegalArgumentException when this is a datagram queue pair, or is in another state than RESET or INIT
     * @throws VerbsException when a verb fails, for example because the peer's address cannot be resolved
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public void connect(Endpoint remote) {
        Objects.requireNonNull(remote, "remote");
        if (type != QueuePairType.RC && type != QueuePairType.UC) {
            throw new IllegalArgumentException("a " + type + " queue pair has no single peer: activate it instead");
        }
        Endpoint local = localEndpoint();
        ConnectOptions options = localOptions;
        boolean reliable = type == QueuePairType.RC;
        PortAttributes port = requireUp(options.port());
        DeviceAttributes device = context.queryDevice();

        initializeIfReset();

        QueuePairAttributes receiving = new QueuePairAttributes()
                .state(QueuePairState.RTR)
                .pathMtu(options.pathMtu() == null ? activeMtu(port) : options.pathMtu())
                .destinationQueuePair(remote.queuePairNumber())
                .receivePsn(remote.packetSequenceNumber())
                .addressVector(pathTo(remote));
        if (reliable) {
            receiving
                    .maxReadAtomicAsTarget(Math.min(options.maxReadAtomic(), device.maxReadAtomicAsTarget()))
                    .minRnrTimer(options.minRnrTimer());
        }
        modify(receiving);

        QueuePairAttributes sending =
                new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(local.packetSequenceNumber());
        if (reliable) {
            sending.timeout(options.timeout())
                    .retryCount(options.retryCount())
                    .rnrRetry(options.rnrRetry())
                    .maxReadAtomicAsInitiator(Math.min(options.maxReadAtomic(), device.maxReadAtomicAsInitiator()));
        }
        modify(sending);
    }

    /** Some devices refuse the flag for what they cannot do. */
    private static Set<AccessFlag> remoteAccess(ConnectOptions options, DeviceAttributes device) {
        Set<AccessFlag> access = EnumSet.noneOf(AccessFlag.class);
        access.addAll(options.remoteAccessFlags());
        if (device.atomicCapability() == AtomicCapability.NONE) {
            access.remove(AccessFlag.REMOTE_ATOMIC);
        }
        return access;
    }

    /** A port that does not tell its MTU gets the one that every path has. */
    private static Mtu activeMtu(PortAttributes port) {
        return port.activeMtu() == null ? Mtu.BYTES_256 : port.activeMtu();
    }

    /**
     * The way to a peer as {@link #connect} takes it, for {@link ProtectionDomain#createAddressHandle}.
     *
     * @param remote the peer's endpoint
     * @return the way, by GID on Ethernet or when a GID index was given, by LID otherwise
     * @throws VerbsException when the port is down or has no GID
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public AddressVector pathTo(Endpoint remote) {
        localEndpoint();
        return new AddressVector(
                localOptions.port(),
                remote.lid(),
                localGidIndex >= 0,
                remote.gid(),
                Math.max(localGidIndex, 0),
                localOptions.hopLimit(),
                localOptions.trafficClass(),
                0,
                localOptions.serviceLevel());
    }

    /**
     * Makes a datagram queue pair ready, with what {@link #localEndpoint()} was made with: takes it from RESET or INIT
     * through RTR to RTS.
     *
     * @throws IllegalArgumentException when this is no datagram queue pair, or is in another state than RESET or INIT
     * @throws VerbsException when a verb fails
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public void activate() {
        if (type != QueuePairType.UD) {
            throw new IllegalArgumentException("a " + type + " queue pair needs a peer: connect it instead");
        }
        Endpoint local = localEndpoint();
        initializeIfReset();
        modify(new QueuePairAttributes().state(QueuePairState.RTR));
        modify(new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(local.packetSequenceNumber()));
    }

    /**
     * Posts a send, or a chain of them; see ibv_post_send(3). Allocates nothing.
     *
     * <p>A full queue is no flow control: some devices free a place before its completion is polled, and whoever posts
     * until the queue is full can overrun the completion queue. Count what is outstanding.
     *
     * @param first the work request, with whatever is {@link SendWorkRequest#next chained} behind it
     * @return {@link #POSTED}, or {@link #QUEUE_FULL} when some or all of the chain did not fit;
     *     {@link #firstNotSent} tells from where
     * @throws IllegalArgumentException when the work request belongs to another arena, has more segments or more inline
     *     data than this queue pair takes, is a datagram without an address handle of this protection domain, or binds a
     *     memory window of another protection domain or through a queue pair that is not connected
     * @throws VerbsException when the driver refuses a work request, for example with EINVAL for a misaligned atomic;
     *     those before it in the chain are posted
     * @throws IllegalStateException when this, a datagram's address handle, or a memory window to be bound or its region
     *     is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public int postSend(SendWorkRequest first) {
        enter();
        try {
            long chain = first.address(arena);
            first.checkFits(capabilities);
            if (first.bindsWindows()) {
                return postBindings(first);
            }
            if (type == QueuePairType.UD) {
                return postDatagrams(first);
            }
            int result = provider.postSend(address, chain, notSent);
            return result == 0 || result == QUEUE_FULL ? result : refused("ibv_post_send", result);
        } finally {
            exit();
        }
    }

    /** Drivers follow the pointer to an address handle when they post: none may be missing, or go meanwhile. */
    private int postDatagrams(SendWorkRequest first) {
        SendWorkRequest held = first;
        try {
            for (SendWorkRequest request = first; request != null; request = request.next()) {
                request.holdAddressHandle(protectionDomain);
                held = request.next();
            }
            int result = provider.postSend(address, first.address(arena), notSent);
            return result == 0 || result == QUEUE_FULL ? result : refused("ibv_post_send", result);
        } finally {
            for (SendWorkRequest request = first; request != held; request = request.next()) {
                request.releaseAddressHandle();
            }
        }
    }

    /** Drivers follow the pointers to a window and its region when they post: neither may go meanwhile. */
    private int postBindings(SendWorkRequest first) {
        requireConnected();
        SendWorkRequest held = first;
        try {
            for (SendWorkRequest request = first; request != null; request = request.next()) {
                request.holdWindow(this);
                held = request.next();
            }
            firstNotPosted.setAtIndex(JAVA_LONG, 0, first.address(arena));
            int result = provider.postSend(address, first.address(arena), notSent);
            long bad = result == 0 ? 0 : firstNotPosted.getAtIndex(JAVA_LONG, 0);
            for (SendWorkRequest request = first;
                    request != null && request.address(arena) != bad;
                    request = request.next()) {
                request.windowBound();
            }
            return result == 0 || result == QUEUE_FULL ? result : refused("ibv_post_send", result);
        } finally {
            for (SendWorkRequest request = first; request != held; request = request.next()) {
                request.releaseWindow();
            }
        }
    }

    private void requireConnected() {
        if (type != QueuePairType.RC && type != QueuePairType.UC && type != QueuePairType.XRC_SEND) {
            throw new IllegalArgumentException("memory windows are bound through connected queue pairs, not " + this);
        }
    }

    /**
     * Posts a request to bind a memory window of type 1 to a part of a region, or, with a binding of length 0, to
     * unbind it; see ibv_bind_mw(3). Windows of type 2 are bound by {@link SendWorkRequest#bindMemoryWindow}.
     *
     * <p>Once this returns, {@link MemoryWindow#rkey()} is the new key. Tell it to a peer through a send on this queue
     * pair, or when the binding has completed. If the completion says that it failed, give the old key back with
     * {@link MemoryWindow#restoreRkey}.
     *
     * @param window which window
     * @param binding what it opens; with length 0, any part of the region that it is bound to
     * @param id what the completion carries, any 64 bits
     * @param signaled whether it completes visibly when it succeeds
     * @return {@link #POSTED}, or {@link #QUEUE_FULL} when nothing was posted
     * @throws NullPointerException when the window or the binding is null
     * @throws IllegalArgumentException when the window is of type 2; when it, the region and this are not of the same
     *     protection domain; or when this is of another type than RC, UC and XRC_SEND
     * @throws VerbsException when the driver refuses it, for example with EINVAL where a window cannot be ZERO_BASED
     * @throws IllegalStateException when this, the window or the region is closed
     * @throws WrongThreadException when the arena is confined to another thread
     * @verb ibv_bind_mw
     */
    public int bind(MemoryWindow window, MemoryWindowBinding binding, long id, boolean signaled) {
        if (window.type() != MemoryWindowType.TYPE_1) {
            throw new IllegalArgumentException("SendWorkRequest.bindMemoryWindow is for " + window);
        }
        requireConnected();
        MemoryRegion region = binding.region();
        enter();
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment request = temporary.allocate(ibv_mw_bind.layout());
            ibv_mw_bind.wr_id(request, id);
            ibv_mw_bind.send_flags(request, signaled ? rdma_h.IBV_SEND_SIGNALED() : 0);
            binding.write(request, ibv_mw_bind.bind_info$offset());
            window.hold(this, region);
            try {
                int result = provider.bindMemoryWindow(address, window.address, request.address());
                if (result == 0) {
                    window.boundByDriver();
                } else if (result != QUEUE_FULL) {
                    throw context.failure(
                            "ibv_bind_mw",
                            -result,
                            this + ", " + window + ", " + binding,
                            null,
                            "DeviceCapability.MEM_WINDOW in DeviceAttributes.capabilities");
                }
                return result;
            } finally {
                window.release(region);
            }
        } finally {
            exit();
        }
    }

    /**
     * Posts a receive, or a chain of them; see ibv_post_recv(3). Allocates nothing.
     *
     * @param first the work request, with whatever is {@link ReceiveWorkRequest#next chained} behind it
     * @return {@link #POSTED}, or {@link #QUEUE_FULL} when some or all of the chain did not fit;
     *     {@link #firstNotReceiving} tells from where
     * @throws IllegalArgumentException when the work request belongs to another arena, or has more segments than this
     *     queue pair takes
     * @throws VerbsException when the driver refuses a work request; those before it in the chain are posted
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public int postReceive(ReceiveWorkRequest first) {
        enter();
        try {
            first.checkFits(capabilities);
            int result = provider.postReceive(address, first.address(arena), notReceived);
            return result == 0 || result == QUEUE_FULL ? result : refused("ibv_post_recv", result);
        } finally {
            exit();
        }
    }

    private int refused(String verb, int result) {
        QueuePairState state = QueuePairState.of(ibv_qp.state(struct));
        throw new VerbsException(verb, -result, this + " in state " + state, cureOfPost(state, -result));
    }

    private static String cureOfPost(QueuePairState state, int errno) {
        if (errno != Errno.EINVAL.number) {
            return null;
        }
        if (state == QueuePairState.RESET || state == QueuePairState.INIT) {
            return "connect or activate the queue pair first";
        }
        return "the opcode or an atomic's alignment does not fit this queue pair";
    }

    /**
     * Where posting a chain stopped, right after {@link #postSend} returned {@link #QUEUE_FULL} or threw.
     *
     * @param first the chain that was posted
     * @return the first work request of it that was not posted, or null when it is not in this chain
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public SendWorkRequest firstNotSent(SendWorkRequest first) {
        checkOpen();
        long bad = firstNotPosted.getAtIndex(JAVA_LONG, 0);
        SendWorkRequest request = first;
        while (request != null && request.address(arena) != bad) {
            request = request.next();
        }
        return request;
    }

    /**
     * Where posting a chain stopped, right after {@link #postReceive} returned {@link #QUEUE_FULL} or threw.
     *
     * @param first the chain that was posted
     * @return the first work request of it that was not posted, or null when it is not in this chain
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public ReceiveWorkRequest firstNotReceiving(ReceiveWorkRequest first) {
        checkOpen();
        long bad = firstNotPosted.getAtIndex(JAVA_LONG, 1);
        ReceiveWorkRequest request = first;
        while (request != null && request.address(arena) != bad) {
            request = request.next();
        }
        return request;
    }

    private void check(String verb, int result) {
        if (result < 0) {
            throw new VerbsException(verb, -result, toString(), null);
        }
    }

    /** Takes this to the error state, where everything posted is flushed: whether that worked. */
    boolean fail() {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_attr.layout());
            ibv_qp_attr.qp_state(attributes, QueuePairState.ERR.code());
            return provider.modifyQueuePair(address, attributes.address(), QueuePairAttribute.STATE.code()) == 0;
        }
    }

    /** Nothing can be outstanding on a queue pair that was never taken out of RESET. */
    boolean mayHaveWork() {
        return ibv_qp.state(struct) != QueuePairState.RESET.code();
    }

    @Override
    int destroy() {
        if (mayHaveWork()) {
            fail();
        }
        // Soft-RoCE's windows of type 2 keep a pointer to the queue pair, which it frees all the same after a while.
        MemoryWindow.closeAll(windows);
        return provider.destroyQueuePair(address);
    }

    @Override
    void closed(boolean destroyed) {
        super.closed(destroyed);
        MemoryWindow.forget(windows, this);
    }

    @Override
    String destroyVerb() {
        return "ibv_destroy_qp";
    }

    @Override
    int closingOrder() {
        return 1;
    }

    /** Type, number and device. */
    @Override
    public String toString() {
        return type + " queue pair " + number + " of " + context;
    }
}
