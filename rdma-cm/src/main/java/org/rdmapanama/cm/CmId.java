package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.rdmapanama.AsyncEventType;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceAttributes;
import org.rdmapanama.Ece;
import org.rdmapanama.Gid;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairAttributes;
import org.rdmapanama.QueuePairState;
import org.rdmapanama.QueuePairType;
import org.rdmapanama.TransportType;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.ffm.verbs.ibv_ece;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_addr;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.ffm.verbs.rdma_cm_id;
import org.rdmapanama.ffm.verbs.rdma_cm_join_mc_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.rdma_ib_addr;
import org.rdmapanama.ffm.verbs.rdma_route;
import org.rdmapanama.ffm.verbs.rdma_ud_param;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * One end of a connection, or of an exchange of datagrams, before, while and after it exists, {@code struct rdma_cm_id}:
 * what a socket is to TCP; see rdma_cm(7).
 *
 * <p>Most methods return at once, and the result comes as an event of the id's {@link EventChannel}. An active side
 * resolves the address (ADDR_RESOLVED) and the route (ROUTE_RESOLVED), opens the device and makes a queue pair there,
 * connects (CONNECT_RESPONSE) and establishes; the passive side listens (CONNECT_REQUEST, with a new id), makes a queue
 * pair, and accepts (ESTABLISHED).
 *
 * <p>{@snippet :
 * id.connect(queuePair, new ConnectionParameters());   // the queue pair may take receives from here on
 * ...                                                  // CONNECT_RESPONSE
 * id.establish(queuePair);                             // and may send from here on
 * }
 *
 * <p>The queue pair is one of the object model of verbs, on a device that {@link #openContext} opens. It and the id can
 * be closed in any order.
 *
 * <p>Threads: any. Calls on one id are made one after the other.
 */
public final class CmId implements AutoCloseable {
    /** By address of the native structure, which events carry. */
    private static final Map<Long, CmId> IDS = new ConcurrentHashMap<>();

    /** What stands for a group in the events of joining it. */
    private static final AtomicLong GROUP_KEYS = new AtomicLong();

    /** InfiniBand and RoCE leave so many bytes of a message of their connection manager to the program. */
    private static final int CONNECT_BYTES = 56;

    private static final int ACCEPT_BYTES = 196;
    private static final int REJECT_BYTES = 148;
    private static final int DATAGRAM_REQUEST_BYTES = 180;
    private static final int DATAGRAM_ANSWER_BYTES = 136;
    private static final int OTHER_BYTES = 255;

    private static final int MAX_BACKLOG = Integer.MAX_VALUE;

    private final ReentrantLock lock = new ReentrantLock();
    private final ConnectionManager manager;
    private final long address;
    private final MemorySegment struct;
    private final PortSpace portSpace;
    private final QueuePairType queuePairType;
    private final Map<Long, InetSocketAddress> groups = new ConcurrentHashMap<>();
    private volatile EventChannel channel;
    private volatile boolean closed;

    private CmId(EventChannel channel, long address) {
        this.channel = channel;
        this.address = address;
        manager = channel.manager();
        struct = Native.struct(address, rdma_cm_id.sizeof());
        portSpace = PortSpace.of(rdma_cm_id.ps(struct));
        queuePairType = QueuePairType.of(rdma_cm_id.qp_type(struct));
    }

    /** Makes the object of a native id, while its channel is kept open. When that fails, the id is not registered. */
    static CmId register(EventChannel channel, long address) {
        CmId id = new CmId(channel, address);
        try {
            channel.add(id);
            IDS.put(address, id);
            return id;
        } catch (RuntimeException | Error e) {
            channel.remove(id);
            IDS.remove(address, id);
            throw e;
        }
    }

    /** The id of a native one that nobody destroys at this moment; null when it is closed. */
    static CmId at(long address) {
        return IDS.get(address);
    }

    /** Copies an event of this id, which is not acknowledged yet. Takes no lock: who destroys the id waits for it. */
    CmEvent event(CmEventType type, MemorySegment event, CmId listener) {
        int status = rdma_cm_event.status(event);
        MemorySegment parameters = rdma_cm_event.param(event);
        boolean multicast = type == CmEventType.MULTICAST_JOIN || type == CmEventType.MULTICAST_ERROR;
        if (!multicast && queuePairType != QueuePairType.UD) {
            ConnectionParameters connection = ConnectionParameters.read(rdma_cm_event.param.conn(parameters));
            return new CmEvent(type, status, this, listener, connection, null, null);
        }
        MemorySegment ud = rdma_cm_event.param.ud(parameters);
        InetSocketAddress group =
                multicast ? groups.get(rdma_ud_param.private_data(ud).address()) : null;
        return new CmEvent(type, status, this, listener, null, UdParameters.read(ud, multicast), group);
    }

    /** A call of a function that takes the id's address and returns a negated errno for failure. */
    @FunctionalInterface
    private interface Call {
        int apply(long id);
    }

    private void call(String verb, Call call) {
        call(verb, null, call);
    }

    /** The arguments become text only when it fails: making it would take longer than most of these functions. */
    private void call(String verb, Supplier<String> arguments, Call call) {
        lock.lock();
        try {
            checkOpen();
            int result = call.apply(address);
            if (result < 0) {
                throw Failures.of(verb, result, arguments == null ? toString() : this + ", " + arguments.get());
            }
        } finally {
            lock.unlock();
        }
    }

    /** As {@link #call}, for functions that crash without a device. */
    private void callWithDevice(String verb, Supplier<String> arguments, Call call) {
        lock.lock();
        try {
            checkOpen();
            device();
            call(verb, arguments, call);
        } finally {
            lock.unlock();
        }
    }

    /** The struct ibv_device; 0 while there is none. Takes no lock: nobody may destroy the id meanwhile. */
    long nativeDeviceWhileKept() {
        return rdma_cm_id.verbs(struct).address() == 0 ? 0 : device().address();
    }

    /**
     * The struct ibv_device.
     *
     * @throws IllegalStateException when this is closed, or has no device
     */
    long nativeDevice() {
        lock.lock();
        try {
            checkOpen();
            return device().address();
        } finally {
            lock.unlock();
        }
    }

    /** With the lock held: the native device. */
    private MemorySegment device() {
        MemorySegment context = rdma_cm_id.verbs(struct);
        if (context.address() == 0) {
            throw new IllegalStateException(
                    this + " has no device yet: bind it to an address of one, or resolve an address");
        }
        long device = ibv_context
                .device(Native.struct(context.address(), ibv_context.sizeof()))
                .address();
        return Native.struct(device, ibv_device.sizeof());
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    /**
     * Gives the id an address of this machine; see rdma_bind_addr(3).
     *
     * @param local the address; the wildcard address stands for all devices, and port 0 for any that is free
     * @throws IllegalArgumentException when the host's name was not resolved
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the address is null
     * @throws ConnectionException when no device has the address, or another id has the port
     * @verb rdma_bind_addr
     */
    public void bind(InetSocketAddress local) {
        try (Arena arena = Arena.ofConfined()) {
            long source = SocketAddresses.write(arena, local).address();
            call("rdma_bind_addr", () -> "to " + local, id -> manager.bindAddress(id, source));
        }
    }

    /**
     * Finds the device, and the address there, through which a peer is reached; see rdma_resolve_addr(3). Comes back as
     * {@link CmEventType#ADDR_RESOLVED} or {@link CmEventType#ADDR_ERROR}.
     *
     * @param remote the peer's address, or that of a multicast group
     * @param timeout how long resolving may take, from a millisecond
     * @throws IllegalArgumentException when the host's name was not resolved, or the timeout is out of its range
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when it cannot even begin
     * @verb rdma_resolve_addr
     */
    public void resolveAddress(InetSocketAddress remote, Duration timeout) {
        resolveAddress(null, remote, timeout);
    }

    /**
     * As {@link #resolveAddress(InetSocketAddress, Duration)}, from an address of this machine.
     *
     * @param local where to connect from; null for any
     * @param remote the peer's address, or that of a multicast group
     * @param timeout how long resolving may take, from a millisecond
     * @throws IllegalArgumentException when the name of a host was not resolved, or the timeout is out of its range
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the peer's address or the timeout is null
     * @throws ConnectionException when it cannot even begin
     * @verb rdma_resolve_addr
     */
    public void resolveAddress(InetSocketAddress local, InetSocketAddress remote, Duration timeout) {
        int millis = millis(timeout);
        try (Arena arena = Arena.ofConfined()) {
            long source =
                    local == null ? 0 : SocketAddresses.write(arena, local).address();
            long destination = SocketAddresses.write(arena, remote).address();
            call(
                    "rdma_resolve_addr",
                    () -> (local == null ? "" : "from " + local + " ") + "to " + remote,
                    id -> manager.resolveAddress(id, source, destination, millis));
        }
    }

    /**
     * Finds the route to the peer; see rdma_resolve_route(3). Comes back as {@link CmEventType#ROUTE_RESOLVED} or
     * {@link CmEventType#ROUTE_ERROR}.
     *
     * @param timeout how long resolving may take, from a millisecond
     * @throws IllegalArgumentException when the timeout is out of its range
     * @throws IllegalStateException when this is closed, or no address was resolved
     * @throws NullPointerException when the timeout is null
     * @throws ConnectionException when it cannot even begin
     * @verb rdma_resolve_route
     */
    public void resolveRoute(Duration timeout) {
        int millis = millis(timeout);
        callWithDevice("rdma_resolve_route", null, id -> manager.resolveRoute(id, millis));
    }

    private static int millis(Duration timeout) {
        if (timeout.compareTo(Duration.ofMillis(1)) < 0
                || timeout.compareTo(Duration.ofMillis(Integer.MAX_VALUE)) > 0) {
            throw new IllegalArgumentException(
                    "a timeout is between 1 and " + Integer.MAX_VALUE + " milliseconds, not " + timeout);
        }
        return (int) timeout.toMillis();
    }

    /**
     * Lets peers ask for connections; see rdma_listen(3). Each comes as {@link CmEventType#CONNECT_REQUEST} with a new
     * id. Bind the id first.
     *
     * @param backlog how many requests may wait, from 0; 0 leaves it to the system
     * @throws IllegalArgumentException when the backlog is negative
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_listen
     */
    public void listen(int backlog) {
        if (backlog < 0) {
            throw new IllegalArgumentException("a backlog is between 0 and " + MAX_BACKLOG + ", not " + backlog);
        }
        call("rdma_listen", () -> "backlog " + backlog, id -> manager.listen(id, backlog));
    }

    /**
     * Asks the peer for a connection, or for its datagram address; see rdma_connect(3). Comes back as
     * {@link CmEventType#CONNECT_RESPONSE}, upon which the queue pair is to be made ready and the connection
     * {@linkplain #establish() established}, or, for datagrams and on iWARP, as {@link CmEventType#ESTABLISHED}; or as
     * {@link CmEventType#REJECTED}, {@link CmEventType#UNREACHABLE} or {@link CmEventType#CONNECT_ERROR}.
     *
     * <p>Private data: on InfiniBand and RoCE up to 56 bytes, for datagrams up to 180; 255 on iWARP, where Software iWARP
     * takes some fewer.
     *
     * <p>On Software iWARP the function itself waits for the connection of TCP below: where nobody listens, it fails at
     * once, and where nothing answers at all, as long as TCP tries, about two minutes.
     *
     * @param parameters what to tell the peer, with the number of the queue pair
     * @throws IllegalArgumentException when there is too much private data
     * @throws IllegalStateException when this is closed, or no address was resolved
     * @throws NullPointerException when the parameters are null
     * @throws RejectedException when nobody listens there, on iWARP
     * @throws ConnectionException when it cannot even begin
     * @verb rdma_connect
     */
    public void connect(ConnectionParameters parameters) {
        checkPrivateData(parameters.privateDataLength(), CONNECT_BYTES, DATAGRAM_REQUEST_BYTES);
        try (Arena arena = Arena.ofConfined()) {
            long encoded = parameters.write(arena).address();
            callWithDevice("rdma_connect", parameters::toString, id -> manager.connect(id, encoded));
        }
    }

    /**
     * Grants a connection that a peer has asked for; see rdma_accept(3). The queue pair is ready to send by then. Comes
     * back as {@link CmEventType#ESTABLISHED} or {@link CmEventType#CONNECT_ERROR}; for datagrams nothing comes back.
     *
     * <p>Private data: on InfiniBand and RoCE up to 196 bytes, for datagrams up to 136; 255 on iWARP, where
     * Software iWARP takes some fewer.
     *
     * @param parameters what to tell the peer, with the number of the queue pair
     * @throws IllegalArgumentException when there is too much private data
     * @throws IllegalStateException when this is closed, or has no device
     * @throws NullPointerException when the parameters are null
     * @throws ConnectionException when the function fails, such as when this did not come with a request, or the peer is
     *     gone
     * @verb rdma_accept
     */
    public void accept(ConnectionParameters parameters) {
        checkPrivateData(parameters.privateDataLength(), ACCEPT_BYTES, DATAGRAM_ANSWER_BYTES);
        try (Arena arena = Arena.ofConfined()) {
            long encoded = parameters.write(arena).address();
            callWithDevice("rdma_accept", parameters::toString, id -> manager.accept(id, encoded));
        }
    }

    /**
     * Refuses a connection that a peer has asked for; see rdma_reject(3). The peer's event has the private data.
     *
     * @param privateData on InfiniBand and RoCE up to 148 bytes, for datagrams up to 136; 255 on iWARP
     * @throws IllegalArgumentException when there is too much private data
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the private data is null
     * @throws ConnectionException when the function fails
     * @verb rdma_reject
     */
    public void reject(byte... privateData) {
        reject("rdma_reject", privateData, manager::reject);
    }

    /**
     * As {@link #reject}, because of options of enhanced connection establishment that this side does not take.
     *
     * @param privateData on InfiniBand and RoCE up to 148 bytes, for datagrams up to 136; 255 on iWARP
     * @throws IllegalArgumentException when there is too much private data
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the private data is null
     * @throws ConnectionException when the function fails
     * @verb rdma_reject_ece
     */
    public void rejectEce(byte... privateData) {
        reject("rdma_reject_ece", privateData, manager::rejectEce);
    }

    @FunctionalInterface
    private interface Rejection {
        int apply(long id, long privateData, byte length);
    }

    private void reject(String verb, byte[] privateData, Rejection rejection) {
        checkPrivateData(privateData.length, REJECT_BYTES, DATAGRAM_ANSWER_BYTES);
        try (Arena arena = Arena.ofConfined()) {
            long bytes = privateData.length == 0
                    ? 0
                    : arena.allocateFrom(JAVA_BYTE, privateData).address();
            call(
                    verb,
                    () -> privateData.length + " bytes of private data",
                    id -> rejection.apply(id, bytes, (byte) privateData.length));
        }
    }

    private void checkPrivateData(int length, int connected, int datagram) {
        int max = OTHER_BYTES;
        if (transportType() == TransportType.IB) {
            max = queuePairType == QueuePairType.UD ? datagram : connected;
        }
        if (length > max) {
            throw new IllegalArgumentException("private data has at most " + max + " bytes here, not " + length);
        }
    }

    /** UNKNOWN while there is no device. */
    private TransportType transportType() {
        lock.lock();
        try {
            checkOpen();
            return rdma_cm_id.verbs(struct).address() == 0
                    ? TransportType.UNKNOWN
                    : TransportType.of(ibv_device.transport_type(device()));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Tells the peer, which has accepted, that this side's queue pair is ready; see rdma_establish(3). The peer's event
     * is {@link CmEventType#ESTABLISHED}; here none comes.
     *
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_establish
     */
    public void establish() {
        call("rdma_establish", manager::establish);
    }

    /**
     * Tells the connection manager of an event of the queue pair, above all of {@link AsyncEventType#COMM_EST}: data
     * came before the peer's last message of connecting, which may be lost; see rdma_notify(3).
     *
     * @param event what {@link Context#awaitAsyncEvent} told
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the event is null
     * @throws ConnectionException when the function fails
     * @verb rdma_notify
     */
    public void notifyEvent(AsyncEventType event) {
        int code = event.code();
        call("rdma_notify", event::toString, id -> manager.notifyEvent(id, code));
    }

    /**
     * Ends the connection; see rdma_disconnect(3). The peer gets {@link CmEventType#DISCONNECTED}, and answers by
     * disconnecting or closing, too; then {@link CmEventType#DISCONNECTED} comes here. Move the queue pair to the error
     * state first, or use {@link #disconnect(QueuePair)}.
     *
     * @throws IllegalStateException when this is closed, or has no device
     * @throws ConnectionException when it is not connected
     * @verb rdma_disconnect
     */
    public void disconnect() {
        callWithDevice("rdma_disconnect", null, manager::disconnect);
    }

    /**
     * Joins a multicast group; see rdma_join_multicast(3). Comes back as {@link CmEventType#MULTICAST_JOIN}, whose
     * {@linkplain CmEvent#datagram() parameters} say how to reach the group, or {@link CmEventType#MULTICAST_ERROR}. To
     * receive, {@linkplain QueuePair#attachMulticast attach} the queue pair to it as well.
     *
     * @param group the address of the group
     * @throws IllegalArgumentException when the host's name was not resolved
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the group is null
     * @throws ConnectionException when the function fails, such as when this is not bound
     * @verb rdma_join_multicast
     */
    public void joinMulticast(InetSocketAddress group) {
        join("rdma_join_multicast", group, manager::joinMulticast);
    }

    /**
     * Joins a multicast group as one who only sends; see rdma_join_multicast_ex(3). Comes back as
     * {@link #joinMulticast} does.
     *
     * @param group the address of the group
     * @throws IllegalArgumentException when the host's name was not resolved
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the group is null
     * @throws ConnectionException when the function fails, such as when this is not bound
     * @verb rdma_join_multicast_ex
     */
    public void joinMulticastToSend(InetSocketAddress group) {
        join("rdma_join_multicast_ex", group, (id, destination, key) -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment attributes = arena.allocate(rdma_cm_join_mc_attr_ex.layout());
                rdma_cm_join_mc_attr_ex.comp_mask(
                        attributes, rdma_h.RDMA_CM_JOIN_MC_ATTR_ADDRESS() | rdma_h.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS());
                rdma_cm_join_mc_attr_ex.join_flags(attributes, rdma_h.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER());
                rdma_cm_join_mc_attr_ex.addr(attributes, MemorySegment.ofAddress(destination));
                return manager.joinMulticastEx(id, attributes.address(), key);
            }
        });
    }

    @FunctionalInterface
    private interface Join {
        int apply(long id, long group, long key);
    }

    private void join(String verb, InetSocketAddress group, Join join) {
        long key = GROUP_KEYS.incrementAndGet();
        try (Arena arena = Arena.ofConfined()) {
            long destination = SocketAddresses.write(arena, group).address();
            groups.put(key, group);
            call(verb, group::toString, id -> {
                int result = join.apply(id, destination, key);
                if (result < 0) {
                    groups.remove(key);
                }
                return result;
            });
        }
    }

    /**
     * Leaves a multicast group; see rdma_leave_multicast(3). {@linkplain QueuePair#detachMulticast Detach} the queue pair
     * first, if it is attached.
     *
     * @param group the address of the group
     * @throws IllegalArgumentException when the host's name was not resolved
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the group is null
     * @throws ConnectionException when this has not joined the group
     * @verb rdma_leave_multicast
     */
    public void leaveMulticast(InetSocketAddress group) {
        try (Arena arena = Arena.ofConfined()) {
            long destination = SocketAddresses.write(arena, group).address();
            call("rdma_leave_multicast", group::toString, id -> manager.leaveMulticast(id, destination));
            groups.values().remove(group);
        }
    }

    /**
     * Moves the id, with its events that nobody has taken yet, to another channel; see rdma_migrate_id(3).
     *
     * @param target where its events come from now on
     * @throws IllegalStateException when this or the channel is closed
     * @throws NullPointerException when the channel is null
     * @throws ConnectionException when the function fails
     * @verb rdma_migrate_id
     */
    public void migrate(EventChannel target) {
        target.enter();
        try {
            lock.lock();
            try {
                // A channel closes those ids only that say they are there: so it may know this one too early, never too
                // late.
                target.add(this);
                try {
                    call("rdma_migrate_id", () -> "to " + target, id -> manager.migrateId(id, target.address()));
                } catch (RuntimeException | Error e) {
                    leave(target);
                    throw e;
                }
                EventChannel before = channel;
                channel = target;
                leave(before);
            } finally {
                lock.unlock();
            }
        } finally {
            target.exit();
        }
    }

    /** The channel may be where this is, or stays. */
    @SuppressWarnings("ReferenceEquality") // channels are compared by identity
    private void leave(EventChannel other) {
        if (other != channel) {
            other.remove(this);
        }
    }

    /**
     * The type of service of the packets, as in IPv4 (RFC 2474): RDMA_OPTION_ID_TOS; see rdma_set_option(3). Set it
     * before resolving the route.
     *
     * @param value 0 to 255
     * @throws IllegalArgumentException when the number is out of its range
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void typeOfService(int value) {
        checkRange("a type of service", value, 255);
        setByte(rdma_h.RDMA_OPTION_ID_TOS(), value);
    }

    /**
     * Whether the address may be one that another id has: RDMA_OPTION_ID_REUSEADDR; see rdma_set_option(3). Set it before
     * binding.
     *
     * @param on true if so
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void reuseAddress(boolean on) {
        setInt(rdma_h.RDMA_OPTION_ID_REUSEADDR(), on);
    }

    /**
     * Whether a wildcard address of IPv6 leaves IPv4 alone: RDMA_OPTION_ID_AFONLY; see rdma_set_option(3). Set it before
     * binding.
     *
     * @param on true if so
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void addressFamilyOnly(boolean on) {
        setInt(rdma_h.RDMA_OPTION_ID_AFONLY(), on);
    }

    /**
     * How long the transport waits for an acknowledgement before it repeats: RDMA_OPTION_ID_ACK_TIMEOUT; see
     * rdma_set_option(3).
     *
     * @param value 4.096 microseconds times two to the power of this, 0 to 31; 0 waits for ever
     * @throws IllegalArgumentException when the number is out of its range
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void acknowledgeTimeout(int value) {
        checkRange("an acknowledge timeout", value, 31);
        setByte(rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT(), value);
    }

    private static void checkRange(String name, int value, int max) {
        if (value < 0 || value > max) {
            throw new IllegalArgumentException(name + " is between 0 and " + max + ", not " + value);
        }
    }

    private void setByte(int option, int value) {
        try (Arena arena = Arena.ofConfined()) {
            setOption(rdma_h.RDMA_OPTION_ID(), option, arena.allocateFrom(JAVA_BYTE, (byte) value));
        }
    }

    private void setInt(int option, boolean on) {
        try (Arena arena = Arena.ofConfined()) {
            setOption(rdma_h.RDMA_OPTION_ID(), option, arena.allocateFrom(JAVA_INT, on ? 1 : 0));
        }
    }

    /**
     * Sets an option that has no method of its own, such as the paths of RDMA_OPTION_IB_PATH; see rdma_set_option(3).
     *
     * @param level which group of options, as in {@code rdma_cma.h}
     * @param option which option
     * @param value its value, native memory
     * @throws IllegalArgumentException when the memory is no native memory
     * @throws IllegalStateException when this is closed, or the memory is freed
     * @throws NullPointerException when the value is null
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void setOption(int level, int option, MemorySegment value) {
        if (!value.isNative()) {
            throw new IllegalArgumentException("the value of an option is in native memory, such as an arena's");
        }
        // A copy cannot be freed meanwhile.
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = arena.allocate(value.byteSize(), 8).copyFrom(value);
            call(
                    "rdma_set_option",
                    () -> "level " + level + ", option " + option,
                    id -> manager.setOption(id, level, option, copy.address(), copy.byteSize()));
        }
    }

    /**
     * Which options of enhanced connection establishment to offer the peer, or to grant it; see rdma_set_local_ece(3).
     * Set them before connecting or accepting.
     *
     * @param ece mostly what {@link QueuePair#queryEce} returned
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the options are null
     * @throws ConnectionException when they name no vendor
     * @verb rdma_set_local_ece
     */
    public void localEce(Ece ece) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment encoded = arena.allocate(ibv_ece.layout());
            ibv_ece.vendor_id(encoded, ece.vendorId());
            ibv_ece.options(encoded, ece.options());
            ibv_ece.comp_mask(encoded, ece.compMask());
            call("rdma_set_local_ece", ece::toString, id -> manager.setLocalEce(id, encoded.address()));
        }
    }

    /**
     * Which options of enhanced connection establishment the peer offers or grants; see rdma_get_remote_ece(3).
     *
     * @return the options; all zero where the peer has none
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_get_remote_ece
     */
    public Ece remoteEce() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment encoded = arena.allocate(ibv_ece.layout());
            call("rdma_get_remote_ece", id -> manager.getRemoteEce(id, encoded.address()));
            return new Ece(ibv_ece.vendor_id(encoded), ibv_ece.options(encoded), ibv_ece.comp_mask(encoded));
        }
    }

    /**
     * Which attributes a queue pair needs for a state, as the connection manager agreed with the peer; see
     * rdma_init_qp_attr(3). {@link #initialize}, {@link #connect(QueuePair, ConnectionParameters)},
     * {@link #accept(QueuePair, ConnectionParameters)} and {@link #establish(QueuePair)} go by them.
     *
     * @param state INIT, RTR or RTS
     * @return the attributes
     * @throws IllegalArgumentException when it is another state
     * @throws IllegalStateException when this is closed, or has no device
     * @throws NullPointerException when the state is null
     * @throws ConnectionException when it is too early for that state
     * @verb rdma_init_qp_attr
     */
    public QueuePairAttributes queuePairAttributes(QueuePairState state) {
        Objects.requireNonNull(state, "state");
        if (state != QueuePairState.INIT && state != QueuePairState.RTR && state != QueuePairState.RTS) {
            throw new IllegalArgumentException("the connection manager has attributes for INIT, RTR and RTS");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(ibv_qp_attr.layout());
            MemorySegment mask = arena.allocate(JAVA_INT);
            ibv_qp_attr.qp_state(attributes, state.code());
            callWithDevice(
                    "rdma_init_qp_attr",
                    state::toString,
                    id -> manager.initQueuePairAttributes(id, attributes.address(), mask.address()));
            return QueuePairAttributes.ofNative(attributes, mask.get(JAVA_INT, 0));
        }
    }

    /**
     * Moves a queue pair to the state INIT, in which it takes receives, or, one for datagrams, to RTS, in which it sends:
     * what rdma_create_qp(3) does to those that it makes.
     *
     * @param queuePair a queue pair of this id's device, in state RESET or INIT
     * @throws IllegalArgumentException when the queue pair is of another device
     * @throws IllegalStateException when this or the queue pair is closed, or this has no device
     * @throws NullPointerException when the queue pair is null
     * @throws ConnectionException when the connection manager has no attributes for it
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be moved
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_create_qp
     * @verb rdma_create_qp_ex
     */
    public void initialize(QueuePair queuePair) {
        checkDevice(queuePair);
        queuePair.modify(queuePairAttributes(QueuePairState.INIT));
        if (queuePair.type() == QueuePairType.UD) {
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTR));
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RTS).sendPsn(0));
        }
    }

    /**
     * {@linkplain #initialize Initializes} a queue pair unless that is done, and asks the peer to connect with it, as
     * {@link #connect(ConnectionParameters)} does. On CONNECT_RESPONSE, call {@link #establish(QueuePair)}.
     *
     * @param queuePair a queue pair of this id's device, in state RESET, INIT, or, for datagrams, RTS
     * @param parameters what else to tell the peer
     * @throws IllegalArgumentException when there is too much private data, or the queue pair is of another device
     * @throws IllegalStateException when this or the queue pair is closed, or no address was resolved
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when it cannot even begin
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be moved
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_connect
     */
    public void connect(QueuePair queuePair, ConnectionParameters parameters) {
        ConnectionParameters complete = parameters.copy().queuePair(queuePair);
        checkDevice(queuePair);
        initializeOnce(queuePair);
        connect(complete);
    }

    /** Attributes of one device make no sense on another, and some drivers take them. */
    private void checkDevice(QueuePair queuePair) {
        String owner = queuePair.context().deviceName();
        String own = deviceName();
        if (!owner.equals(own)) {
            throw new IllegalArgumentException(queuePair + " is of " + owner + ", but " + this + " is bound to " + own);
        }
    }

    private void initializeOnce(QueuePair queuePair) {
        if (queuePair.state() == QueuePairState.RESET) {
            initialize(queuePair);
        }
    }

    /**
     * Makes a queue pair ready to receive and to send, and grants the connection with it, as
     * {@link #accept(ConnectionParameters)} does. Post receives before.
     *
     * @param queuePair a queue pair of this id's device, in state RESET, INIT, or, for datagrams, RTS
     * @param parameters what else to tell the peer
     * @throws IllegalArgumentException when there is too much private data, or the queue pair is of another device
     * @throws IllegalStateException when this or the queue pair is closed, or this has no device
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when the function fails, such as when this did not come with a request, or the peer is
     *     gone
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be moved
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_accept
     */
    public void accept(QueuePair queuePair, ConnectionParameters parameters) {
        ConnectionParameters complete = parameters.copy().queuePair(queuePair);
        checkDevice(queuePair);
        initializeOnce(queuePair);
        if (movesQueuePair(queuePair)) {
            ready(queuePair, complete, queuePairAttributes(QueuePairState.RTR));
        }
        accept(complete);
    }

    /**
     * Makes a queue pair ready to receive and to send, after CONNECT_RESPONSE, and tells the peer, as
     * {@link #establish()} does.
     *
     * @param queuePair the queue pair that was connected, in state INIT
     * @throws IllegalArgumentException when the queue pair is of another device
     * @throws IllegalStateException when this or the queue pair is closed
     * @throws NullPointerException when the queue pair is null
     * @throws ConnectionException when the function fails
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be moved
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_establish
     */
    public void establish(QueuePair queuePair) {
        checkDevice(queuePair);
        if (movesQueuePair(queuePair)) {
            // What peers may do was not known when it was initialized, as it is to who accepts.
            QueuePairAttributes receive = queuePairAttributes(QueuePairState.RTR);
            receive.accessFlags(queuePairAttributes(QueuePairState.INIT).accessFlags());
            ready(queuePair, new ConnectionParameters(), receive);
        }
        establish();
    }

    /** On iWARP the kernel moves it. */
    private static boolean movesQueuePair(QueuePair queuePair) {
        return queuePair.type() != QueuePairType.UD && queuePair.context().transportType() == TransportType.IB;
    }

    /** From INIT to RTS. What the peer asked for may be more than this device can. */
    private void ready(QueuePair queuePair, ConnectionParameters parameters, QueuePairAttributes receive) {
        QueuePairAttributes send = queuePairAttributes(QueuePairState.RTS);
        DeviceAttributes device = queuePair.context().queryDevice();
        receive.maxReadAtomicAsTarget(granted(
                parameters.responderResources(), receive.maxReadAtomicAsTarget(), device.maxReadAtomicAsTarget()));
        send.maxReadAtomicAsInitiator(granted(
                parameters.initiatorDepth(), send.maxReadAtomicAsInitiator(), device.maxReadAtomicAsInitiator()));
        queuePair.modify(receive);
        queuePair.modify(send);
    }

    private static int granted(int wanted, int agreed, int possible) {
        return wanted == ConnectionParameters.MAX_RESOURCES ? Math.min(agreed, possible) : wanted;
    }

    /**
     * Moves a queue pair to the error state, in which all that is posted completes as flushed, and ends the connection,
     * as {@link #disconnect()} does.
     *
     * @param queuePair the queue pair of the connection
     * @throws IllegalArgumentException when the queue pair is of another device
     * @throws IllegalStateException when this or the queue pair is closed
     * @throws NullPointerException when the queue pair is null
     * @throws ConnectionException when it is not connected
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be moved
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_disconnect
     */
    public void disconnect(QueuePair queuePair) {
        checkDevice(queuePair);
        if (queuePair.state() != QueuePairState.RESET) {
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        }
        disconnect();
    }

    /**
     * Whether this has a device: from binding to an address of one, from resolving an address, or from a request.
     *
     * @return true if so
     * @throws IllegalStateException when this is closed
     */
    public boolean hasDevice() {
        lock.lock();
        try {
            checkOpen();
            return rdma_cm_id.verbs(struct).address() != 0;
        } finally {
            lock.unlock();
        }
    }

    /**
     * The device that this is bound to.
     *
     * @return its name, such as {@code rxe0}
     * @throws IllegalStateException when this is closed, or has no device
     */
    public String deviceName() {
        lock.lock();
        try {
            checkOpen();
            return ibv_device.name(device()).getString(0);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Opens the device that this is bound to, for the queue pair. It is independent of this id, and of the one that
     * librdmacm has opened for itself.
     *
     * @param arena who owns the open device and everything made on it
     * @return the open device
     * @throws IllegalStateException when this is closed or has no device, or the arena is closed
     * @throws NullPointerException when the arena is null
     * @throws org.rdmapanama.VerbsException when it cannot be opened
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public Context openContext(VerbsArena arena) {
        Objects.requireNonNull(arena, "arena");
        return Context.open(arena, deviceName());
    }

    /**
     * The port of the device.
     *
     * @return its number, from 1; 0 while there is no device
     * @throws IllegalStateException when this is closed
     */
    public int port() {
        lock.lock();
        try {
            checkOpen();
            return Byte.toUnsignedInt(rdma_cm_id.port_num(struct));
        } finally {
            lock.unlock();
        }
    }

    /**
     * The address of this side.
     *
     * @return the address; null while there is none, and for one that is no IP address
     * @throws IllegalStateException when this is closed
     * @verb rdma_get_local_addr
     */
    public InetSocketAddress localAddress() {
        return addressAt(0);
    }

    /**
     * The address of the peer.
     *
     * @return the address; null while there is none, and for one that is no IP address
     * @throws IllegalStateException when this is closed
     * @verb rdma_get_peer_addr
     */
    public InetSocketAddress remoteAddress() {
        return addressAt(SocketAddresses.STORAGE_BYTES);
    }

    private InetSocketAddress addressAt(long offset) {
        lock.lock();
        try {
            checkOpen();
            return SocketAddresses.read(addresses().asSlice(offset, SocketAddresses.STORAGE_BYTES));
        } finally {
            lock.unlock();
        }
    }

    /** Two socket addresses, and the two GIDs. */
    private MemorySegment addresses() {
        return rdma_route.addr(rdma_cm_id.route(struct));
    }

    /**
     * The port number of this side; see rdma_get_src_port(3).
     *
     * @return 0 to 65535; 0 while there is none
     * @throws IllegalStateException when this is closed
     * @verb rdma_get_src_port
     */
    public int localPort() {
        return portOf(manager::sourcePort);
    }

    /**
     * The port number of the peer; see rdma_get_dst_port(3).
     *
     * @return 0 to 65535; 0 while there is none
     * @throws IllegalStateException when this is closed
     * @verb rdma_get_dst_port
     */
    public int remotePort() {
        return portOf(manager::destinationPort);
    }

    @FunctionalInterface
    private interface PortCall {
        short apply(long id);
    }

    private int portOf(PortCall call) {
        lock.lock();
        try {
            checkOpen();
            return Short.toUnsignedInt(Short.reverseBytes(call.apply(address)));
        } finally {
            lock.unlock();
        }
    }

    /**
     * The GID of this side.
     *
     * @return the GID; zero while there is none
     * @throws IllegalStateException when this is closed
     */
    public Gid localGid() {
        return gidAt(rdma_ib_addr.sgid$offset());
    }

    /**
     * The GID of the peer.
     *
     * @return the GID; zero while there is none
     * @throws IllegalStateException when this is closed
     */
    public Gid remoteGid() {
        return gidAt(rdma_ib_addr.dgid$offset());
    }

    private Gid gidAt(long offset) {
        lock.lock();
        try {
            checkOpen();
            MemorySegment gids = addresses().asSlice(rdma_addr.sizeof() - rdma_ib_addr.sizeof());
            return Gid.of(gids.asSlice(offset, Gid.BYTES).toArray(JAVA_BYTE));
        } finally {
            lock.unlock();
        }
    }

    /**
     * Whose port numbers this uses.
     *
     * @return the port space
     */
    public PortSpace portSpace() {
        return portSpace;
    }

    /**
     * Which queue pairs this is for.
     *
     * @return their type: RC, or UD for datagrams
     */
    public QueuePairType queuePairType() {
        return queuePairType;
    }

    /**
     * Where its events come.
     *
     * @return the channel
     */
    public EventChannel channel() {
        return channel;
    }

    /**
     * The C structure of this, for other native code of the process. Its field {@code qp} is to stay NULL.
     *
     * @return address of the {@code struct rdma_cm_id}
     * @throws IllegalStateException when this is closed
     */
    public long nativeAddress() {
        checkOpen();
        return address;
    }

    /**
     * Whether this is open.
     *
     * @return false once it is closed
     */
    public boolean isOpen() {
        return !closed;
    }

    /**
     * Ends the id; see rdma_destroy_id(3). A connection that it has ends, too, and the peer is told; events that nobody has
     * taken are gone. Closing it twice does nothing the second time.
     *
     * @throws ConnectionException when the function fails
     * @verb rdma_destroy_id
     * @verb rdma_destroy_ep
     */
    @Override
    public void close() {
        closeWith(null);
    }

    /** Closes this, or, for a channel that closes, only if it is still there. */
    @SuppressWarnings("ReferenceEquality") // channels are compared by identity
    void closeWith(EventChannel closing) {
        lock.lock();
        try {
            if (closed || (closing != null && channel != closing)) {
                return;
            }
            closed = true;
            IDS.remove(address, this);
            try {
                Failures.check("rdma_destroy_id", manager.destroyId(address), this);
            } finally {
                // Not before: a channel that closes waits for the ids that it has, and the function uses the channel.
                channel.remove(this);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Port space and address, nothing that a closed id would not have. */
    @Override
    public String toString() {
        return portSpace + " id 0x" + Long.toHexString(address);
    }
}
