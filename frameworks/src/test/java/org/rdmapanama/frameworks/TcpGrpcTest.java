package org.rdmapanama.frameworks;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import org.rdmapanama.testing.Lab;

/** gRPC on the JDK's channels: what the others are measured by. */
class TcpGrpcTest extends GrpcContract {
    @Override
    SelectorProvider provider() {
        return SelectorProvider.provider();
    }

    @Override
    InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Lab.port());
    }
}
