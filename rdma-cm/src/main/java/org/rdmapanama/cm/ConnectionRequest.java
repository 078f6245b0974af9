package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.VerbsArena;

/**
 * A peer that wants to connect to an {@link RdmaServer}. It is to be accepted or rejected, and is rejected when the server
 * closes first.
 *
 * <p>Threads: one at a time; another one than that which waits for requests may answer, if the arena is shared.
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
     * Bytes from the peer's program. InfiniBand and RoCE fill them up with zeros. Anybody may send anything.
     *
     * @return a copy; empty when there are none
     */
    public byte[] privateData() {
        return event.privateData();
    }

    /**
     * What the peer tells.
     *
     * @return a copy of the parameters
     */
    public ConnectionParameters peer() {
        return event.connection();
    }

    /**
     * The peer's address.
     *
     * @return the address
     * @throws IllegalStateException when this was rejected, or the server or the connection is closed
     */
    public InetSocketAddress remoteAddress() {
        return event.id().remoteAddress();
    }

    /**
     * The address of this machine that the peer connects to.
     *
     * @return the address
     * @throws IllegalStateException when this was rejected, or the server or the connection is closed
     */
    public InetSocketAddress localAddress() {
        return event.id().localAddress();
    }

    /**
     * The id of the connection, for what is not here.
     *
     * @return the id
     */
    public CmId id() {
        return event.id();
    }

    /**
     * Accepts. When there is not even an event channel for the connection, such as for want of a file descriptor (EMFILE),
     * or an argument is wrong, the request can still be answered; when it fails later, the peer is rejected.
     *
     * @param options sizes, private data, and what to do before the peer can send
     * @param timeout how long the peer may take to answer
     * @return the connection, which outlives the server
     * @throws InterruptedException when the thread is interrupted, within about 50 milliseconds
     * @throws IllegalArgumentException when the timeout is negative, there is too much private data, or the protection
     *     domain is that of another device
     * @throws IllegalStateException when this was answered already, or the server or the arena is closed
     * @throws NullPointerException when an argument is null
     * @throws ConnectionException when the peer is gone, or takes too long (ETIMEDOUT)
     * @throws org.rdmapanama.VerbsException when the device or the queue pair fails
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public RdmaConnection accept(RdmaConnectionOptions options, Duration timeout) throws InterruptedException {
        Deadline deadline = new Deadline(timeout);
        RdmaConnectionOptions given = options.copy();
        checkNotAnswered();
        SynchronousId id = SynchronousId.of(event.id());
        answered = true;
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
     * Rejects: the peer gets a {@link RejectedException} with status 28 and these bytes.
     *
     * @param privateData on InfiniBand and RoCE up to 148 bytes
     * @throws IllegalArgumentException when there is too much private data
     * @throws IllegalStateException when this was answered already, or the server is closed
     * @throws NullPointerException when the private data is null
     * @throws ConnectionException when the function fails, such as when the peer is gone; the request is over all the same
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

    /** For one that could not be accepted and that nobody else has: unless it is answered, the peer is told so. */
    void giveUp(Throwable failure) {
        if (!answered) {
            answered = true;
            CmId id = event.id();
            RdmaConnection.closeAll(failure, id::reject, id);
        }
    }

    /** A second answer would hit the connection that the first one made. */
    private void checkNotAnswered() {
        if (answered) {
            throw new IllegalStateException(this + " is answered already");
        }
    }

    /** Who wants to connect. */
    @Override
    public String toString() {
        return "request of " + event.id();
    }
}
