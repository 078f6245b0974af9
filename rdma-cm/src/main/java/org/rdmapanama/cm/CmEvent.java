package org.rdmapanama.cm;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * An event of an id, {@code struct rdma_cm_event}. It is a copy of a native event that has already been acknowledged,
 * so it stays valid after the id or the channel is closed; see rdma_get_cm_event(3).
 *
 * <p>Threads: any; instances are immutable.
 */
public final class CmEvent {
    private final CmEventType type;
    private final int status;
    private final CmId id;
    private final @Nullable CmId listener;
    private final @Nullable ConnectionParameters connection;
    private final @Nullable UdParameters datagram;
    private final @Nullable InetSocketAddress group;

    CmEvent(
            CmEventType type,
            int status,
            CmId id,
            @Nullable CmId listener,
            @Nullable ConnectionParameters connection,
            @Nullable UdParameters datagram,
            @Nullable InetSocketAddress group) {
        this.type = type;
        this.status = status;
        this.id = id;
        this.listener = listener;
        this.connection = connection;
        this.datagram = datagram;
        this.group = group;
    }

    /**
     * Returns what happened.
     *
     * @return the type of event
     */
    public CmEventType type() {
        return type;
    }

    /**
     * Returns the outcome: 0 for success, a negated errno, or, for a rejection on InfiniBand and RoCE, the reason code
     * that the peer's connection manager sent.
     *
     * @return the status
     */
    public int status() {
        return status;
    }

    /**
     * Returns the id that the event is about. A {@link CmEventType#CONNECT_REQUEST} carries a new id, which the caller
     * that takes the event must close.
     *
     * @return the id, which may already be closed
     */
    public CmId id() {
        return id;
    }

    /**
     * Returns the listening id that received a {@link CmEventType#CONNECT_REQUEST}.
     *
     * @return the id; null for other events
     */
    public @Nullable CmId listener() {
        return listener;
    }

    /**
     * Returns the connection parameters that the peer sent.
     *
     * @return a copy of the parameters; null for datagram ids and for multicast events
     */
    public @Nullable ConnectionParameters connection() {
        return connection == null ? null : connection.copy();
    }

    /**
     * Returns how to reach the peer or the multicast group with datagrams.
     *
     * @return the parameters; null for connected ids
     */
    public @Nullable UdParameters datagram() {
        return datagram;
    }

    /**
     * Returns the multicast group of a {@link CmEventType#MULTICAST_JOIN} or {@link CmEventType#MULTICAST_ERROR}.
     *
     * @return its address; null for other events
     */
    public @Nullable InetSocketAddress group() {
        return group;
    }

    /**
     * Returns the private data that the peer's program sent. InfiniBand and RoCE pad it with zeros.
     *
     * @return a copy; empty when there are none
     */
    public byte[] privateData() {
        if (connection != null) {
            return connection.privateData();
        }
        return datagram == null ? new byte[0] : datagram.privateData();
    }

    /** Says where the peer is, as far as that is known, for messages. */
    String atPeer() {
        return id == null ? "there" : id.atPeer();
    }

    /** Returns type, status, id and multicast group. */
    @Override
    public String toString() {
        return type + (status == 0 ? "" : " with status " + status) + " on " + id
                + (group == null ? "" : ", group " + group);
    }
}
