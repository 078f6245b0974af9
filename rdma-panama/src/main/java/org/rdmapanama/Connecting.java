package org.rdmapanama;

import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;

/**
 * How a queue pair comes from RESET to RTS: what it tells its peer, and what it makes of that and of what the peer told.
 */
final class Connecting {
    private static final int PSN_BOUND = 1 << 24;

    /**
     * What was told to the peer, and by which options and which address. One value, so that no thread puts parts of two
     * together.
     *
     * @param gid of the port, or null where LIDs do
     */
    private record LocalEnd(ConnectOptions options, GidEntry gid, Endpoint endpoint) {}

    private final QueuePair queuePair;
    private final Context context;
    private final QueuePairType type;
    private final AtomicReference<LocalEnd> local = new AtomicReference<>();

    Connecting(QueuePair queuePair) {
        this.queuePair = queuePair;
        context = queuePair.context();
        type = queuePair.type();
    }

    /** The one that was told last; the first of several threads makes it. */
    Endpoint localEndpoint() {
        return localEnd().endpoint;
    }

    private LocalEnd localEnd() {
        queuePair.checkOpen();
        LocalEnd told = local.get();
        if (told != null) {
            return told;
        }
        LocalEnd made = make(new ConnectOptions());
        LocalEnd first = local.compareAndExchange(null, made);
        return first == null ? made : first;
    }

    Endpoint localEndpoint(ConnectOptions options) {
        queuePair.checkOpen();
        if (hasPeer() && queuePair.state() != QueuePairState.RESET) {
            throw new IllegalStateException(queuePair + " is in state " + queuePair.state()
                    + ", by the endpoint that it told before: it tells another one in state RESET only");
        }
        // Who was told a former one learns nothing of it: that is for the caller to see to.
        LocalEnd made = make(options.copy());
        local.set(made);
        return made.endpoint;
    }

    private LocalEnd make(ConnectOptions options) {
        PortAttributes port = requireUp(options.port());
        DeviceAttributes device = context.queryDevice();
        GidEntry gid = chooseGid(options, port);
        Endpoint endpoint = new Endpoint(
                port.lid(),
                queuePair.number(),
                ThreadLocalRandom.current().nextInt(PSN_BOUND),
                gid == null ? Gid.ZERO : gid.gid(),
                gid == null ? GidType.UNKNOWN : gid.type(),
                options.pathMtu() == null ? activeMtu(port) : options.pathMtu(),
                initiates() ? Math.min(options.maxReadAtomic(), device.maxReadAtomicAsInitiator()) : 0,
                answers() ? Math.min(options.maxReadAtomic(), device.maxReadAtomicAsTarget()) : 0);
        return new LocalEnd(options, gid, endpoint);
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

    /** The GID to use, or null where LIDs do. Chosen once: the table may change before the peer has answered. */
    private GidEntry chooseGid(ConnectOptions options, PortAttributes port) {
        if (options.gidIndex() >= 0) {
            return context.gid(options.port(), options.gidIndex());
        }
        // Raw packets bring addresses of their own.
        if (type == QueuePairType.RAW_PACKET || !port.needsGid(context.nodeType())) {
            return null;
        }
        return context.chooseGid(options.port(), options.peer(), options.remote())
                .orElseThrow(() -> new VerbsException(
                        "ibv_query_gid_table",
                        Errno.ENODATA.number,
                        context + ", port " + options.port(),
                        "the port has no GID: give its network device an IP address"));
    }

    /** A port that does not tell its MTU gets the one that every path has. */
    private static Mtu activeMtu(PortAttributes port) {
        return port.activeMtu() == null ? Mtu.BYTES_256 : port.activeMtu();
    }

    private boolean initiates() {
        return type == QueuePairType.RC || type == QueuePairType.XRC_SEND;
    }

    private boolean answers() {
        return type == QueuePairType.RC || type == QueuePairType.XRC_RECV;
    }

    boolean hasPeer() {
        return switch (type) {
            case RC, UC, XRC_SEND, XRC_RECV -> true;
            case UD, RAW_PACKET, DRIVER -> false;
        };
    }

    void initialize() {
        initialize(localEnd().options);
    }

    private void initialize(ConnectOptions options) {
        QueuePairAttributes attributes =
                new QueuePairAttributes().state(QueuePairState.INIT).port(options.port());
        switch (type) {
            case RAW_PACKET -> {}
            case UD -> attributes.pkeyIndex(options.pkeyIndex()).qkey(options.qkey());
            default ->
                attributes.pkeyIndex(options.pkeyIndex()).accessFlags(remoteAccess(options, context.queryDevice()));
        }
        queuePair.modify(attributes);
    }

    private void initializeIfReset(ConnectOptions options) {
        if (queuePair.state() == QueuePairState.RESET) {
            initialize(options);
        }
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

    void connect(Endpoint remote) {
        if (!hasPeer()) {
            throw new IllegalArgumentException("a " + type + " queue pair has no single peer: activate it instead");
        }
        LocalEnd end = localEnd();
        ConnectOptions options = end.options;
        AddressVector path = pathTo(end, remote, "ibv_modify_qp");
        requireUp(options.port());
        initializeIfReset(options);

        QueuePairAttributes receiving = new QueuePairAttributes()
                .state(QueuePairState.RTR)
                .pathMtu(smaller(end.endpoint.pathMtu(), remote.pathMtu()))
                .destinationQueuePair(remote.queuePairNumber())
                .receivePsn(remote.packetSequenceNumber())
                .addressVector(path);
        if (answers()) {
            receiving
                    .maxReadAtomicAsTarget(
                            smaller(end.endpoint.maxReadAtomicAsTarget(), remote.maxReadAtomicAsInitiator()))
                    .minRnrTimer(options.minRnrTimer());
        }
        if (!isReadyToReceiveFrom(remote, path)) {
            queuePair.modify(receiving);
        }

        QueuePairAttributes sending =
                new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(end.endpoint.packetSequenceNumber());
        if (initiates() || answers()) {
            sending.timeout(options.timeout());
        }
        if (initiates()) {
            sending.retryCount(options.retryCount())
                    .rnrRetry(options.rnrRetry())
                    .maxReadAtomicAsInitiator(
                            readsToAskFor(end.endpoint.maxReadAtomicAsInitiator(), remote.maxReadAtomicAsTarget()));
        }
        queuePair.modify(sending);
    }

    /** What a failed call did cannot be done again. */
    private boolean isReadyToReceiveFrom(Endpoint remote, AddressVector path) {
        if (queuePair.state() != QueuePairState.RTR) {
            return false;
        }
        QueuePairAttributes now = queuePair.query(QueuePairAttribute.DEST_QPN, QueuePairAttribute.AV);
        return now.destinationQueuePair() == remote.queuePairNumber()
                && (path.global()
                        ? now.addressVector().destination().equals(path.destination())
                        : now.addressVector().lid() == path.lid());
    }

    private static Mtu smaller(Mtu own, Mtu ofPeer) {
        return ofPeer == null || own.compareTo(ofPeer) < 0 ? own : ofPeer;
    }

    private static int smaller(int own, int ofPeer) {
        return ofPeer == Endpoint.UNKNOWN ? own : Math.min(own, ofPeer);
    }

    /**
     * How many reads to have outstanding with a peer that answers so many. Drivers such as rxe and mlx5 make it a power of
     * two, the next larger one, which would be more than the peer answers. With none a read would wait for ever on rxe; so
     * one goes out, and the peer's refusal completes it.
     */
    private static int readsToAskFor(int own, int ofPeer) {
        if (ofPeer == Endpoint.UNKNOWN || own <= ofPeer) {
            return own;
        }
        return Math.max(1, Integer.highestOneBit(ofPeer));
    }

    AddressVector pathTo(Endpoint remote) {
        return pathTo(localEnd(), remote, "ibv_create_ah");
    }

    private AddressVector pathTo(LocalEnd end, Endpoint remote, String verb) {
        String obstacle = end.gid == null ? null : GidChoice.obstacle(end.gid, remote);
        if (obstacle != null) {
            throw new VerbsException(verb, Errno.EINVAL.number, queuePair + " to " + remote, obstacle);
        }
        return new AddressVector(
                end.options.port(),
                remote.lid(),
                end.gid != null,
                remote.gid(),
                end.gid == null ? 0 : end.gid.index(),
                end.options.hopLimit(),
                end.options.trafficClass(),
                0,
                end.options.serviceLevel());
    }

    void activate() {
        if (type != QueuePairType.UD && type != QueuePairType.RAW_PACKET) {
            throw new IllegalArgumentException("a " + type + " queue pair needs a peer: connect it instead");
        }
        LocalEnd end = localEnd();
        initializeIfReset(end.options);
        if (queuePair.state() != QueuePairState.RTR) {
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
        }
        QueuePairAttributes sending = new QueuePairAttributes().state(QueuePairState.RTS);
        queuePair.modify(type == QueuePairType.UD ? sending.sendPsn(end.endpoint.packetSequenceNumber()) : sending);
    }
}
