package org.rdmapanama.rsocket;

import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import org.junit.jupiter.api.Tag;
import org.rdmapanama.testing.Lab;

/** Selectors of channels over RDMA keep the contract of selectors. */
@Tag("lab")
class RdmaSelectorLabTest extends SelectorContract {
    @Override
    SelectorProvider provider() {
        return RSocketProvider.instance();
    }

    @Override
    InetSocketAddress address() {
        return Lab.freeAddress(Lab.SECOND_HOST);
    }
}
