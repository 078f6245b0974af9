package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import org.rdmapanama.VerbsArena;

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
 * <p>All clients and servers of an arena have each device open once for all their connections, until the arena closes, or
 * the device was removed and the last connection through it is closed. Threads: as its {@link VerbsArena} says.
 *
 * <p>On Software iWARP the kernel's verb waits for the connection of TCP below: where nothing answers at all, about two
 * minutes, and neither a timeout nor an interrupt ends that sooner.
 */
public final class RdmaClient {
    private final VerbsArena arena;

    /**
     * A client.
     *
     * @param arena who owns the devices that it opens, and all of its connections
     * @throws NullPointerException when the arena is null
     */
    public RdmaClient(VerbsArena arena) {
        this.arena = Objects.requireNonNull(arena, "arena");
    }

    /**
     * Connects, without private data.
     *
     * @param remote the server's address
     * @param timeout how long it may take
     * @return the connection
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the host's name was not resolved, or the timeout is negative
     * @throws IllegalStateException when the arena is closed
     * @throws NullPointerException when an argument is null
     * @throws RejectedException when the server rejects, or nobody listens there
     * @throws ConnectionException when the address or the route cannot be resolved, the server does not answer, or it
     *     takes too long (ETIMEDOUT)
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public RdmaConnection connect(InetSocketAddress remote, Duration timeout) throws InterruptedException {
        return connect(remote, new RdmaConnectionOptions(), timeout);
    }

    /**
     * Connects.
     *
     * @param remote the server's address
     * @param options sizes, private data, and what to do before the server can send
     * @param timeout how long it may take
     * @return the connection
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the host's name was not resolved, the timeout is negative, there is too much
     *     private data, or the protection domain is that of another device
     * @throws IllegalStateException when the arena is closed
     * @throws NullPointerException when an argument is null
     * @throws RejectedException when the server rejects, or nobody listens there
     * @throws ConnectionException when the address or the route cannot be resolved, the server does not answer, or it
     *     takes too long (ETIMEDOUT)
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public RdmaConnection connect(InetSocketAddress remote, RdmaConnectionOptions options, Duration timeout)
            throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        RdmaConnectionOptions given = options.copy();
        SynchronousId id = SynchronousId.create(PortSpace.TCP);
        RdmaConnection connection = null;
        try {
            id.resolve(given.localAddress(), remote, deadline);
            connection = RdmaConnection.make(id, arena, given);
            CmEvent response = id.connect(connection.queuePair(), given.parameters(), deadline);
            connection.connected(response.connection());
            return connection;
        } catch (InterruptedException | RuntimeException | Error e) {
            RdmaConnection.closeAll(e, connection, id);
            throw e;
        }
    }
}
