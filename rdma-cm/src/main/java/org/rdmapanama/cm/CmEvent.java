package org.rdmapanama.cm;

import java.net.InetSocketAddress;

/**
 * Something that happened to an id, {@code struct rdma_cm_event}: copied out and acknowledged already, so it stays valid
 * whatever is closed; see rdma_get_cm_event(3).
 *
 * <p>Threads: any.
 */
public final class CmEvent {
    private final CmEventType type;
    private final int status;
    private final CmId id;
    private final CmId listener;
    private final ConnectionParameters connection;
    private final UdParameters datagram;
    private final InetSocketAddress group;

    CmEvent(
            CmEventType type,
            int status,
            CmId id,
            CmId listener,
            ConnectionParameters connection,
            UdParameters datagram,
            InetSocketAddress group) {
        this.type = type;
        this.status = status;
        this.id = id;
        this.listener = listener;
        this.connection = connection;
        this.datagram = datagram;
        this.group = group;
    }

    /**
     * What happened.
     *
     * @return the type
     */
    public CmEventType type() {
        return type;
    }

    /**
     * How it went: 0 for well, a negated errno, or, for a rejection on InfiniBand and RoCE, the reason that the peer's
     * connection manager gave.
     *
     * @return the status
     */
    public int status() {
        return status;
    }

    /**
     * Whom it happened to. A {@link CmEventType#CONNECT_REQUEST} brings a new id, which belongs to who takes the event.
     *
     * @return the id, which may be closed by now
     */
    public CmId id() {
        return id;
    }

    /**
     * The listening id that a {@link CmEventType#CONNECT_REQUEST} came to.
     *
     * @return the id; null for other events
     */
    public CmId listener() {
        return listener;
    }

    /**
     * What the peer tells of the connection.
     *
     * @return a copy of the parameters; null for ids of datagrams and for multicast
     */
    public ConnectionParameters connection() {
        return connection == null ? null : connection.copy();
    }

    /**
     * How to reach the peer or the group with datagrams.
     *
     * @return the parameters; null for ids of connections
     */
    public UdParameters datagram() {
        return datagram;
    }

    /**
     * The multicast group that {@link CmEventType#MULTICAST_JOIN} and {@link CmEventType#MULTICAST_ERROR} are about.
     *
     * @return its address; null for other events
     */
    public InetSocketAddress group() {
        return group;
    }

    /**
     * Bytes from the peer's program. InfiniBand and RoCE fill them up with zeros.
     *
     * @return a copy; empty when there are none
     */
    public byte[] privateData() {
        return connection != null ? connection.privateData() : datagram.privateData();
    }

    /** What happened, how, and to whom. */
    @Override
    public String toString() {
        return type + (status == 0 ? "" : " with status " + status) + " of " + id
                + (group == null ? "" : ", group " + group);
    }
}
