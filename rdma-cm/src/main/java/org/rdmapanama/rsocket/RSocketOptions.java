package org.rdmapanama.rsocket;

import java.net.SocketOption;

/**
 * Socket options of rsockets. Set them before a channel connects, or, for accepted channels, on the server channel.
 *
 * <p>See rsocket(7).
 */
public final class RSocketOptions {
    /**
     * The size of the send queue in work requests, 16 to 65534; librdmacm adjusts other values, and those that exceed
     * the limits of the device. The default is 384, or the value in {@code /etc/rdma/rsocket/sqsize_default}.
     */
    public static final SocketOption<Integer> RDMA_SQSIZE = new Option<>("RDMA_SQSIZE", Integer.class);

    /**
     * How many messages may arrive before the receiver must grant more credits, 16 to 65534. The default is 384, or
     * the value in {@code /etc/rdma/rsocket/rqsize_default}.
     */
    public static final SocketOption<Integer> RDMA_RQSIZE = new Option<>("RDMA_RQSIZE", Integer.class);

    /**
     * The largest message that is sent inline, in bytes, 0 or more; on a connected channel, the actual limit of the
     * device. The default is 64, or the value in {@code /etc/rdma/rsocket/inline_default}.
     */
    public static final SocketOption<Integer> RDMA_INLINE = new Option<>("RDMA_INLINE", Integer.class);

    /**
     * How many mappings the <em>peer</em> can open for writes of this side; exact up to 128, rounded above. The default
     * is 0, or the value in {@code /etc/rdma/rsocket/iomap_size}: a program that uses {@link
     * RSocketChannel#writeRemote} must set it before connecting.
     */
    public static final SocketOption<Integer> RDMA_IOMAPSIZE = new Option<>("RDMA_IOMAPSIZE", Integer.class);

    /**
     * The route to the peer, an array of {@code struct ibv_path_data}, instead of a resolved one; for InfiniBand only.
     * On a connected channel, the route in use, empty if there is none.
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
