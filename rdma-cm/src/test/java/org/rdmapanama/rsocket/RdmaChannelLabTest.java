package org.rdmapanama.rsocket;

import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import org.junit.jupiter.api.Tag;
import org.rdmapanama.testing.Lab;

/** Channels over RDMA keep the contract of channels. */
@Tag("lab")
class RdmaChannelLabTest extends ChannelContract {
    @Override
    SelectorProvider provider() {
        return RSocketProvider.instance();
    }

    @Override
    InetSocketAddress address() {
        return Lab.freeAddress(Lab.SECOND_HOST);
    }
}
