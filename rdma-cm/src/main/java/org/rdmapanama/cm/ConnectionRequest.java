package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.ffm.internal.Errno;

/**
 * A request of a peer to connect to an {@link RdmaServer}. The program must accept or reject it; closing the server
 * rejects all requests that have not been answered.
 *
 * <p>Threads: one at a time. If the arena is shared, a thread other than the one that waits for requests may answer.
 */
public final class ConnectionRequest {
    private final CmEvent event;
    private final RdmaServer server;
    private final AtomicBoolean answered = new AtomicBoolean();

    ConnectionRequest(CmEvent event, RdmaServer server) {
        this.event = event;
        this.server = server;
    }

    /**
     * Returns the private data that the peer's program sent. InfiniBand and RoCE pad it with zeros. Do not trust it:
     * any host that reaches this one can send any bytes.
     *
     * @return a copy; empty when there are none
     */
    public byte[] privateData() {
        return event.privateData();
    }

    /**
     * Returns the connection parameters that the peer sent.
     *
     * @return a copy of the parameters
     */
    public ConnectionParameters peer() {
        return Objects.requireNonNull(event.connection());
    }

    /**
     * Returns the address of the peer.
     *
     * @return the address
     * @throws IllegalStateException when this request was rejected, or the server or the connection is closed
     */
    public InetSocketAddress remoteAddress() {
        return Objects.requireNonNull(event.id().remoteAddress());
    }

    /**
     * Returns the local address that the peer connects to.
     *
     * @return the address
     * @throws IllegalStateException when this request was rejected, or the server or the connection is closed
     */
    public InetSocketAddress localAddress() {
        return Objects.requireNonNull(event.id().localAddress());
    }

    /**
     * Returns the id of the connection, for operations that this class does not offer.
     *
     * @return the id
     */
    public CmId id() {
        return event.id();
    }

    /**
     * Accepts the request. If that fails, for example because the process is out of file descriptors (EMFILE), the peer
     * is rejected, and the caller need not do so. Only when the options are null or cannot be copied, or the timeout is negative, can the
     * request still be answered.
     *
     * @param options queue sizes, private data, and the action to run before the peer can send
     * @param timeout how long to wait for the peer
     * @return the connection, which outlives the server
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative, there is too much private data, or the protection
     *     domain belongs to another device
     * @throws IllegalStateException when this request has been answered, or the server or the arena is closed
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when the peer is gone, or did not answer in time (ETIMEDOUT)
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public RdmaConnection accept(RdmaConnectionOptions options, Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        RdmaConnectionOptions given = options.copy();
        answer();
        CmId id = event.id();
        RdmaConnection connection = null;
        try {
            connection = server.make(id, given);
            Outcome outcome = new Outcome(connection);
            connection.accept(event, given.parameters(connection), outcome::set);
            outcome.await(deadline);
            server.handOut(connection);
            return connection;
        } catch (InterruptedException | RuntimeException | Error e) {
            if (connection == null) {
                server.noteRefusal();
            } else {
                server.noteFailure();
            }
            ConnectionNews.refused(id, e.getMessage());
            Releasing.after(e, connection, refusal(connection), id);
            throw e;
        }
    }

    /** How the handshake of one connection ends, for the thread that waits for it. */
    private static final class Outcome {
        private final RdmaConnection connection;
        private volatile boolean known;
        private volatile @Nullable ConnectionException failure;

        Outcome(RdmaConnection connection) {
            this.connection = connection;
        }

        void set(@Nullable ConnectionException reason) {
            failure = reason;
            known = true;
            connection.inbox().changed();
        }

        void await(Deadline deadline) throws InterruptedException {
            if (!connection.inbox().await(() -> known || !connection.id().isOpen(), deadline)) {
                throw CmFailures.of("rdma_accept", -Errno.ETIMEDOUT, connection.id() + ", after " + deadline);
            }
            if (failure != null) {
                throw failure;
            }
            if (!known) {
                throw new IllegalStateException(connection.id() + " is closed");
            }
        }
    }

    /** Accepts without waiting for the peer; see {@link RdmaConnection#accept}. The caller closes the connection. */
    void begin(
            RdmaConnection connection, RdmaConnectionOptions options, Consumer<@Nullable ConnectionException> settled) {
        connection.accept(event, options.parameters(connection), settled);
    }

    /** Rejects the peer if there is no connection yet, whose closing would tell it. */
    private @Nullable AutoCloseable refusal(@Nullable RdmaConnection connection) {
        return connection == null && event.id().isOpen() ? event.id()::reject : null;
    }

    /**
     * Rejects the request: the peer gets a {@link RejectedException} with status 28 and these bytes.
     *
     * @param privateData up to 148 bytes on InfiniBand and RoCE
     * @throws IllegalArgumentException when there is too much private data
     * @throws IllegalStateException when this request has been answered, or the server is closed
     * @throws NullPointerException when the private data is null
     * @throws ConnectionException when the function fails, for example because the peer is gone; the request is closed
     *     nevertheless
     */
    public void reject(byte... privateData) {
        checkNotAnswered();
        CmId id = event.id();
        try {
            id.reject(privateData);
        } catch (ConnectionException e) {
            rejected(id);
            Releasing.after(e, id);
            throw e;
        }
        rejected(id);
        id.close();
    }

    private void rejected(CmId id) {
        answer();
        server.noteRefusal();
        ConnectionNews.refused(id, "the program rejects it");
    }

    /** Rejects the peer without private data, unless the request has been answered. A failure is added to another one. */
    void rejectUnlessAnswered(Throwable failure) {
        if (answered.compareAndSet(false, true)) {
            server.answered(this);
            server.noteRefusal();
            ConnectionNews.refused(event.id(), failure.getMessage());
            Releasing.after(failure, event.id()::reject, event.id());
        }
    }

    boolean isAnswered() {
        return answered.get();
    }

    /** Marks this as answered, which only works once: a second answer would affect the connection of the first one. */
    void answer() {
        if (!answered.compareAndSet(false, true)) {
            throw alreadyAnswered();
        }
        server.answered(this);
    }

    private void checkNotAnswered() {
        if (answered.get()) {
            throw alreadyAnswered();
        }
    }

    private IllegalStateException alreadyAnswered() {
        return new IllegalStateException(this + " has already been answered");
    }

    /** Returns the id of the request, with the address of the peer. */
    @Override
    public String toString() {
        return "connection request on " + event.id();
    }
}
