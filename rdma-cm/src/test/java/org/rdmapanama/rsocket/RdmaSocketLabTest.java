package org.rdmapanama.rsocket;

import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import org.junit.jupiter.api.Tag;
import org.rdmapanama.testing.Lab;

/** Sockets over RDMA keep the contract of sockets. */
@Tag("lab")
class RdmaSocketLabTest extends SocketContract {
    @Override
    SelectorProvider provider() {
        return RSocketProvider.instance();
    }

    @Override
    InetSocketAddress address() {
        return Lab.freeAddress(Lab.SECOND_HOST);
    }
}
