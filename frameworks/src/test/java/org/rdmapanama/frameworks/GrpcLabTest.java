package org.rdmapanama.frameworks;

import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import org.junit.jupiter.api.Tag;
import org.rdmapanama.rsocket.RSocketProvider;
import org.rdmapanama.testing.Lab;

/** gRPC over RDMA. */
@Tag("lab")
class GrpcLabTest extends GrpcContract {
    @Override
    SelectorProvider provider() {
        return RSocketProvider.instance();
    }

    @Override
    InetSocketAddress address() {
        return Lab.freeAddress(Lab.SECOND_HOST);
    }
}
