package org.rdmapanama.cm;

import com.google.errorprone.annotations.CheckReturnValue;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.QueuePair;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.queue.QueuePairType;

/**
 * An id with its own event channel, whose methods wait for their result: C calls this synchronous operation; see
 * rdma_create_id(3). In C such a wait is unbounded; here every wait has a timeout and can be interrupted.
 *
 * <p>{@snippet :
 * try (SynchronousId id = SynchronousId.create(PortSpace.TCP)) {
 *     id.resolve(null, new InetSocketAddress("10.77.0.2", 7471), Duration.ofSeconds(5));
 *     ...                                                    // create a queue pair on id.id().openContext(arena)
 *     id.connect(queuePair, new ConnectionParameters(), Duration.ofSeconds(5));
 * }
 * }
 *
 * <p>A failure that an event reports is thrown as a {@link ConnectionException} with the status of the event; after a
 * timeout its errno is ETIMEDOUT. After a timeout or an interrupt, the id can only be closed.
 *
 * <p>Threads: any, but only one may wait at a time. {@link #close} may be called meanwhile and ends the wait.
 */
public final class SynchronousId implements AutoCloseable {
    private final EventChannel channel;
    private final CmId id;

    private SynchronousId(EventChannel channel, CmId id) {
        this.channel = channel;
        this.id = id;
    }

    /** Creates an id on a channel; the channel is closed if that fails. */
    @FunctionalInterface
    private interface IdFactory {
        CmId make(EventChannel channel);
    }

    private static SynchronousId make(IdFactory factory) {
        return make(EventChannel.create(), factory);
    }

    private static SynchronousId make(EventChannel channel, IdFactory factory) {
        try {
            SynchronousId id = new SynchronousId(channel, factory.make(channel));
            channel.owner(id);
            return id;
        } catch (RuntimeException | Error e) {
            Releasing.after(e, channel);
            throw e;
        }
    }

    /**
     * Creates an id.
     *
     * @param portSpace the port space, which also decides between connections and datagrams
     * @return a new id
     * @throws IllegalArgumentException when the port space is UNKNOWN
     * @throws NullPointerException when the port space is null
     * @throws ConnectionException when the id cannot be created
     */
    @CheckReturnValue
    public static SynchronousId create(PortSpace portSpace) {
        return make(channel -> channel.createId(portSpace));
    }

    static SynchronousId create(ConnectionManager manager, PortSpace portSpace) {
        return make(EventChannel.create(manager), channel -> channel.createId(portSpace));
    }

    /**
     * Creates an id from a result of {@link AddressInfo#resolve}, as {@link EventChannel#createEndpoint} does.
     *
     * @param info the resolved addresses
     * @return a new id, bound or resolved
     * @throws IllegalArgumentException when the info has no address
     * @throws NullPointerException when the info is null
     * @throws ConnectionException when the id cannot be created, bound, or resolved
     * @verb rdma_create_ep
     */
    @CheckReturnValue
    public static SynchronousId create(AddressInfo info) {
        return make(channel -> channel.createEndpoint(info));
    }

    /**
     * Takes over an id, such as that of a connection request: the id moves to its own channel, and is closed with this
     * object.
     *
     * @param id an open id
     * @return the id as a synchronous one
     * @throws IllegalStateException when the id is closed
     * @throws NullPointerException when the id is null
     * @throws ConnectionException when the id cannot be moved
     */
    @CheckReturnValue
    public static SynchronousId of(CmId id) {
        return make(EventChannel.create(id.channel().manager()), channel -> {
            id.migrate(channel);
            return id;
        });
    }

    /**
     * Returns the underlying id, for everything that does not wait: options, addresses, the device.
     *
     * @return the id
     */
    public CmId id() {
        return id;
    }

    /**
     * Waits for an event of the id.
     *
     * @param timeout how long to wait at most; zero checks once
     * @return the event, or empty if none came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this id is closed, also while waiting
     * @throws ConnectionException when the function fails
     */
    public Optional<CmEvent> await(Duration timeout) throws InterruptedException {
        return channel.await(timeout);
    }

    /** Takes a pending event without waiting, even if the thread is interrupted. */
    Optional<CmEvent> poll() {
        return channel.poll();
    }

    /** Waits for an event of one of two types, and throws on every event that ends the operation. */
    private CmEvent expect(String verb, CmEventType wanted, @Nullable CmEventType or, Deadline deadline)
            throws InterruptedException {
        while (true) {
            CmEvent event = channel.await(deadline.left()).orElse(null);
            if (event == null) {
                throw CmFailures.of(verb, -Errno.ETIMEDOUT, id + ", after " + deadline);
            }
            if (event.type() == wanted || event.type() == or) {
                if (event.status() != 0) {
                    throw CmFailures.of(verb, event);
                }
                return event;
            }
            switch (event.type()) {
                case ADDR_ERROR,
                        ROUTE_ERROR,
                        CONNECT_ERROR,
                        UNREACHABLE,
                        REJECTED,
                        DISCONNECTED,
                        DEVICE_REMOVAL,
                        MULTICAST_ERROR -> throw CmFailures.of(verb, event);
                default -> {
                    // Irrelevant here, such as TIMEWAIT_EXIT of an earlier connection.
                }
            }
        }
    }

    /**
     * Resolves address and route of a peer: {@link CmId#resolveAddress} and {@link CmId#resolveRoute}.
     *
     * @param local the local address to connect from; null for any
     * @param remote the address of the peer
     * @param timeout how long to wait at most
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when a host name is unresolved, or the timeout is negative
     * @throws IllegalStateException when this id is closed, also while waiting
     * @throws NullPointerException when the peer's address or the timeout is null
     * @throws ConnectionException when the address or the route cannot be resolved, or not in time
     * @verb rdma_resolve_addr
     * @verb rdma_resolve_route
     */
    public void resolve(@Nullable InetSocketAddress local, InetSocketAddress remote, Duration timeout)
            throws InterruptedException {
        resolve(local, remote, new Deadline(timeout));
    }

    void resolve(@Nullable InetSocketAddress local, InetSocketAddress remote, Deadline deadline)
            throws InterruptedException {
        id.resolveAddress(local, remote, deadline.step());
        expect("rdma_resolve_addr", CmEventType.ADDR_RESOLVED, null, deadline);
        id.resolveRoute(deadline.step());
        expect("rdma_resolve_route", CmEventType.ROUTE_RESOLVED, null, deadline);
    }

    /**
     * Waits for a connection request, after {@link CmId#bind} and {@link CmId#listen}; see rdma_get_request(3).
     *
     * @param timeout how long to wait at most; zero checks once
     * @return the request, whose id the caller must close, see {@link #of}; empty if none came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this id is closed, also while waiting
     * @throws ConnectionException when the device of the address is removed, or the function fails. An id at the
     *     wildcard address goes on with the remaining devices, and with new ones
     * @verb rdma_get_request
     */
    public Optional<CmEvent> awaitRequest(Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        while (true) {
            Optional<CmEvent> event = channel.await(deadline.left());
            if (event.isEmpty() || event.get().type() == CmEventType.CONNECT_REQUEST) {
                return event;
            }
            if (event.get().type() == CmEventType.DEVICE_REMOVAL && isOwnDevice(event.get())) {
                throw CmFailures.of("rdma_get_request", event.get());
            }
        }
    }

    /**
     * Returns whether a removal is about the device that this id listens at, not about that of an unanswered request.
     * An id at the wildcard address has no device.
     */
    @SuppressWarnings("ReferenceEquality") // ids are compared by identity
    private boolean isOwnDevice(CmEvent removal) {
        return removal.id() == id && id.hasDevice();
    }

    /**
     * Connects: {@link CmId#connect(QueuePair, ConnectionParameters)}, and, when the peer accepts,
     * {@link CmId#establish(QueuePair)}.
     *
     * @param queuePair a queue pair of the id's device; it is in state RTS when this method returns
     * @param parameters the other parameters to send to the peer
     * @param timeout how long to wait at most
     * @return the answer of the peer: its parameters, or, for datagrams, how to reach it
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when there is too much private data, or the timeout is negative
     * @throws IllegalStateException when the id or the queue pair is closed, also while waiting, or nothing was
     *     resolved
     * @throws NullPointerException when an argument is null
     * @throws RejectedException when the peer rejects the request, or no program listens at the port
     * @throws ConnectionException when connecting fails otherwise, or takes longer than the timeout
     * @throws org.rdmapanama.VerbsException when the queue pair cannot change its state
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_connect
     * @verb rdma_establish
     */
    public CmEvent connect(QueuePair queuePair, ConnectionParameters parameters, Duration timeout)
            throws InterruptedException {
        return connect(queuePair, parameters, new Deadline(timeout));
    }

    CmEvent connect(QueuePair queuePair, ConnectionParameters parameters, Deadline deadline)
            throws InterruptedException {
        id.connect(queuePair, parameters);
        CmEvent event = expect("rdma_connect", CmEventType.CONNECT_RESPONSE, CmEventType.ESTABLISHED, deadline);
        if (event.type() == CmEventType.CONNECT_RESPONSE) {
            id.establish(queuePair);
        }
        return event;
    }

    /**
     * Accepts a request, {@link CmId#accept(QueuePair, ConnectionParameters)}, and waits until the connection is
     * established. For datagrams there is nothing to wait for.
     *
     * @param queuePair a queue pair of the id's device, with its receives posted
     * @param parameters the other parameters to send to the peer
     * @param timeout how long to wait at most
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when there is too much private data, or the timeout is negative
     * @throws IllegalStateException when the id or the queue pair is closed, also while waiting, or the id has no
     *     device
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when accepting fails, for example because the id does not belong to a request, or
     *     takes longer than the timeout
     * @throws org.rdmapanama.VerbsException when the queue pair cannot change its state
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_accept
     */
    public void accept(QueuePair queuePair, ConnectionParameters parameters, Duration timeout)
            throws InterruptedException {
        accept(queuePair, parameters, new Deadline(timeout));
    }

    void accept(QueuePair queuePair, ConnectionParameters parameters, Deadline deadline) throws InterruptedException {
        id.accept(queuePair, parameters);
        if (id.queuePairType() != QueuePairType.UD) {
            expect("rdma_accept", CmEventType.ESTABLISHED, null, deadline);
        }
    }

    /**
     * Ends the connection, {@link CmId#disconnect(QueuePair)}, and waits until the peer has answered by disconnecting
     * or closing as well.
     *
     * @param queuePair the queue pair of the connection, which is moved to the error state
     * @param timeout how long to wait at most
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when the id or the queue pair is closed, also while waiting
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when the id is not connected, or the peer does not answer in time
     * @throws org.rdmapanama.VerbsException when the queue pair cannot change its state
     * @throws WrongThreadException when its arena is confined to another thread
     * @verb rdma_disconnect
     */
    public void disconnect(QueuePair queuePair, Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        id.disconnect(queuePair);
        expectEnd(deadline);
    }

    private void expectEnd(Deadline deadline) throws InterruptedException {
        CmEvent event;
        do {
            event = channel.await(deadline.left())
                    .orElseThrow(() -> CmFailures.of("rdma_disconnect", -Errno.ETIMEDOUT, id + ", after " + deadline));
        } while (event.type() != CmEventType.DISCONNECTED && event.type() != CmEventType.DEVICE_REMOVAL);
    }

    /**
     * Joins a multicast group, {@link CmId#joinMulticast}, and waits for the result.
     *
     * @param group the address of the group
     * @param timeout how long to wait at most
     * @return how to reach the group
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the host name is unresolved, or the timeout is negative
     * @throws IllegalStateException when this id is closed, also while waiting
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when joining fails, or takes longer than the timeout
     * @verb rdma_join_multicast
     */
    public UdParameters joinMulticast(InetSocketAddress group, Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        id.joinMulticast(group);
        return Objects.requireNonNull(expect("rdma_join_multicast", CmEventType.MULTICAST_JOIN, null, deadline)
                .datagram());
    }

    /** Closes the id and its channel. A second call does nothing. */
    @Override
    public void close() {
        channel.close();
    }

    /** Returns the text of the id. */
    @Override
    public String toString() {
        return id.toString();
    }
}
