package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.VerbsArena;

/**
 * A request of a peer to connect to an {@link RdmaServer}. The program must accept or reject it; closing the server
 * rejects all requests that have not been answered.
 *
 * <p>Threads: one at a time. If the arena is shared, a thread other than the one that waits for requests may answer.
 */
public final class ConnectionRequest {
    private final CmEvent event;
    private final VerbsArena arena;
    private boolean answered;

    ConnectionRequest(CmEvent event, VerbsArena arena) {
        this.event = event;
        this.arena = arena;
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
        return event.connection();
    }

    /**
     * Returns the address of the peer.
     *
     * @return the address
     * @throws IllegalStateException when this request was rejected, or the server or the connection is closed
     */
    public InetSocketAddress remoteAddress() {
        return event.id().remoteAddress();
    }

    /**
     * Returns the local address that the peer connects to.
     *
     * @return the address
     * @throws IllegalStateException when this request was rejected, or the server or the connection is closed
     */
    public InetSocketAddress localAddress() {
        return event.id().localAddress();
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
        checkNotAnswered();
        answered = true;
        SynchronousId id = takeOver();
        RdmaConnection connection = null;
        try {
            connection = RdmaConnection.make(id, arena, given);
            id.accept(connection.queuePair(), given.parameters(), deadline);
            connection.connected(event.connection());
            return connection;
        } catch (InterruptedException | RuntimeException | Error e) {
            RdmaConnection.closeAll(e, connection, id);
            throw e;
        }
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
            answered = true;
            RdmaConnection.closeAll(e, id);
            throw e;
        }
        answered = true;
        id.close();
    }

    /** For a server whose caller never sees this. */
    void rejectUnlessAnswered(Throwable failure) {
        if (!answered) {
            answered = true;
            CmId id = event.id();
            RdmaConnection.closeAll(failure, id::reject, id);
        }
    }

    /** Moves the id to its own channel, or rejects the peer if that fails: rejecting needs no file descriptor. */
    private SynchronousId takeOver() {
        CmId id = event.id();
        try {
            return SynchronousId.of(id);
        } catch (RuntimeException | Error e) {
            if (id.isOpen()) {
                RdmaConnection.closeAll(e, id::reject, id);
            }
            throw e;
        }
    }

    /** Checks that this is the first answer: a second one would affect the connection that the first one made. */
    private void checkNotAnswered() {
        if (answered) {
            throw new IllegalStateException(this + " has already been answered");
        }
    }

    /** Returns the id of the request, with the address of the peer. */
    @Override
    public String toString() {
        return "connection request on " + event.id();
    }
}
