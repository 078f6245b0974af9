package org.rdmapanama.frameworks;

import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import org.junit.jupiter.api.Tag;
import org.rdmapanama.rsocket.RSocketProvider;
import org.rdmapanama.testing.Lab;

/** Netty over RDMA. */
@Tag("lab")
class NettyLabTest extends NettyContract {
    @Override
    SelectorProvider provider() {
        return RSocketProvider.instance();
    }

    @Override
    InetSocketAddress address() {
        return Lab.freeAddress(Lab.SECOND_HOST);
    }

    /** The lab's kernel takes 30 ms for each end of a connection. */
    @Override
    int connections() {
        return Lab.isInLab() ? 200 : super.connections();
    }
}
