package org.rdmapanama.samples.calls;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.samples.ServerThreads;

/**
 * Answers requests. Each client has a thread, queues and buffers of its own, so one that sends too much, or does not take its
 * answers, holds up itself only. There is a limit to how many clients there are. One whose device does not answer loses its
 * place; one that is connected and asks for nothing keeps it.
 *
 * <p>Threads: any may close it.
 */
public final class CallServer implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(CallServer.class);
    private static final Duration TICK = Duration.ofMillis(100);
    private static final long PAUSE_NANOS = 100_000_000;

    /** How many handshakes are under way at most: each has buffers, of up to 2 MiB in all. */
    private static final int MIN_PENDING = 64;

    private static final int MAX_PENDING = 1024;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Service service;
    private final int messageBytes;
    private final int maxClients;
    private final RdmaServer server;
    private final AtomicInteger clients = new AtomicInteger();
    private final ExecutorService threads;
    private volatile boolean closed;

    private CallServer(InetSocketAddress address, Service service, int messageBytes, int maxClients) {
        this.service = service;
        this.messageBytes = messageBytes;
        this.maxClients = maxClients;
        try {
            server = RdmaServer.listen(
                    arena,
                    address,
                    new RdmaServerOptions()
                            .connections(this::choose)
                            .maxPending(Math.clamp(maxClients, MIN_PENDING, MAX_PENDING)));
        } catch (RuntimeException | Error e) {
            arena.close();
            throw e;
        }
        threads = Executors.newThreadPerTaskExecutor(
                Thread.ofPlatform().daemon().name("calls-", 0).factory());
    }

    /**
     * Starts a server.
     *
     * @param address where it listens
     * @param service what it does
     * @param messageBytes the longest request and the longest answer
     * @param maxClients how many clients it serves at once; others are refused
     * @return the server
     * @throws VerbsException when it cannot listen there
     */
    public static CallServer start(InetSocketAddress address, Service service, int messageBytes, int maxClients) {
        CallServer server = new CallServer(address, service, messageBytes, maxClients);
        server.threads.execute(server::accept);
        return server;
    }

    /** Returns where it listens. */
    public InetSocketAddress address() {
        return server.localAddress();
    }

    /** Returns how many clients are connected. */
    public int clients() {
        return clients.get();
    }

    private Optional<RdmaConnectionOptions> choose(ConnectionRequest request) {
        if (clients.get() >= maxClients) {
            // Some may have ended whose threads do not know yet, such as the one that connects again.
            for (RdmaConnection ended = server.nextEnded(); ended != null; ended = server.nextEnded()) {
                leave(ended);
            }
        }
        if (clients.get() >= maxClients || !service.accepts(request.privateData())) {
            LOG.debug("{} is refused", request);
            return Optional.empty();
        }
        return Optional.of(new RdmaConnectionOptions()
                // One more to ask whether the client is there.
                .sendWorkRequests(ServerLink.DEPTH + 1)
                .receiveWorkRequests(ServerLink.DEPTH)
                .singleCompletionQueue(true)
                .completionEvents(true)
                .prepare(connection -> connection.attach(
                        new ServerLink(connection, service.connecting(connection), messageBytes, service.silence())))
                .privateData(connection -> link(connection).client().greeting()));
    }

    private static ServerLink link(RdmaConnection connection) {
        return (ServerLink) connection.attachment();
    }

    private void accept() {
        while (!closed) {
            try {
                server.accept(TICK).ifPresent(this::serve);
                service.tick();
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException | OutOfMemoryError e) {
                // Whatever it is, the next client has nothing to do with it.
                if (!closed) {
                    LOG.warn("a client could not be connected: {}", e.getMessage());
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        }
    }

    private void serve(RdmaConnection connection) {
        if (clients.incrementAndGet() > maxClients) {
            // Several came in at once.
            leave(connection);
            connection.close();
            return;
        }
        try {
            threads.execute(() -> serveAndClose(connection));
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            // It came while this closes, or there is no memory for another thread.
            LOG.debug("{} cannot be served: {}", connection, e.getMessage());
            leave(connection);
            connection.close();
        }
    }

    /** A client no longer counts. */
    private void leave(RdmaConnection connection) {
        if (link(connection).leave()) {
            clients.decrementAndGet();
        }
    }

    private void serveAndClose(RdmaConnection connection) {
        try (connection) {
            try {
                link(connection).serve();
            } finally {
                // Before the connection is closed, because the client may be connecting again by then.
                leave(connection);
            }
        } catch (InterruptedException e) {
            // The server closes.
        } catch (RuntimeException | OutOfMemoryError e) {
            LOG.debug("{} ends: {}", connection, e.getMessage());
        }
    }

    @Override
    public void close() {
        closed = true;
        threads.shutdownNow();
        ServerThreads.awaitEnd(threads);
        try {
            server.close();
        } finally {
            arena.close();
        }
    }
}
