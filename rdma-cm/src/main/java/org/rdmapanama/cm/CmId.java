package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import com.google.errorprone.annotations.CheckReturnValue;
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
import org.jspecify.annotations.Nullable;
import org.rdmapanama.Context;
import org.rdmapanama.QueuePair;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Gid;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.SocketAddresses;
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
import org.rdmapanama.queue.Ece;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/**
 * One end of a connection or of a datagram exchange, from before it is set up until after it ends, {@code struct
 * rdma_cm_id}: the counterpart of a socket in TCP; see rdma_cm(7).
 *
 * <p>Most methods return at once, and the result arrives as an event on the id's {@link EventChannel}. The active side
 * resolves the address (ADDR_RESOLVED) and the route (ROUTE_RESOLVED), opens the device, creates a queue pair on it,
 * connects (CONNECT_RESPONSE) and establishes the connection. The passive side listens (CONNECT_REQUEST, with a new
 * id), creates a queue pair, and accepts (ESTABLISHED).
 *
 * <p>{@snippet :
 * id.connect(queuePair, new ConnectionParameters());   // receives may be posted from here on
 * ...                                                  // CONNECT_RESPONSE
 * id.establish(queuePair);                             // sends may be posted from here on
 * }
 *
 * <p>The queue pair is an ordinary {@link QueuePair} on a device that {@link #openContext} opens. Queue pair and id can
 * be closed in any order.
 *
 * <p>Threads: any. Calls on one id are serialized.
 */
public final class CmId implements AutoCloseable {
    static final int MOST_TYPE_OF_SERVICE = 255;

    /** All open ids by the address of the native structure, which events carry. */
    private static final Map<Long, CmId> IDS = new ConcurrentHashMap<>();

    /** Source of the keys that identify a multicast group in its events. */
    private static final AtomicLong GROUP_KEYS = new AtomicLong();

    /** How many bytes of private data fit into each connection manager message of InfiniBand and RoCE. */
    private static final int CONNECT_BYTES = 56;

    private static final int ACCEPT_BYTES = 196;
    private static final int REJECT_BYTES = 148;
    private static final int DATAGRAM_REQUEST_BYTES = 180;
    private static final int DATAGRAM_ANSWER_BYTES = 136;
    private static final int OTHER_BYTES = 255;

    /** Offsets of the two socket addresses in struct rdma_addr. */
    private static final long LOCAL = 0;

    private static final long REMOTE = SocketAddresses.STORAGE_BYTES;

    private final ReentrantLock lock = new ReentrantLock();
    private final ConnectionManager manager;
    private final long address;
    private final MemorySegment struct;
    private final PortSpace portSpace;
    private final QueuePairType queuePairType;
    private final Map<Long, InetSocketAddress> groups = new ConcurrentHashMap<>();
    private final QueuePairDriver driver = new QueuePairDriver(this);
    private volatile EventChannel channel;

    /** The local address as of binding or of a request, for messages also after the native id is gone; null before. */
    private volatile @Nullable InetSocketAddress local;

    /** The address of the peer as of resolving or of a request, for messages as well; null before. */
    private volatile @Nullable InetSocketAddress remote;

    /** The parameters given to {@link #connect}; the peer's answer may grant more. Guarded by the lock. */
    private ConnectionParameters asked = new ConnectionParameters();

    /** Null until it is asked for. Guarded by the lock. */
    private @Nullable String deviceName;

    private volatile boolean closed;

    /** Whether the native id has been destroyed, which may take several attempts. Guarded by the lock. */
    private boolean destroyed;

    private CmId(EventChannel channel, long address) {
        this.channel = channel;
        this.address = address;
        manager = channel.manager();
        struct = Native.struct(address, rdma_cm_id.sizeof());
        portSpace = PortSpace.of(rdma_cm_id.ps(struct));
        queuePairType = QueuePairType.of(rdma_cm_id.qp_type(struct));
        local = nativeAddressAt(LOCAL);
        remote = nativeAddressAt(REMOTE);
    }

    /** Creates the object for a native id; the caller keeps the channel open. On failure the id is not registered. */
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

    /** Returns the object of a native id that cannot be destroyed at this moment; null if it is closed. */
    static @Nullable CmId at(long address) {
        return IDS.get(address);
    }

    /**
     * Copies an event that is not acknowledged yet. Takes no lock: a thread that destroys the id holds it and waits.
     */
    CmEvent event(CmEventType type, MemorySegment event, @Nullable CmId listener) {
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

    /** A function that takes the address of the id and returns a negated errno on failure. */
    @FunctionalInterface
    private interface IdCall {
        int apply(long id);
    }

    private void call(String verb, IdCall call) {
        call(verb, null, call);
    }

    /** The arguments are turned into text only on failure: that would take longer than most of these functions. */
    private void call(String verb, @Nullable Supplier<String> arguments, IdCall call) {
        lock.lock();
        try {
            checkOpen();
            int result = call.apply(address);
            if (result < 0) {
                String text = arguments == null ? toString() : this + ", " + arguments.get();
                throw CmFailures.of(verb, result, text, atPeer());
            }
        } finally {
            lock.unlock();
        }
    }

    /** Like {@link #call}, for functions that crash if the id has no device. */
    private void callWithDevice(String verb, @Nullable Supplier<String> arguments, IdCall call) {
        lock.lock();
        try {
            checkOpen();
            nativeContext();
            call(verb, arguments, call);
        } finally {
            lock.unlock();
        }
    }

    /** Returns the struct ibv_device, or 0. Takes no lock: the caller keeps the id from being destroyed. */
    long nativeDeviceWhileKept() {
        return rdma_cm_id.verbs(struct).address() == 0 ? 0 : device().address();
    }

    /**
     * Returns the struct ibv_device.
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

    /** Returns the native device. Needs the lock. */
    private MemorySegment device() {
        long device = ibv_context
                .device(Native.struct(nativeContext(), ibv_context.sizeof()))
                .address();
        return Native.struct(device, ibv_device.sizeof());
    }

    /** Returns the address of the context of the connection manager. Needs the lock. */
    private long nativeContext() {
        long context = rdma_cm_id.verbs(struct).address();
        if (context == 0) {
            throw new IllegalStateException(this
                    + " is not bound to a device: bind it to the address of a device, or resolve an address, first");
        }
        return context;
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
    }

    /**
     * Binds the id to a local address; see rdma_bind_addr(3).
     *
     * @param address the address; the wildcard address means all devices, and port 0 means any free port
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the address is null
     * @throws ConnectionException when no device has the address, or another id is bound to the port
     * @verb rdma_bind_addr
     */
    public void bind(InetSocketAddress address) {
        try (Arena arena = KnownMemory.ofConfined()) {
            long source = SocketAddresses.write(arena, address).address();
            call("rdma_bind_addr", () -> "address " + address, id -> {
                int result = manager.bindAddress(id, source);
                if (result >= 0) {
                    // Port 0 has become the chosen port.
                    local = nativeAddressAt(LOCAL);
                }
                return result;
            });
        }
    }

    /**
     * Finds the local device and address that reach a peer; see rdma_resolve_addr(3). The result is an event:
     * {@link CmEventType#ADDR_RESOLVED} or {@link CmEventType#ADDR_ERROR}.
     *
     * @param to the address of the peer or of a multicast group
     * @param timeout how long to wait at most, 1 millisecond or more
     * @throws IllegalArgumentException when the host name is unresolved, or the timeout is out of range
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when the operation cannot be started
     * @verb rdma_resolve_addr
     */
    public void resolveAddress(InetSocketAddress to, Duration timeout) {
        resolveAddress(null, to, timeout);
    }

    /**
     * Does the same as {@link #resolveAddress(InetSocketAddress, Duration)}, with a given local address.
     *
     * @param from the local address to connect from; null for any
     * @param to the address of the peer or of a multicast group
     * @param timeout how long to wait at most, 1 millisecond or more
     * @throws IllegalArgumentException when a host name is unresolved, or the timeout is out of range
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the peer's address or the timeout is null
     * @throws ConnectionException when the operation cannot be started
     * @verb rdma_resolve_addr
     */
    public void resolveAddress(@Nullable InetSocketAddress from, InetSocketAddress to, Duration timeout) {
        int millis = millis(timeout);
        try (Arena arena = KnownMemory.ofConfined()) {
            long source = from == null ? 0 : SocketAddresses.write(arena, from).address();
            long destination = SocketAddresses.write(arena, to).address();
            call("rdma_resolve_addr", () -> (from == null ? "" : "from " + from + " ") + "to " + to, id -> {
                int result = manager.resolveAddress(id, source, destination, millis);
                if (result >= 0) {
                    remote = to;
                }
                return result;
            });
        }
    }

    /**
     * Finds the route to the peer; see rdma_resolve_route(3). The result is an event: {@link
     * CmEventType#ROUTE_RESOLVED} or {@link CmEventType#ROUTE_ERROR}.
     *
     * @param timeout how long to wait at most, 1 millisecond or more
     * @throws IllegalArgumentException when the timeout is out of range
     * @throws IllegalStateException when this is closed, or no address was resolved
     * @throws NullPointerException when the timeout is null
     * @throws ConnectionException when the operation cannot be started
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
                    "timeout must be between 1 and " + Integer.MAX_VALUE + " milliseconds: " + timeout);
        }
        return (int) timeout.toMillis();
    }

    /**
     * Listens for connection requests; see rdma_listen(3). Each request is an event, {@link
     * CmEventType#CONNECT_REQUEST}, with a new id. Bind this id first.
     *
     * @param backlog how many requests may wait, 0 or more; 0 means the system default
     * @throws IllegalArgumentException when the backlog is negative
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_listen
     */
    public void listen(int backlog) {
        if (backlog < 0) {
            throw new IllegalArgumentException("backlog must not be negative: " + backlog);
        }
        call("rdma_listen", () -> "backlog " + backlog, id -> manager.listen(id, backlog));
    }

    /**
     * Asks the peer for a connection, or for its datagram address; see rdma_connect(3). On success the event is {@link
     * CmEventType#CONNECT_RESPONSE}, after which the caller must move the queue pair to RTS and {@linkplain
     * #establish() establish} the connection, or, for datagrams and on iWARP, {@link CmEventType#ESTABLISHED}. On
     * failure it is {@link CmEventType#REJECTED}, {@link CmEventType#UNREACHABLE} or {@link CmEventType#CONNECT_ERROR}.
     *
     * <p>Private data: up to 56 bytes on InfiniBand and RoCE, up to 180 for datagrams, and up to 255 on iWARP, where
     * Software iWARP takes a few bytes less.
     *
     * <p>On Software iWARP the function itself waits for the underlying TCP connection: it fails at once if no program
     * listens, and after about two minutes, when TCP gives up, if the host does not answer.
     *
     * @param parameters the parameters to send to the peer, with the number of the queue pair
     * @throws IllegalArgumentException when there is too much private data
     * @throws IllegalStateException when this is closed, or no address was resolved
     * @throws NullPointerException when the parameters are null
     * @throws RejectedException when no program listens at the port, on iWARP
     * @throws ConnectionException when the operation cannot be started
     * @verb rdma_connect
     */
    public void connect(ConnectionParameters parameters) {
        checkPrivateData(parameters.privateDataLength(), CONNECT_BYTES, DATAGRAM_REQUEST_BYTES);
        try (Arena arena = KnownMemory.ofConfined()) {
            ConnectionParameters own = parameters.copy();
            long encoded = own.write(arena).address();
            callWithDevice("rdma_connect", own::toString, id -> {
                int result = manager.connect(id, encoded);
                if (result >= 0) {
                    asked = own;
                }
                return result;
            });
        }
    }

    /**
     * Accepts the connection that a peer asked for; see rdma_accept(3). The queue pair must be ready to send. The
     * result is an event: {@link CmEventType#ESTABLISHED} or {@link CmEventType#CONNECT_ERROR}; for datagrams there is
     * no event.
     *
     * <p>Private data: up to 196 bytes on InfiniBand and RoCE, up to 136 for datagrams, and up to 255 on iWARP, where
     * Software iWARP takes a few bytes less.
     *
     * @param parameters the parameters to send to the peer, with the number of the queue pair
     * @throws IllegalArgumentException when there is too much private data
     * @throws IllegalStateException when this is closed, or has no device
     * @throws NullPointerException when the parameters are null
     * @throws ConnectionException when the function fails, for example because this id does not belong to a request, or
     *     the peer is gone
     * @verb rdma_accept
     */
    public void accept(ConnectionParameters parameters) {
        checkPrivateData(parameters.privateDataLength(), ACCEPT_BYTES, DATAGRAM_ANSWER_BYTES);
        try (Arena arena = KnownMemory.ofConfined()) {
            long encoded = parameters.write(arena).address();
            callWithDevice("rdma_accept", parameters::toString, id -> manager.accept(id, encoded));
        }
    }

    /**
     * Rejects the connection that a peer asked for; see rdma_reject(3). The peer's event carries the private data.
     *
     * @param privateData up to 148 bytes on InfiniBand and RoCE, up to 136 for datagrams, and up to 255 on iWARP
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
     * Rejects the connection, like {@link #reject}, because this side does not accept the peer's options of enhanced
     * connection establishment.
     *
     * @param privateData up to 148 bytes on InfiniBand and RoCE, up to 136 for datagrams, and up to 255 on iWARP
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
        try (Arena arena = KnownMemory.ofConfined()) {
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
            throw new IllegalArgumentException(
                    "privateData must have at most " + max + " bytes for this call and transport: " + length);
        }
    }

    /** Returns the transport of the device; UNKNOWN if the id has none. */
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
     * Tells the peer, which has accepted, that the local queue pair is ready; see rdma_establish(3). The peer gets
     * {@link CmEventType#ESTABLISHED}; this side gets no event.
     *
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_establish
     */
    public void establish() {
        call("rdma_establish", manager::establish);
    }

    /**
     * Passes an event of the queue pair to the connection manager, usually {@link AsyncEventType#COMM_EST}: data
     * arrived before the last message of the peer's handshake, which may have been lost; see rdma_notify(3).
     *
     * @param event the type of event that {@link Context#awaitAsyncEvent} returned
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
     * Ends the connection; see rdma_disconnect(3). The peer gets {@link CmEventType#DISCONNECTED} and answers by
     * disconnecting or closing as well; then this side gets {@link CmEventType#DISCONNECTED}. Move the queue pair to
     * the error state first, or use {@link #disconnect(QueuePair)}.
     *
     * @throws IllegalStateException when this is closed, or has no device
     * @throws ConnectionException when the id is not connected
     * @verb rdma_disconnect
     */
    public void disconnect() {
        callWithDevice("rdma_disconnect", null, manager::disconnect);
    }

    /**
     * Joins a multicast group; see rdma_join_multicast(3). The result is an event: {@link CmEventType#MULTICAST_JOIN},
     * whose {@linkplain CmEvent#datagram() parameters} say how to reach the group, or {@link
     * CmEventType#MULTICAST_ERROR}. To receive, {@linkplain QueuePair#attachMulticast attach} the queue pair to the
     * group as well.
     *
     * @param group the address of the group
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the group is null
     * @throws ConnectionException when the function fails, for example because this id is not bound
     * @verb rdma_join_multicast
     */
    public void joinMulticast(InetSocketAddress group) {
        join("rdma_join_multicast", group, manager::joinMulticast);
    }

    /**
     * Joins a multicast group as a send-only member; see rdma_join_multicast_ex(3). The resulting events are those of
     * {@link #joinMulticast}.
     *
     * @param group the address of the group
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the group is null
     * @throws ConnectionException when the function fails, for example because this id is not bound
     * @verb rdma_join_multicast_ex
     */
    public void joinMulticastToSend(InetSocketAddress group) {
        join("rdma_join_multicast_ex", group, (id, destination, key) -> {
            try (Arena arena = KnownMemory.ofConfined()) {
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
        try (Arena arena = KnownMemory.ofConfined()) {
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
     * Leaves a multicast group; see rdma_leave_multicast(3). {@linkplain QueuePair#detachMulticast Detach} the queue
     * pair first, if it is attached.
     *
     * @param group the address of the group
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the group is null
     * @throws ConnectionException when this id has not joined the group
     * @verb rdma_leave_multicast
     */
    public void leaveMulticast(InetSocketAddress group) {
        try (Arena arena = KnownMemory.ofConfined()) {
            long destination = SocketAddresses.write(arena, group).address();
            call("rdma_leave_multicast", group::toString, id -> manager.leaveMulticast(id, destination));
            groups.values().remove(group);
        }
    }

    /**
     * Moves the id, with its pending events, to another channel; see rdma_migrate_id(3).
     *
     * @param target the channel that gets its events from now on
     * @throws IllegalStateException when this id or the channel is closed
     * @throws NullPointerException when the channel is null
     * @throws ConnectionException when the function fails
     * @verb rdma_migrate_id
     */
    public void migrate(EventChannel target) {
        target.enter();
        try {
            lock.lock();
            try {
                // A closed id has left its channel, and must not enter it again: the channel would wait for it.
                checkOpen();
                // A closing channel skips ids that name another channel: so it may learn of this id too early, but not
                // too late.
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

    /** Removes the id from a channel, unless that channel is its current one. */
    @SuppressWarnings("ReferenceEquality") // channels are compared by identity
    private void leave(EventChannel other) {
        if (other != channel) {
            other.remove(this);
        }
    }

    /**
     * Sets the type of service of the packets, as in IPv4 (RFC 2474): RDMA_OPTION_ID_TOS; see rdma_set_option(3). Set
     * it before resolving the route.
     *
     * @param value 0 to 255
     * @throws IllegalArgumentException when the value is out of range
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void typeOfService(int value) {
        checkRange("typeOfService", value, MOST_TYPE_OF_SERVICE);
        setByte(rdma_h.RDMA_OPTION_ID_TOS(), value);
    }

    /**
     * Sets whether the id may bind to an address that another id is bound to: RDMA_OPTION_ID_REUSEADDR; see
     * rdma_set_option(3). Set it before binding.
     *
     * @param on true to allow it
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void reuseAddress(boolean on) {
        setInt(rdma_h.RDMA_OPTION_ID_REUSEADDR(), on);
    }

    /**
     * Sets whether the IPv6 wildcard address covers IPv6 only, not IPv4: RDMA_OPTION_ID_AFONLY; see rdma_set_option(3).
     * Set it before binding.
     *
     * @param on true for IPv6 only
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void addressFamilyOnly(boolean on) {
        setInt(rdma_h.RDMA_OPTION_ID_AFONLY(), on);
    }

    /**
     * Sets how long the transport waits for an acknowledgement before it retransmits: RDMA_OPTION_ID_ACK_TIMEOUT; see
     * rdma_set_option(3).
     *
     * @param value 0 to 31: 4.096 microseconds times two to the power of the value; 0 waits forever
     * @throws IllegalArgumentException when the value is out of range
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void acknowledgeTimeout(int value) {
        checkRange("acknowledgeTimeout", value, 31);
        setByte(rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT(), value);
    }

    static void checkRange(String name, int value, int max) {
        if (value < 0 || value > max) {
            throw new IllegalArgumentException(name + " must be between 0 and " + max + ": " + value);
        }
    }

    private void setByte(int option, int value) {
        try (Arena arena = KnownMemory.ofConfined()) {
            setOption(rdma_h.RDMA_OPTION_ID(), option, arena.allocateFrom(JAVA_BYTE, (byte) value));
        }
    }

    private void setInt(int option, boolean on) {
        try (Arena arena = KnownMemory.ofConfined()) {
            setOption(rdma_h.RDMA_OPTION_ID(), option, arena.allocateFrom(JAVA_INT, on ? 1 : 0));
        }
    }

    /**
     * Sets an option that has no method of its own, such as RDMA_OPTION_IB_PATH; see rdma_set_option(3).
     *
     * @param level the level of the option, as in {@code rdma_cma.h}
     * @param option the option
     * @param value the value, in native memory
     * @throws IllegalArgumentException when the value is not in native memory
     * @throws IllegalStateException when this is closed, or the memory is freed
     * @throws NullPointerException when the value is null
     * @throws ConnectionException when the function fails
     * @verb rdma_set_option
     */
    public void setOption(int level, int option, MemorySegment value) {
        if (!value.isNative()) {
            throw new IllegalArgumentException("value must be in native memory, such as that of an Arena: " + value);
        }
        // Copied, because the caller's memory could be freed during the call.
        try (Arena arena = KnownMemory.ofConfined()) {
            MemorySegment copy = arena.allocate(value.byteSize(), 8).copyFrom(value);
            call(
                    "rdma_set_option",
                    () -> "level " + level + ", option " + option,
                    id -> manager.setOption(id, level, option, copy.address(), copy.byteSize()));
        }
    }

    /**
     * Sets the options of enhanced connection establishment to offer or grant to the peer; see rdma_set_local_ece(3).
     * Set them before connecting or accepting.
     *
     * @param ece the options, usually those that {@link QueuePair#queryEce} returned
     * @throws IllegalStateException when this is closed
     * @throws NullPointerException when the options are null
     * @throws ConnectionException when the options do not name a vendor
     * @verb rdma_set_local_ece
     */
    public void localEce(Ece ece) {
        try (Arena arena = KnownMemory.ofConfined()) {
            MemorySegment encoded = arena.allocate(ibv_ece.layout());
            ibv_ece.vendor_id(encoded, ece.vendorId());
            ibv_ece.options(encoded, ece.options());
            ibv_ece.comp_mask(encoded, ece.compMask());
            call("rdma_set_local_ece", ece::toString, id -> manager.setLocalEce(id, encoded.address()));
        }
    }

    /**
     * Has a software device ask the peer whether it is there when it is silent; see {@link
     * RdmaConnectionOptions#keepAlive}.
     *
     * @throws UnsupportedOperationException when the connection manager is librdmacm
     */
    void keepAlive(Duration time, Duration timeout) {
        lock.lock();
        try {
            checkOpen();
            int result = manager.keepAlive(address, time.toNanos(), timeout.toNanos());
            if (result == -Errno.EOPNOTSUPP) {
                throw new UnsupportedOperationException(this
                        + ": devices of the kernel send nothing by themselves that a peer answers: use a KeepAlive"
                        + " instead of RdmaConnectionOptions.keepAlive");
            }
            CmFailures.check("keepAlive", result, this);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns the options of enhanced connection establishment that the peer offers or grants; see
     * rdma_get_remote_ece(3).
     *
     * @return the options; all zero if the peer has none
     * @throws IllegalStateException when this is closed
     * @throws ConnectionException when the function fails
     * @verb rdma_get_remote_ece
     */
    public Ece remoteEce() {
        try (Arena arena = KnownMemory.ofConfined()) {
            MemorySegment encoded = arena.allocate(ibv_ece.layout());
            call("rdma_get_remote_ece", id -> manager.getRemoteEce(id, encoded.address()));
            return new Ece(ibv_ece.vendor_id(encoded), ibv_ece.options(encoded), ibv_ece.comp_mask(encoded));
        }
    }

    /**
     * Returns the attributes that move a queue pair to a state, as agreed with the peer; see rdma_init_qp_attr(3).
     * {@link #initialize}, {@link #connect(QueuePair, ConnectionParameters)},
     * {@link #accept(QueuePair, ConnectionParameters)} and {@link #establish(QueuePair)} use them.
     *
     * @param state INIT, RTR or RTS
     * @return the attributes
     * @throws IllegalArgumentException when the state is any other
     * @throws IllegalStateException when this is closed, or has no device
     * @throws NullPointerException when the state is null
     * @throws ConnectionException when the attributes for that state are not known yet
     * @verb rdma_init_qp_attr
     */
    public QueuePairAttributes queuePairAttributes(QueuePairState state) {
        Objects.requireNonNull(state, "state");
        if (state != QueuePairState.INIT && state != QueuePairState.RTR && state != QueuePairState.RTS) {
            throw new IllegalArgumentException("state must be INIT, RTR or RTS: " + state);
        }
        try (Arena arena = KnownMemory.ofConfined()) {
            NativeAttributes attributes = nativeAttributes(arena, state);
            return QueuePairAttributes.ofNative(attributes.struct(), attributes.mask());
        }
    }

    /** Returns the same as {@link #queuePairAttributes}, in memory of an arena. */
    NativeAttributes nativeAttributes(Arena arena, QueuePairState state) {
        MemorySegment attributes = arena.allocate(ibv_qp_attr.layout());
        MemorySegment mask = arena.allocate(JAVA_INT);
        ibv_qp_attr.qp_state(attributes, state.code());
        callWithDevice(
                "rdma_init_qp_attr",
                state::toString,
                id -> manager.initQueuePairAttributes(id, attributes.address(), mask.address()));
        return new NativeAttributes(attributes, mask.get(JAVA_INT, 0));
    }

    /**
     * Moves a queue pair to state INIT, in which it accepts receives, or, for datagrams, to RTS, in which it can also
     * send. rdma_create_qp(3) does the same to the queue pairs that it creates.
     *
     * @param queuePair a queue pair of this id's device, in state RESET or INIT
     * @throws IllegalArgumentException when the queue pair belongs to another device
     * @throws IllegalStateException when this id or the queue pair is closed, or this has no device
     * @throws NullPointerException when the queue pair is null
     * @throws ConnectionException when the connection manager cannot provide the attributes
     * @throws org.rdmapanama.VerbsException when the queue pair cannot change its state
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_create_qp
     * @verb rdma_create_qp_ex
     */
    public void initialize(QueuePair queuePair) {
        driver.initialize(queuePair);
    }

    /**
     * {@linkplain #initialize Initializes} a queue pair, if that has not been done, and connects with it, as
     * {@link #connect(ConnectionParameters)} does. On CONNECT_RESPONSE, call {@link #establish(QueuePair)}.
     *
     * @param queuePair a queue pair of this id's device, in state RESET, INIT, or, for datagrams, RTS
     * @param parameters the other parameters to send to the peer
     * @throws IllegalArgumentException when there is too much private data, or the queue pair belongs to another device
     * @throws IllegalStateException when this id or the queue pair is closed, or no address was resolved
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when the operation cannot be started
     * @throws org.rdmapanama.VerbsException when the queue pair cannot change its state
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_connect
     */
    public void connect(QueuePair queuePair, ConnectionParameters parameters) {
        ConnectionParameters complete = parameters.copy().queuePair(queuePair);
        driver.beforeConnect(queuePair);
        connect(complete);
    }

    /**
     * Moves a queue pair to RTS and accepts the connection with it, as {@link #accept(ConnectionParameters)} does. Post
     * receives first.
     *
     * <p>In both directions, outstanding reads and atomics are limited to what the parameters, the request and the
     * device allow, and the peer is told these limits. On iWARP, where the kernel moves the queue pair, the parameters
     * are passed on unchanged.
     * The number of reads asked for at once is rounded down to a power of two. It is one where the peer answers none: the peer
     * then refuses a read, which would otherwise wait forever on some devices.
     *
     * @param queuePair a queue pair of this id's device, in state RESET, INIT, or, for datagrams, RTS
     * @param parameters the other parameters to send to the peer
     * @throws IllegalArgumentException when there is too much private data, or the queue pair belongs to another device
     * @throws IllegalStateException when this id or the queue pair is closed, or this has no device
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when the function fails, for example because this id does not belong to a request, or
     *     the peer is gone
     * @throws org.rdmapanama.VerbsException when the queue pair cannot change its state
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_accept
     */
    public void accept(QueuePair queuePair, ConnectionParameters parameters) {
        ConnectionParameters complete = parameters.copy().queuePair(queuePair);
        driver.beforeAccept(queuePair, complete);
        accept(complete);
    }

    /**
     * Moves a queue pair to RTS after CONNECT_RESPONSE, and tells the peer, as {@link #establish()} does. In both
     * directions, outstanding reads and atomics are limited to what the parameters of {@link #connect connect}, the
     * peer's answer and the device allow.
     * The number of reads asked for at once is rounded down to a power of two. It is one where the peer answers none: the peer
     * then refuses a read, which would otherwise wait forever on some devices.
     *
     * @param queuePair the queue pair that was connected, in state INIT
     * @throws IllegalArgumentException when the queue pair belongs to another device
     * @throws IllegalStateException when this id or the queue pair is closed
     * @throws NullPointerException when the queue pair is null
     * @throws ConnectionException when the function fails
     * @throws org.rdmapanama.VerbsException when the queue pair cannot change its state
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_establish
     */
    public void establish(QueuePair queuePair) {
        driver.beforeEstablish(queuePair);
        establish();
    }

    /** Returns a copy of the parameters given to {@link #connect}. */
    ConnectionParameters asked() {
        lock.lock();
        try {
            return asked.copy();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Moves a queue pair to the error state, which flushes all posted work requests, and ends the connection, as
     * {@link #disconnect()} does.
     *
     * @param queuePair the queue pair of the connection
     * @throws IllegalArgumentException when the queue pair belongs to another device
     * @throws IllegalStateException when this id or the queue pair is closed
     * @throws NullPointerException when the queue pair is null
     * @throws ConnectionException when the id is not connected
     * @throws org.rdmapanama.VerbsException when the queue pair cannot change its state
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_disconnect
     */
    public void disconnect(QueuePair queuePair) {
        driver.beforeDisconnect(queuePair);
        disconnect();
    }

    /**
     * Returns whether this id is bound to a device: by binding to the address of a device, by resolving an address, or
     * because it came with a request.
     *
     * @return true if it has a device
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
     * Returns the name of the device that this id is bound to.
     *
     * @return the name, such as {@code rxe0}
     * @throws IllegalStateException when this is closed, or has no device
     */
    public String deviceName() {
        lock.lock();
        try {
            checkOpen();
            if (deviceName == null) {
                // Once: an id keeps its device.
                deviceName = ibv_device.name(device()).getString(0);
            }
            return deviceName;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Opens the device that this id is bound to, to create the queue pair. The context is independent of this id, and
     * of the context that librdmacm opens for itself.
     *
     * @param arena the arena that owns the context and everything created on it
     * @return the open device
     * @throws IllegalStateException when this is closed or has no device, or the arena is closed
     * @throws NullPointerException when the arena is null
     * @throws org.rdmapanama.VerbsException when the device cannot be opened
     * @throws WrongThreadException when the arena is confined to another thread
     */
    @CheckReturnValue
    public Context openContext(VerbsArena arena) {
        Objects.requireNonNull(arena, "arena");
        return Context.open(arena, deviceName());
    }

    /**
     * Returns the port of the device.
     *
     * @return the number, 1 or more; 0 while there is no device
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
     * Returns the local address.
     *
     * @return the address; null while there is none, and for an address that is not an IP address
     * @throws IllegalStateException when this is closed
     * @verb rdma_get_local_addr
     */
    public @Nullable InetSocketAddress localAddress() {
        return addressAt(LOCAL);
    }

    /**
     * Returns the address of the peer.
     *
     * @return the address; null while there is none, and for an address that is not an IP address
     * @throws IllegalStateException when this is closed
     * @verb rdma_get_peer_addr
     */
    public @Nullable InetSocketAddress remoteAddress() {
        return addressAt(REMOTE);
    }

    private @Nullable InetSocketAddress addressAt(long offset) {
        lock.lock();
        try {
            checkOpen();
            return nativeAddressAt(offset);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Reads the local or the remote address; null while there is none. The native id must not be destroyed meanwhile.
     */
    private @Nullable InetSocketAddress nativeAddressAt(long offset) {
        return SocketAddresses.read(addresses().asSlice(offset, SocketAddresses.STORAGE_BYTES));
    }

    /** Returns the struct rdma_addr: two socket addresses and two GIDs. */
    private MemorySegment addresses() {
        return rdma_route.addr(rdma_cm_id.route(struct));
    }

    /**
     * Returns the local port number; see rdma_get_src_port(3).
     *
     * @return 0 to 65535; 0 while there is none
     * @throws IllegalStateException when this is closed
     * @verb rdma_get_src_port
     */
    public int localPort() {
        return portOf(manager::sourcePort);
    }

    /**
     * Returns the port number of the peer; see rdma_get_dst_port(3).
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
     * Returns the local GID.
     *
     * @return the GID; zero while there is none
     * @throws IllegalStateException when this is closed
     */
    public Gid localGid() {
        return gidAt(rdma_ib_addr.sgid$offset());
    }

    /**
     * Returns the GID of the peer.
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
     * Returns the port space of the id.
     *
     * @return the port space
     */
    public PortSpace portSpace() {
        return portSpace;
    }

    /**
     * Returns the type of queue pair that the id is for.
     *
     * @return RC, or UD for datagrams
     */
    public QueuePairType queuePairType() {
        return queuePairType;
    }

    /**
     * Returns the channel that gets the events of this id.
     *
     * @return the channel
     */
    public EventChannel channel() {
        return channel;
    }

    /**
     * Returns the address of the C structure, for other native code of the process. Its field {@code qp} must stay
     * NULL.
     *
     * @return the address of the {@code struct rdma_cm_id}
     * @throws IllegalStateException when this is closed
     */
    public long nativeAddress() {
        checkOpen();
        return address;
    }

    /**
     * Returns whether this id is open.
     *
     * @return false once it is closed
     */
    public boolean isOpen() {
        return !closed;
    }

    /**
     * Destroys the id; see rdma_destroy_id(3). This also ends its connection, and the peer is notified; pending events
     * are dropped. A second call does nothing, unless the first one failed: then it tries again.
     *
     * @throws ConnectionException when the function fails; the id cannot be used any more, and closing it or its
     *     channel tries again
     * @verb rdma_destroy_id
     * @verb rdma_destroy_ep
     */
    @Override
    public void close() {
        closeWith(null);
    }

    /** Closes this id; a closing channel passes itself, and an id that has moved to another channel stays open. */
    @SuppressWarnings("ReferenceEquality") // channels are compared by identity
    void closeWith(@Nullable EventChannel closing) {
        lock.lock();
        try {
            if (destroyed || (closing != null && channel != closing)) {
                return;
            }
            closed = true;
            IDS.remove(address, this);
            CmFailures.check("rdma_destroy_id", manager.destroyId(address), this);
            destroyed = true;
            // Not earlier: a closing channel waits for its ids, and the function uses the channel.
            channel.remove(this);
        } finally {
            lock.unlock();
        }
    }

    /** Says where the peer is, for messages, also when this is closed: such as "at 10.0.0.1:7471". */
    String atPeer() {
        InetSocketAddress peer = remote;
        if (peer == null || peer.getAddress() == null) {
            return "there";
        }
        return "at " + hostAndPort(peer);
    }

    /** Returns where the peer is, also when this is closed; null if that was never known. Takes no lock. */
    @Nullable
    InetSocketAddress knownRemoteAddress() {
        return remote;
    }

    /** Returns a resolved address as text, such as "10.0.0.1:7471". */
    static String hostAndPort(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        return (host.contains(":") ? "[" + host + "]:" : host + ":") + address.getPort();
    }

    /** The same of any address; without an IP address it is as it says itself. */
    static String text(@Nullable InetSocketAddress address) {
        return address == null || address.getAddress() == null ? Objects.toString(address, "") : hostAndPort(address);
    }

    /** Returns port space, native address and socket address, all of which a closed id still has. */
    @Override
    public String toString() {
        InetSocketAddress peer = remote;
        InetSocketAddress own = local;
        String where = peer != null ? " to " + text(peer) : own != null ? " at " + text(own) : "";
        return portSpace + " id 0x" + Long.toHexString(address) + where;
    }
}
