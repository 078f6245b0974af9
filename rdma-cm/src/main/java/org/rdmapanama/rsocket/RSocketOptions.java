package org.rdmapanama.rsocket;

import java.net.SocketOption;

/**
 * Options that only rsockets have, to be set before a channel connects or, for those accepted, on the server's channel.
 *
 * <p>See rsocket(7).
 */
public final class RSocketOptions {
    /**
     * How many work requests the send queue holds, 16 to 65534; librdmacm makes other values fit, and those that exceed
     * what the device can do. The default is 384, or what {@code /etc/rdma/rsocket/sqsize_default} says.
     */
    public static final SocketOption<Integer> RDMA_SQSIZE = new Option<>("RDMA_SQSIZE", Integer.class);

    /**
     * How many messages may arrive before the receiver has to grant more, 16 to 65534. The default is 384, or what
     * {@code /etc/rdma/rsocket/rqsize_default} says.
     */
    public static final SocketOption<Integer> RDMA_RQSIZE = new Option<>("RDMA_RQSIZE", Integer.class);

    /**
     * Up to how many bytes are sent inline, from 0; reading it tells, once connected, what the device allows. The default
     * is 64, or what {@code /etc/rdma/rsocket/inline_default} says.
     */
    public static final SocketOption<Integer> RDMA_INLINE = new Option<>("RDMA_INLINE", Integer.class);

    /**
     * How many memories the <em>peer</em> can open for writes of this side, exact up to 128, coarse above. The default is
     * 0, or what {@code /etc/rdma/rsocket/iomap_size} says: who wants to use {@link RSocketChannel#writeRemote} must set
     * it, before connecting.
     */
    public static final SocketOption<Integer> RDMA_IOMAPSIZE = new Option<>("RDMA_IOMAPSIZE", Integer.class);

    /**
     * The route to the peer, an array of {@code struct ibv_path_data}, in place of one that is resolved; only for
     * InfiniBand. Once connected, the route that is in use, empty where there is none.
     */
    public static final SocketOption<byte[]> RDMA_ROUTE = new Option<>("RDMA_ROUTE", byte[].class);

    private RSocketOptions() {}

    private record Option<T>(String name, Class<T> type) implements SocketOption<T> {
        @Override
        public String toString() {
            return name;
        }
    }
}
