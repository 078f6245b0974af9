package org.rdmapanama.rsocket;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.spi.SelectorProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.testing.Lab;

/** Sockets over RDMA keep the contract of sockets. */
@Tag("lab")
class RdmaSocketLabTest extends SocketContract {
    private final VerbsArena arena = VerbsArena.ofShared();

    @AfterEach
    void endSilence() {
        arena.close();
    }

    @Override
    SelectorProvider provider() {
        return RSocketProvider.instance();
    }

    @Override
    InetSocketAddress address() {
        return Lab.freeAddress(Lab.SECOND_HOST);
    }

    /** It never accepts the requests that come. */
    @Override
    SocketAddress silent() throws InterruptedException {
        return RdmaServer.listen(arena, address()).localAddress();
    }
}
