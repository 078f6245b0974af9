package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.rdmapanama.VerbsArena;

/**
 * Listens at an address, and accepts connections.
 *
 * <p>{@snippet :
 * try (VerbsArena arena = VerbsArena.ofShared();
 *         RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress(7471))) {
 *     while (running) {
 *         Optional<ConnectionRequest> request = server.awaitRequest(Duration.ofSeconds(1));
 *         request.ifPresent(each -> executor.submit(() -> serve(each.accept(options, Duration.ofSeconds(5)))));
 *     }
 * }
 * }
 *
 * <p>All clients and servers of an arena have each device open once for all their connections, until the arena closes, or
 * the device was removed and the last connection through it is closed. Connections outlive their server. Threads: as its
 * {@link VerbsArena} says, but any thread may close it, which ends a wait of another thread.
 */
public final class RdmaServer implements AutoCloseable {
    private static final int DEFAULT_BACKLOG = 1024;

    private final VerbsArena arena;
    private final SynchronousId listener;
    private final InetSocketAddress localAddress;

    private RdmaServer(VerbsArena arena, SynchronousId listener) {
        this.arena = arena;
        this.listener = listener;
        localAddress = listener.id().localAddress();
    }

    /**
     * Listens, with up to 1024 requests waiting.
     *
     * @param arena who owns the devices that it opens, and all of its connections
     * @param local the address; the wildcard address stands for all devices, and port 0 for any that is free
     * @return the server
     * @throws IllegalArgumentException when the host's name was not resolved
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when no device has the address, or the port is taken
     */
    public static RdmaServer listen(VerbsArena arena, InetSocketAddress local) {
        return listen(arena, local, DEFAULT_BACKLOG);
    }

    /**
     * Listens.
     *
     * @param arena who owns the devices that it opens, and all of its connections
     * @param local the address; the wildcard address stands for all devices, and port 0 for any that is free
     * @param backlog how many requests may wait, from 0; 0 leaves it to the system
     * @return the server
     * @throws IllegalArgumentException when the host's name was not resolved, or the backlog is negative
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when no device has the address, or the port is taken
     */
    public static RdmaServer listen(VerbsArena arena, InetSocketAddress local, int backlog) {
        Objects.requireNonNull(arena, "arena");
        SynchronousId listener = SynchronousId.create(PortSpace.TCP);
        try {
            listener.id().bind(local);
            listener.id().listen(backlog);
            return new RdmaServer(arena, listener);
        } catch (RuntimeException | Error e) {
            RdmaConnection.closeAll(e, listener);
            throw e;
        }
    }

    /**
     * Waits for a peer that wants to connect.
     *
     * @param timeout how long to wait at most; zero looks once
     * @return the request, which is to be answered; empty when none came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this is closed, also while waiting
     * @throws ConnectionException when the device that has the address is removed; a server at the wildcard address goes on
     *     with those that are left, and with those that come
     */
    public Optional<ConnectionRequest> awaitRequest(Duration timeout) throws InterruptedException {
        return listener.awaitRequest(timeout).map(event -> new ConnectionRequest(event, arena));
    }

    /**
     * Waits for a peer that wants to connect, and accepts it, without private data. When that fails, such as for want of
     * file descriptors (EMFILE), the peer is rejected.
     *
     * @param timeout how long to wait at most, for a request and then for the peer
     * @return the connection; empty when nobody wanted to connect in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when this is closed, also while waiting, or the arena is
     * @throws ConnectionException when a peer is gone before it is connected, or takes too long (ETIMEDOUT); the next one
     *     can be accepted nevertheless
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public Optional<RdmaConnection> accept(Duration timeout) throws InterruptedException {
        return accept(new RdmaConnectionOptions(), timeout);
    }

    /**
     * Waits for a peer that wants to connect, and accepts it. When that fails, such as for want of file descriptors
     * (EMFILE), the peer is rejected.
     *
     * @param options sizes, private data, and what to do before the peer can send
     * @param timeout how long to wait at most, for a request and then for the peer
     * @return the connection; empty when nobody wanted to connect in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative, there is too much private data, or the protection
     *     domain is that of another device
     * @throws IllegalStateException when this is closed, also while waiting, or the arena is
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when a peer is gone before it is connected, or takes too long (ETIMEDOUT); the next one
     *     can be accepted nevertheless
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public Optional<RdmaConnection> accept(RdmaConnectionOptions options, Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(options, "options");
        ConnectionRequest request = awaitRequest(timeout).orElse(null);
        if (request == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(request.accept(options, timeout));
        } catch (InterruptedException | RuntimeException | Error e) {
            request.giveUp(e);
            throw e;
        }
    }

    /**
     * Where this listens.
     *
     * @return the address, with the port that was chosen if it was 0
     */
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    /**
     * The file descriptor that becomes readable when there is a request, for an event loop of the caller's own.
     *
     * @return the descriptor, which this owns; it never blocks
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedOperationException when it has none, because the devices are software in this process
     */
    public int fileDescriptor() {
        return listener.id().channel().fileDescriptor();
    }

    /**
     * Stops listening. Requests that were not answered are rejected; connections stay. Closing it twice does nothing the
     * second time.
     */
    @Override
    public void close() {
        listener.close();
    }

    /** Where it listens. */
    @Override
    public String toString() {
        return "server at " + localAddress;
    }
}
