package org.rdmapanama.rsocket;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import org.rdmapanama.testing.Lab;

/** The JDK's channels: they show that the contract is theirs. */
class TcpChannelTest extends ChannelContract {
    @Override
    SelectorProvider provider() {
        return SelectorProvider.provider();
    }

    @Override
    InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Lab.port());
    }
}
