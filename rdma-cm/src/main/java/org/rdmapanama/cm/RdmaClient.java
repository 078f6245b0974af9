package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.internal.Releasing;

/**
 * Connects to servers by address.
 *
 * <p>{@snippet :
 * try (VerbsArena arena = VerbsArena.ofConfined();
 *         RdmaConnection connection = new RdmaClient(arena)
 *                 .connect(new InetSocketAddress("10.77.0.2", 7471), Duration.ofSeconds(5))) {
 *     connection.queuePair().postSend(send);
 * }
 * }
 *
 * <p>All clients and servers of an arena share one open context per device. It stays open until the arena closes, or
 * until the device has been removed and its last connection is closed. Threads: as its {@link VerbsArena} says.
 *
 * <p>On Software iWARP the kernel waits inside the verb for the underlying TCP connection. If the host does not answer
 * at all, this takes about two minutes, and neither the timeout nor an interrupt ends it earlier.
 */
public final class RdmaClient {
    private final VerbsArena arena;
    private final ConnectionTable connections = new ConnectionTable();

    /**
     * Creates a client.
     *
     * @param arena the arena that owns the devices it opens and all of its connections
     * @throws NullPointerException when the arena is null
     */
    public RdmaClient(VerbsArena arena) {
        this.arena = Objects.requireNonNull(arena, "arena");
    }

    /**
     * Connects with default options, without private data.
     *
     * @param remote the server's address
     * @param timeout how long to wait at most
     * @return the connection
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the host name is unresolved, or the timeout is negative
     * @throws IllegalStateException when the arena is closed
     * @throws NullPointerException when an argument is null
     * @throws RejectedException when the server rejects the request, or no program listens at the port
     * @throws ConnectionException when the address or the route cannot be resolved, or the server does not answer in
     *     time (ETIMEDOUT), or ends before it answers, as {@code soft0} tells of one on this machine (ECONNRESET)
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public RdmaConnection connect(InetSocketAddress remote, Duration timeout) throws InterruptedException {
        return connect(remote, new RdmaConnectionOptions(), timeout);
    }

    /**
     * Connects with the given options.
     *
     * @param remote the server's address
     * @param options queue sizes, private data, and the action to run before the server can send
     * @param timeout how long to wait at most
     * @return the connection
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the host name is unresolved, the timeout is negative, there is too much
     *     private data, or the protection domain belongs to another device
     * @throws IllegalStateException when the arena is closed
     * @throws NullPointerException when an argument is null
     * @throws RejectedException when the server rejects the request, or no program listens at the port
     * @throws ConnectionException when the address or the route cannot be resolved, or the server does not answer in
     *     time (ETIMEDOUT), or ends before it answers, as {@code soft0} tells of one on this machine (ECONNRESET)
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public RdmaConnection connect(InetSocketAddress remote, RdmaConnectionOptions options, Duration timeout)
            throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        RdmaConnectionOptions given = options.copy();
        ConnectionNews.Attempt attempt = ConnectionNews.attempt(remote);
        SynchronousId id = SynchronousId.create(PortSpace.TCP);
        RdmaConnection connection = null;
        try {
            if (given.typeOfService() != 0) {
                id.id().typeOfService(given.typeOfService());
            }
            id.resolve(given.localAddress(), remote, deadline);
            SharedEvents events = new SharedEvents(id.id().channel());
            connection = RdmaConnection.make(id.id(), events, connections, arena, given);
            CmEvent response = id.connect(connection.queuePair(), given.parameters(connection), deadline);
            connection.connected(Objects.requireNonNull(response.connection()));
            // From now on the connection is the only user of the channel.
            events.release();
            attempt.succeeded(connection);
            return connection;
        } catch (InterruptedException | RuntimeException | Error e) {
            attempt.failed(e);
            Releasing.after(e, connection, id);
            throw e;
        }
    }

    /**
     * Returns the connection of a queue pair, such as of one that a completion names. It takes no lock, constant time, and
     * makes no garbage.
     *
     * @param queuePairNumber the number of the queue pair on this side
     * @return the connection; null if this client has none with that number that is open. With several devices, queue pairs
     *     may have the same number; then a client for each tells them apart
     */
    public @Nullable RdmaConnection connection(int queuePairNumber) {
        return connections.get(null, queuePairNumber);
    }

    /** The arena. */
    @Override
    public String toString() {
        return "client in " + arena;
    }
}
