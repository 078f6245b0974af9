package org.rdmapanama.rsocket;

import java.net.SocketOption;

/**
 * Socket options of channels over RDMA. Those of the queues take effect if they are set before a channel connects, or, for
 * accepted channels, on the server channel before the client comes.
 *
 * <p>See rsocket(7).
 */
public final class RSocketOptions {
    /**
     * The size of the send queue in work requests, 16 to 65534; where the device allows fewer, as many as it allows. On a
     * connected channel, the actual size. The default is 384.
     */
    public static final SocketOption<Integer> RDMA_SQSIZE = new Option<>("RDMA_SQSIZE", Integer.class);

    /**
     * How many messages may arrive before the receiver must grant more credits, 16 to 65534; where the device allows fewer, as
     * many as it allows. On a connected channel, the actual number. The default is 384.
     */
    public static final SocketOption<Integer> RDMA_RQSIZE = new Option<>("RDMA_RQSIZE", Integer.class);

    /**
     * The largest message that is sent inline, in bytes, 0 or more; on a connected channel, the actual limit of the
     * device. The default is 64.
     */
    public static final SocketOption<Integer> RDMA_INLINE = new Option<>("RDMA_INLINE", Integer.class);

    /**
     * How many mappings the <em>peer</em> can open for writes of this side, 0 to 32512; exact up to 128, a multiple of 256
     * above. The default is 0: a program that uses {@link RSocketChannel#writeRemote} must set it before connecting.
     */
    public static final SocketOption<Integer> RDMA_IOMAPSIZE = new Option<>("RDMA_IOMAPSIZE", Integer.class);

    /**
     * How long a blocking call polls before it sleeps, in microseconds, 0 to 1,000,000; at any time. While data comes soon
     * after that, it polls up to ten times as long. A selector polls for the longest time that a channel had when it was
     * registered. Polling sees data sooner than a thread wakes up, and takes a processor meanwhile. The default is 10, as
     * librdmacm has it.
     */
    public static final SocketOption<Integer> RDMA_POLLING_TIME = new Option<>("RDMA_POLLING_TIME", Integer.class);

    private RSocketOptions() {}

    private record Option<T>(String name, Class<T> type) implements SocketOption<T> {
        @Override
        public String toString() {
            return name;
        }
    }
}
