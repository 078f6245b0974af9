package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.internal.provider.Logging;

/**
 * Takes clients in the background, as a kernel does for a listening socket, and keeps them until they are accepted.
 *
 * <p>A client that is not an rsocket is rejected, as is one that comes while as many as the backlog allows are waiting.
 * Threads: any.
 */
final class Listener {
    private static final Duration HANDSHAKE = Duration.ofSeconds(10);

    /**
     * How many clients may be in the middle of their handshake, each of which has its buffers already. For another one the
     * oldest that has taken a second gives way.
     */
    private static final int PENDING = 1024;

    private final RdmaServer server;
    private final int backlog;
    private final Supplier<StreamSizes> sizes;
    private final Watchers watchers;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    /** Clients that are connected and not accepted. Guarded by the lock. */
    private final ArrayDeque<StreamLink> waiting = new ArrayDeque<>();

    /** Why taking a client has failed on this side; null if it has not, or once it was told. Guarded by the lock. */
    private @Nullable IOException failure;

    /** Guarded by the lock. */
    private boolean closed;

    private final Runnable timeouts = this::take;

    /**
     * Starts to listen.
     *
     * @param backlog how many clients may wait to be accepted
     * @param sizes the sizes of the streams of clients that come
     * @param watchers told of clients that come
     * @throws VerbsException when the address is in use, or does not belong to a device
     */
    Listener(InetSocketAddress local, int backlog, Supplier<StreamSizes> sizes, Watchers watchers) {
        this.backlog = backlog;
        this.sizes = sizes;
        this.watchers = watchers;
        server = RdmaServer.listen(
                StreamService.get().arena(),
                local,
                new RdmaServerOptions()
                        .handshakeTimeout(HANDSHAKE)
                        .maxPending(PENDING)
                        .connections(this::choose));
        StreamService.get().watch(server.channel(), this::take);
    }

    InetSocketAddress localAddress() {
        return server.localAddress();
    }

    private Optional<RdmaConnectionOptions> choose(ConnectionRequest request) {
        if (isFull()) {
            return Optional.empty();
        }
        try {
            ConnectionData peer = ConnectionData.parse(request.privateData());
            return Optional.of(StreamLink.options(sizes.get(), peer));
        } catch (ProtocolException e) {
            Logging.logger(Listener.class).debug("rejected {}: {}", request, e.getMessage());
            return Optional.empty();
        }
    }

    private boolean isFull() {
        lock.lock();
        try {
            return waiting.size() >= backlog;
        } finally {
            lock.unlock();
        }
    }

    /** Does what can be done without waiting: new clients, and ends of connections. */
    private void take() {
        try {
            takeClients();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (VerbsException | IllegalArgumentException | UnsupportedOperationException e) {
            fail(SocketErrors.accepting(e));
        } catch (IllegalStateException closedMeanwhile) {
            // The connections of a closed server end as well.
        }
        for (RdmaConnection ended = server.nextEnded(); ended != null; ended = server.nextEnded()) {
            StreamLink.of(ended).ended();
        }
    }

    private void takeClients() throws InterruptedException {
        while (!isClosed()) {
            Optional<RdmaConnection> client;
            try {
                client = server.accept(Duration.ZERO);
            } finally {
                // Also when one client has failed: others may be in their handshake.
                repeatWhilePending();
            }
            if (client.isEmpty()) {
                return;
            }
            add(StreamLink.of(client.get()));
        }
    }

    /** No event tells that a handshake takes too long. Nothing is repeated once {@link #close} has said that this is closed. */
    private void repeatWhilePending() {
        boolean pending = server.pending() > 0;
        lock.lock();
        try {
            if (pending && !closed) {
                StreamService.get().repeat(timeouts);
            } else {
                StreamService.get().stop(timeouts);
            }
        } finally {
            lock.unlock();
        }
    }

    private void add(StreamLink link) {
        StreamService.get().opened(link);
        // The peer can write before this side reads.
        link.look();
        boolean late;
        lock.lock();
        try {
            late = closed;
            if (!late) {
                waiting.add(link);
                changed.signal();
            }
        } finally {
            lock.unlock();
        }
        if (late) {
            StreamService.get().finish(link, true);
        } else {
            watchers.tell();
        }
    }

    private void fail(IOException cause) {
        lock.lock();
        try {
            failure = cause;
            changed.signal();
        } finally {
            lock.unlock();
        }
        watchers.tell();
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    /** Whether {@link #next} has something to return or to throw. */
    boolean isReady() {
        lock.lock();
        try {
            return !waiting.isEmpty() || failure != null;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns the next client.
     *
     * @param nanos how long to wait at most
     * @return the client; null if the time is over, or this is closed
     * @throws IOException when taking a client has failed on this side
     * @throws InterruptedException when the thread is interrupted
     */
    @Nullable
    StreamLink next(long nanos) throws IOException, InterruptedException {
        long left = nanos;
        lock.lock();
        try {
            while (true) {
                StreamLink link = waiting.poll();
                if (link != null) {
                    return link;
                }
                if (failure != null) {
                    IOException cause = failure;
                    failure = null;
                    throw cause;
                }
                if (closed || left <= 0) {
                    return null;
                }
                left = changed.awaitNanos(left);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Stops listening, and ends the clients that nobody has accepted. Those that were accepted stay. */
    void close() {
        ArrayDeque<StreamLink> rest;
        lock.lock();
        try {
            closed = true;
            rest = new ArrayDeque<>(waiting);
            waiting.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        StreamService.get().stop(timeouts);
        server.close();
        for (StreamLink each : rest) {
            StreamService.get().finish(each, true);
        }
    }
}
