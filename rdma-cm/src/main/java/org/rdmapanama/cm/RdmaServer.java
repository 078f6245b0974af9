package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.rdmapanama.VerbsArena;

/**
 * Listens at an address and accepts connections.
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
 * <p>If accepting a request fails, the peer is rejected, so it does not wait even if the program ignores the exception.
 *
 * <p>All clients and servers of an arena share one open context per device. It stays open until the arena closes, or
 * until the device has been removed and its last connection is closed. Connections outlive their server. Threads: as
 * its {@link VerbsArena} says, but any thread may close the server, which ends the wait of another thread.
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
        listener.id().channel().owner("server at " + localAddress);
    }

    /**
     * Starts a server with a backlog of 1024 requests.
     *
     * @param arena the arena that owns the devices it opens and all of its connections
     * @param local the address; the wildcard address means all devices, and port 0 means any free port
     * @return the server
     * @throws IllegalArgumentException when the host name is unresolved
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when no device has the address, or the port is in use
     */
    public static RdmaServer listen(VerbsArena arena, InetSocketAddress local) {
        return listen(arena, local, DEFAULT_BACKLOG);
    }

    /**
     * Starts a server.
     *
     * @param arena the arena that owns the devices it opens and all of its connections
     * @param local the address; the wildcard address means all devices, and port 0 means any free port
     * @param backlog how many requests may wait, 0 or more; 0 means the system default
     * @return the server
     * @throws IllegalArgumentException when the host name is unresolved, or the backlog is negative
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when no device has the address, or the port is in use
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
     * Waits for a connection request.
     *
     * @param timeout how long to wait at most; zero checks once
     * @return the request, which the caller must accept or reject; empty if none came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when the server is closed, also while waiting
     * @throws ConnectionException when the device of the address is removed; a server at the wildcard address goes on
     *     with the remaining devices, and with new ones
     */
    public Optional<ConnectionRequest> awaitRequest(Duration timeout) throws InterruptedException {
        CmEvent request = listener.awaitRequest(timeout).orElse(null);
        if (request == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(new ConnectionRequest(request, arena));
        } catch (Error e) {
            // There is no memory for the object, so no caller would answer. Destroying the id rejects the peer.
            RdmaConnection.closeAll(e, request.id());
            throw e;
        }
    }

    /**
     * Waits for a connection request and accepts it, without private data. If accepting fails, for example because the
     * process is out of file descriptors (EMFILE), the peer is rejected.
     *
     * @param timeout how long to wait at most for a request, and then again for the peer
     * @return the connection; empty if no request came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative
     * @throws IllegalStateException when the server or the arena is closed, also while waiting
     * @throws ConnectionException when the peer disappears before it is connected, or does not answer in time
     *     (ETIMEDOUT); the server can still accept other peers
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public Optional<RdmaConnection> accept(Duration timeout) throws InterruptedException {
        return accept(new RdmaConnectionOptions(), timeout);
    }

    /**
     * Waits for a connection request and accepts it. If accepting fails, for example because the process is out of file
     * descriptors (EMFILE), the peer is rejected.
     *
     * @param options queue sizes, private data, and the action to run before the peer can send
     * @param timeout how long to wait at most for a request, and then again for the peer
     * @return the connection; empty if no request came in time
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative, there is too much private data, or the protection
     *     domain belongs to another device
     * @throws IllegalStateException when the server or the arena is closed, also while waiting
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when the peer disappears before it is connected, or does not answer in time
     *     (ETIMEDOUT); the server can still accept other peers
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
        RdmaConnection connection = null;
        try {
            connection = request.accept(options, timeout);
            return Optional.of(connection);
        } catch (InterruptedException | RuntimeException | Error e) {
            request.rejectUnlessAnswered(e);
            RdmaConnection.closeAll(e, connection);
            throw e;
        }
    }

    /**
     * Returns the address that the server listens at.
     *
     * @return the address, with the actual port even if port 0 was given
     */
    public InetSocketAddress localAddress() {
        return localAddress;
    }

    /**
     * Returns the file descriptor that becomes readable when there is a request, for an event loop in native code.
     *
     * @return the descriptor, which the server owns; it is non-blocking
     * @throws IllegalStateException when this is closed
     * @throws UnsupportedOperationException when this process uses a software device, whose channels have no descriptor
     */
    public int fileDescriptor() {
        return listener.id().channel().fileDescriptor();
    }

    /**
     * Stops listening. Unanswered requests are rejected; connections stay open. A second call does nothing.
     */
    @Override
    public void close() {
        listener.close();
    }

    /** Returns the address that the server listens at. */
    @Override
    public String toString() {
        return "server at " + localAddress;
    }
}
