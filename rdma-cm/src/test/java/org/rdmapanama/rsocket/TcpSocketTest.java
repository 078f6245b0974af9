package org.rdmapanama.rsocket;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import org.rdmapanama.testing.Lab;

/** The sockets of the JDK's channels: they show that the contract is theirs. */
class TcpSocketTest extends SocketContract {
    @Override
    SelectorProvider provider() {
        return SelectorProvider.provider();
    }

    @Override
    InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Lab.port());
    }
}
