package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairType;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * An id with a channel of its own, whose methods wait for their outcome: what C calls synchronous operation; see
 * rdma_create_id(3). In C such a wait has no bound; here each has one, and ends when its thread is interrupted.
 *
 * <p>{@snippet :
 * try (SynchronousId id = SynchronousId.create(PortSpace.TCP)) {
 *     id.resolve(null, new InetSocketAddress("10.77.0.2", 7471), Duration.ofSeconds(5));
 *     ...                                                    // a queue pair on id.id().openContext(arena)
 *     id.connect(queuePair, new ConnectionParameters(), Duration.ofSeconds(5));
 * }
 * }
 *
 * <p>A failure that an event tells is a {@link ConnectionException} with its status, and one that is over its time has
 * the errno ETIMEDOUT. After that, or after an interrupt, the id is good for nothing but closing.
 *
 * <p>Threads: any, but one wait at a time, but for {@link #close}, which ends a wait of another thread.
 */
public final class SynchronousId implements AutoCloseable {
    private final EventChannel channel;
    private final CmId id;

    private SynchronousId(EventChannel channel, CmId id) {
        this.channel = channel;
        this.id = id;
    }

    /** Makes an id on a channel; the channel is closed when that fails. */
    @FunctionalInterface
    private interface Maker {
        CmId make(EventChannel channel);
    }

    private static SynchronousId make(Maker maker) {
        return make(EventChannel.create(), maker);
    }

    private static SynchronousId make(EventChannel channel, Maker maker) {
        try {
            return new SynchronousId(channel, maker.make(channel));
        } catch (RuntimeException | Error e) {
            channel.close();
            throw e;
        }
    }

    /**
     * Makes an id.
     *
     * @param portSpace whose port numbers it uses, and what it carries
     * @return a new id
     * @throws IllegalArgumentException when the port space is UNKNOWN
     * @throws NullPointerException when the port space is null
     * @throws ConnectionException when it cannot be made
     */
    public static SynchronousId create(PortSpace portSpace) {
        return make(channel -> channel.createId(portSpace));
    }

    static SynchronousId create(ConnectionManager manager, PortSpace portSpace) {
        return make(EventChannel.create(manager), channel -> channel.createId(portSpace));
    }

    /**
     * Makes an id of what {@link AddressInfo#resolve} found, as {@link EventChannel#createEndpoint} does.
     *
     * @param info what was found
     * @return a new id, bound or resolved
     * @throws IllegalArgumentException when the information has no address
     * @throws NullPointerException when the information is null
     * @throws ConnectionException when the id cannot be made, bound, or resolved
     * @verb rdma_create_ep
     */
    public static SynchronousId create(AddressInfo info) {
        return make(channel -> channel.createEndpoint(info));
    }

    /**
     * Takes over an id, such as that of a connection request: it moves to a channel of its own, and is closed with this.
     *
     * @param id an open id
     * @return the same id, with waits
     * @throws IllegalStateException when the id is closed
     * @throws NullPointerException when the id is null
     * @throws ConnectionException when it cannot be moved
     */
    public static SynchronousId of(CmId id) {
        return make(channel -> {
            id.migrate(channel);
            return id;
        });
    }

    /**
     * The id itself, for all that does not wait: options, addresses, the device.
     *
     * @return the id
     */
    public CmId id() {
        return id;
    }

    /**
     * Waits for an event of the id.
     *
     * @param timeout how long to wait at most; zero looks once
     * @return the event, or empty when none came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this is closed, also while waiting
     * @throws ConnectionException when the function fails
     */
    public Optional<CmEvent> await(Duration timeout) throws InterruptedException {
        return channel.await(timeout);
    }

    /** An event that came already, whether or not the thread is interrupted. */
    Optional<CmEvent> poll() {
        return channel.poll();
    }

    /** Waits for an event of one of two types; every other one that ends something is a failure. */
    private CmEvent expect(String verb, CmEventType wanted, CmEventType or, Deadline deadline)
            throws InterruptedException {
        while (true) {
            CmEvent event = channel.await(deadline.left()).orElse(null);
            if (event == null) {
                throw Failures.of(verb, -Errno.ETIMEDOUT, id + ", after " + deadline);
            }
            if (event.type() == wanted || event.type() == or) {
                if (event.status() != 0) {
                    throw Failures.of(verb, event);
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
                        MULTICAST_ERROR -> throw Failures.of(verb, event);
                default -> {
                    // Such as the word that an earlier connection is over for good.
                }
            }
        }
    }

    /**
     * Finds device, address and route to a peer: {@link CmId#resolveAddress} and {@link CmId#resolveRoute}.
     *
     * @param local where to connect from; null for any
     * @param remote the peer's address
     * @param timeout how long to wait at most, from a millisecond
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the name of a host was not resolved, or the timeout is out of its range
     * @throws IllegalStateException when this is closed, also while waiting
     * @throws NullPointerException when the peer's address or the timeout is null
     * @throws ConnectionException when the address or the route cannot be resolved, or not in time
     * @verb rdma_resolve_addr
     * @verb rdma_resolve_route
     */
    public void resolve(InetSocketAddress local, InetSocketAddress remote, Duration timeout)
            throws InterruptedException {
        resolve(local, remote, new Deadline(timeout));
    }

    void resolve(InetSocketAddress local, InetSocketAddress remote, Deadline deadline) throws InterruptedException {
        id.resolveAddress(local, remote, deadline.step());
        expect("rdma_resolve_addr", CmEventType.ADDR_RESOLVED, null, deadline);
        id.resolveRoute(deadline.step());
        expect("rdma_resolve_route", CmEventType.ROUTE_RESOLVED, null, deadline);
    }

    /**
     * Waits for a peer to ask for a connection, after {@link CmId#bind} and {@link CmId#listen}; see rdma_get_request(3).
     *
     * @param timeout how long to wait at most; zero looks once
     * @return the request, whose id belongs to who takes it: see {@link #of}; empty when none came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this is closed, also while waiting
     * @throws ConnectionException when the device that has the address is removed, or the function fails. At the wildcard
     *     address this listens at those that are left, and at those that come
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
                throw Failures.of("rdma_get_request", event.get());
            }
        }
    }

    /**
     * Whether it is the device that this listens at, and not that of a request that waits for its answer. One that listens
     * at the wildcard address has none, and goes on with the others.
     */
    @SuppressWarnings("ReferenceEquality") // ids are compared by identity
    private boolean isOwnDevice(CmEvent removal) {
        return removal.id() == id && id.hasDevice();
    }

    /**
     * Connects: {@link CmId#connect(QueuePair, ConnectionParameters)}, and, when the peer accepts,
     * {@link CmId#establish(QueuePair)}.
     *
     * @param queuePair a queue pair of the id's device; it is ready to send when this returns
     * @param parameters what else to tell the peer
     * @param timeout how long to wait at most
     * @return what the peer answered: its parameters, or, for datagrams, how to reach it
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when there is too much private data, or the timeout is negative
     * @throws IllegalStateException when this or the queue pair is closed, also while waiting, or nothing was resolved
     * @throws NullPointerException when an argument is null
     * @throws RejectedException when the peer rejects, or nobody listens there
     * @throws ConnectionException when it fails otherwise, or takes too long
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be moved
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
     * Accepts: {@link CmId#accept(QueuePair, ConnectionParameters)}, and waits until the connection is there. For
     * datagrams there is nothing to wait for.
     *
     * @param queuePair a queue pair of the id's device, with its receives posted
     * @param parameters what else to tell the peer
     * @param timeout how long to wait at most
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when there is too much private data, or the timeout is negative
     * @throws IllegalStateException when this or the queue pair is closed, also while waiting, or this has no device
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when it fails, such as when this did not come with a request, or takes too long
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be moved
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
     * Ends the connection: {@link CmId#disconnect(QueuePair)}, and waits until the peer has answered, by disconnecting or
     * closing, too.
     *
     * @param queuePair the queue pair of the connection, which goes to the error state
     * @param timeout how long to wait at most
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this or the queue pair is closed, also while waiting
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when it is not connected, or takes too long
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be moved
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
                    .orElseThrow(() -> Failures.of("rdma_disconnect", -Errno.ETIMEDOUT, id + ", after " + deadline));
        } while (event.type() != CmEventType.DISCONNECTED && event.type() != CmEventType.DEVICE_REMOVAL);
    }

    /**
     * Joins a multicast group: {@link CmId#joinMulticast}, and waits until that is done.
     *
     * @param group the address of the group
     * @param timeout how long to wait at most
     * @return how to reach the group
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the host's name was not resolved, or the timeout is negative
     * @throws IllegalStateException when this is closed, also while waiting
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when it fails, or takes too long
     * @verb rdma_join_multicast
     */
    public UdParameters joinMulticast(InetSocketAddress group, Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        id.joinMulticast(group);
        return expect("rdma_join_multicast", CmEventType.MULTICAST_JOIN, null, deadline)
                .datagram();
    }

    /** Closes the id and its channel. Closing it twice does nothing the second time. */
    @Override
    public void close() {
        channel.close();
    }

    /** The id. */
    @Override
    public String toString() {
        return id.toString();
    }
}
