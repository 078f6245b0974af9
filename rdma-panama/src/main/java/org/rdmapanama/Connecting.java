package org.rdmapanama;

import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.GidType;
import org.rdmapanama.device.AtomicCapability;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.LinkLayer;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.device.PortAttributes;
import org.rdmapanama.device.PortState;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.SecretNumbers;
import org.rdmapanama.internal.network.GidChoice;
import org.rdmapanama.internal.network.SystemNetwork;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.internal.provider.ReadLimits;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/** Takes a queue pair from RESET to RTS: creates its endpoint, and combines it with the endpoint of the peer. */
final class Connecting {
    private static final int PSN_BITS = 24;

    /** Drivers whose own type of queue pair sends datagrams: SRD of EFA. */
    private static final Set<String> DATAGRAMS_BY_DRIVER = Set.of("efa");

    /**
     * The endpoint that was created for the peer, with its options and address. It is one value, so that no thread
     * combines parts of two.
     *
     * @param gid of the port, or null if LIDs are used
     */
    private record LocalEnd(
            ConnectOptions options, @Nullable GidEntry gid, Endpoint endpoint) {
        /** This side always tells one. */
        Mtu pathMtu() {
            return Objects.requireNonNull(endpoint.pathMtu());
        }
    }

    private final QueuePair queuePair;
    private final Context context;
    private final QueuePairType type;
    private final AtomicReference<LocalEnd> local = new AtomicReference<>();

    /**
     * The endpoint for which the queue pair is in RTR; null if it is in another state, or was moved to RTR by other
     * means.
     */
    private volatile @Nullable Endpoint receivingFrom;

    Connecting(QueuePair queuePair) {
        this.queuePair = queuePair;
        context = queuePair.context();
        type = queuePair.type();
    }

    /** Returns the endpoint that was created last; the first of several threads creates it. */
    Endpoint localEndpoint() {
        requireNumber();
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
        requireNumber();
        if (hasPeer() && queuePair.state() != QueuePairState.RESET) {
            throw new IllegalStateException(queuePair + " is in state " + queuePair.state()
                    + " and uses the endpoint it created before; modify it to RESET to create another one");
        }
        // A peer that has an earlier endpoint is not told: that is the caller's responsibility.
        LocalEnd made = make(options.copy());
        local.set(made);
        return made.endpoint;
    }

    private void requireNumber() {
        if (isTarget() && queuePair.number() == 0) {
            throw new IllegalStateException(
                    queuePair + " has no number yet, which the device gives it when it is in state"
                            + " RTR; call activate first");
        }
    }

    private boolean isTarget() {
        return queuePair.role() instanceof DcRole.Target;
    }

    private boolean isInitiator() {
        return queuePair.role() instanceof DcRole.Initiator;
    }

    private LocalEnd make(ConnectOptions options) {
        PortAttributes port = requireUp(options.port());
        DeviceAttributes device = context.queryDevice();
        GidEntry gid = chooseGid(options, port);
        Endpoint endpoint = new Endpoint(
                port.lid(),
                queuePair.number(),
                choosePacketSequenceNumber(),
                gid == null ? Gid.ZERO : gid.gid(),
                gid == null ? GidType.UNKNOWN : gid.type(),
                pathMtu(port, options.pathMtu()),
                initiates() ? Math.min(options.maxReadAtomic(), mostReadsAsInitiator(device)) : 0,
                answers() ? Math.min(options.maxReadAtomic(), mostReadsAsTarget(device)) : 0);
        return new LocalEnd(options, gid, endpoint);
    }

    /** The limit of the device is that of RC; the dynamically connected transport can have its own. */
    private int mostReadsAsInitiator(DeviceAttributes device) {
        return queuePair.role() instanceof DcRole.Initiator initiator && initiator.maxReads() > 0
                ? initiator.maxReads()
                : device.maxReadAtomicAsInitiator();
    }

    private int mostReadsAsTarget(DeviceAttributes device) {
        return queuePair.role() instanceof DcRole.Target target && target.maxReads() > 0
                ? target.maxReads()
                : device.maxReadAtomicAsTarget();
    }

    /** Chooses the first PSN, which a stranger must know to put packets between those of the peer. */
    private int choosePacketSequenceNumber() {
        if (SecretNumbers.prepare() < 0) {
            throw new VerbsException(
                    "ibv_modify_qp", Errno.EMFILE, queuePair + ", for random numbers", FreeDescriptors.CURE);
        }
        return SecretNumbers.next(PSN_BITS);
    }

    private PortAttributes requireUp(int portNumber) {
        PortAttributes port = context.queryPort(portNumber);
        if (!port.isUp()) {
            throw new VerbsException(
                    "ibv_query_port",
                    Errno.ENETDOWN,
                    context + ", port " + portNumber,
                    port.state() == PortState.DOWN
                            ? "the port is down; check the cable, or bring its network device up with"
                                    + " 'ip link set DEVICE up'"
                            : "the port is in state " + port.state() + ", in which an InfiniBand port waits for a"
                                    + " subnet manager; start one");
        }
        return port;
    }

    /**
     * Returns the GID to use, or null if LIDs are used. It is chosen once, because the table may change before the peer
     * answers.
     */
    private @Nullable GidEntry chooseGid(ConnectOptions options, PortAttributes port) {
        if (options.gidIndex() >= 0) {
            return context.gid(options.port(), options.gidIndex());
        }
        // Raw packets contain their own addresses.
        if (type == QueuePairType.RAW_PACKET || !needsGid(port)) {
            return null;
        }
        return context.chooseGid(options.port(), options.peer(), options.remote())
                .orElseThrow(() -> new VerbsException(
                        "ibv_query_gid_table",
                        Errno.ENODATA,
                        context + ", port " + options.port(),
                        "the port has no GID; give its network device an IP address"));
    }

    /** Whether paths from the port go by GID; the others go by LID. */
    private boolean needsGid(PortAttributes port) {
        return port.linkLayer() == LinkLayer.ETHERNET
                || port.grhRequired()
                || context.nodeType() == NodeType.UNSPECIFIED;
    }

    /**
     * Returns the MTU of the port, or the one that was asked for if that is smaller. A device may accept a larger one,
     * and its packets would then be lost. A port that does not report its MTU gets the one that every path supports.
     */
    private static Mtu pathMtu(PortAttributes port, @Nullable Mtu most) {
        Mtu active = port.activeMtu();
        if (active == null) {
            return most == null ? Mtu.BYTES_256 : most;
        }
        return smaller(active, most);
    }

    private boolean initiates() {
        return type == QueuePairType.RC || type == QueuePairType.XRC_SEND || isInitiator();
    }

    private boolean answers() {
        return type == QueuePairType.RC || type == QueuePairType.XRC_RECV || isTarget();
    }

    boolean hasPeer() {
        return switch (type) {
            case RC, UC, XRC_SEND, XRC_RECV -> true;
            case UD, RAW_PACKET, DRIVER -> false;
        };
    }

    /** Whether it changes its state as a queue pair of type UD does, and each send needs a destination. */
    boolean sendsDatagrams() {
        return type == QueuePairType.UD
                || (type == QueuePairType.DRIVER && DATAGRAMS_BY_DRIVER.contains(context.driverName()));
    }

    void initialize() {
        initialize(localEnd().options);
    }

    private void initialize(ConnectOptions options) {
        QueuePairAttributes attributes =
                new QueuePairAttributes().state(QueuePairState.INIT).port(options.port());
        switch (type) {
            case RAW_PACKET -> {}
            default -> {
                attributes.pkeyIndex(options.pkeyIndex());
                if (sendsDatagrams()) {
                    attributes.qkey(options.qkey());
                } else if (!isInitiator()) {
                    attributes.accessFlags(remoteAccess(options, context.queryDevice()));
                }
            }
        }
        queuePair.modify(attributes);
    }

    private void initializeIfReset(ConnectOptions options) {
        if (queuePair.state() == QueuePairState.RESET) {
            initialize(options);
        }
    }

    /** Some devices refuse the flag of an operation that they do not support. */
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
            throw new IllegalArgumentException(queuePair + " has no single peer; call activate instead of connect");
        }
        LocalEnd end = localEnd();
        ConnectOptions options = end.options;
        AddressVector path = pathTo(end, remote, "ibv_modify_qp");
        requireUp(options.port());
        initializeIfReset(options);

        QueuePairAttributes receiving = new QueuePairAttributes()
                .state(QueuePairState.RTR)
                .pathMtu(smaller(end.pathMtu(), remote.pathMtu()))
                .destinationQueuePair(remote.queuePairNumber())
                .receivePsn(remote.packetSequenceNumber())
                .addressVector(path);
        if (answers()) {
            receiving
                    .maxReadAtomicAsTarget(
                            smaller(end.endpoint.maxReadAtomicAsTarget(), remote.maxReadAtomicAsInitiator()))
                    .minRnrTimer(options.minRnrTimer());
        }
        if (queuePair.state() == QueuePairState.RTR) {
            requireReceivingFrom(remote);
        } else {
            queuePair.modify(receiving);
            receivingFrom = remote;
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

    /**
     * The steps of a failed call cannot be repeated, and they were made for one endpoint. With another endpoint of the
     * same peer the two sides would differ in PSNs, path MTU and the number of reads.
     */
    private void requireReceivingFrom(Endpoint remote) {
        Endpoint known = receivingFrom;
        if (!remote.equals(known)) {
            throw new IllegalStateException(queuePair + " is in state RTR "
                    + (known == null ? "with attributes that modify set" : "for " + known)
                    + " and cannot be connected to " + remote + "; modify it to RESET first");
        }
    }

    /** Called after any change of state: the endpoint that led to it is no longer known. */
    void stateChanged() {
        receivingFrom = null;
    }

    /** Returns the smaller MTU; the second may be null if it is not known. */
    private static Mtu smaller(Mtu one, @Nullable Mtu other) {
        return other == null || one.compareTo(other) < 0 ? one : other;
    }

    private static int smaller(int own, int ofPeer) {
        return ofPeer == Endpoint.UNKNOWN ? own : Math.min(own, ofPeer);
    }

    /**
     * Returns the number of reads to have outstanding with a peer that answers the given number. Drivers such as rxe
     * and mlx5 round it up to a power of two, which would exceed the number that the peer answers; so it is rounded
     * down here. With zero, a read would wait forever on rxe; so one is allowed, and the peer's refusal completes it.
     */
    private static int readsToAskFor(int own, int ofPeer) {
        return ofPeer == Endpoint.UNKNOWN ? own : ReadLimits.toAskFor(own, ofPeer);
    }

    AddressVector pathTo(Endpoint remote) {
        return pathTo(localEnd(), remote, "ibv_create_ah");
    }

    private AddressVector pathTo(LocalEnd end, Endpoint remote, String verb) {
        String obstacle = end.gid == null ? null : GidChoice.obstacle(end.gid, remote);
        if (end.gid != null && obstacle == null) {
            obstacle = GidChoice.obstacleOfLoopback(remote, end.options.peer(), SystemNetwork.INSTANCE);
        }
        if (obstacle != null) {
            throw new VerbsException(verb, Errno.EINVAL, queuePair + " to " + remote, obstacle);
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

    void activate(ConnectOptions options) {
        queuePair.checkOpen();
        requireNoPeer();
        if (queuePair.state() != QueuePairState.RESET) {
            throw new IllegalStateException(queuePair + " is in state " + queuePair.state()
                    + "; it takes options for activating in state RESET only");
        }
        local.set(make(options.copy()));
        activate();
    }

    private void requireNoPeer() {
        if (!sendsDatagrams() && type != QueuePairType.RAW_PACKET && queuePair.role() == null) {
            throw new IllegalArgumentException(queuePair + " needs a peer; call connect instead of activate");
        }
    }

    void activate() {
        requireNoPeer();
        LocalEnd end = localEnd();
        initializeIfReset(end.options);
        switch (queuePair.role()) {
            case null -> activateForAll(end);
            case DcRole.Initiator initiator -> activateInitiator(end);
            case DcRole.Target target -> activateTarget(end);
        }
    }

    /** Its connections are made by the device, with these attributes. */
    private void activateInitiator(LocalEnd end) {
        if (queuePair.state() != QueuePairState.RTR) {
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR).pathMtu(end.pathMtu()));
        }
        queuePair.modify(new QueuePairAttributes()
                .state(QueuePairState.RTS)
                .timeout(end.options.timeout())
                .retryCount(end.options.retryCount())
                .rnrRetry(end.options.rnrRetry())
                .sendPsn(end.endpoint.packetSequenceNumber())
                .maxReadAtomicAsInitiator(ReadLimits.toAskFor(
                        end.endpoint.maxReadAtomicAsInitiator(), end.endpoint.maxReadAtomicAsInitiator())));
    }

    /** Its address is that of this side, from which it answers. */
    private void activateTarget(LocalEnd end) {
        ConnectOptions options = end.options;
        queuePair.modify(new QueuePairAttributes()
                .state(QueuePairState.RTR)
                .pathMtu(end.pathMtu())
                .minRnrTimer(options.minRnrTimer())
                .addressVector(new AddressVector(
                        options.port(),
                        end.endpoint.lid(),
                        end.gid != null,
                        end.endpoint.gid(),
                        end.gid == null ? 0 : end.gid.index(),
                        options.hopLimit(),
                        options.trafficClass(),
                        0,
                        options.serviceLevel())));
    }

    /** The queue pair gets another number, which its endpoint tells from now on. */
    void renumber(int number) {
        local.updateAndGet(end -> end == null
                ? null
                : new LocalEnd(
                        end.options,
                        end.gid,
                        new Endpoint(
                                end.endpoint.lid(),
                                number,
                                end.endpoint.packetSequenceNumber(),
                                end.endpoint.gid(),
                                end.endpoint.gidType(),
                                end.endpoint.pathMtu(),
                                end.endpoint.maxReadAtomicAsInitiator(),
                                end.endpoint.maxReadAtomicAsTarget())));
    }

    private void activateForAll(LocalEnd end) {
        if (queuePair.state() != QueuePairState.RTR) {
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
        }
        QueuePairAttributes sending = new QueuePairAttributes().state(QueuePairState.RTS);
        queuePair.modify(sendsDatagrams() ? sending.sendPsn(end.endpoint.packetSequenceNumber()) : sending);
    }
}
