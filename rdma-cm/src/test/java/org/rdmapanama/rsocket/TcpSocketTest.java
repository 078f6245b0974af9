package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** The sockets of the JDK's channels: they show that the contract is theirs. */
class TcpSocketTest extends SocketContract {
    private static final int MOST_WAITING = 100;

    /** On the loopback interface an answer takes much less; what was dropped is sent again after a second. */
    private static final Duration ANSWER = Duration.ofMillis(200);

    private final List<AutoCloseable> silent = new ArrayList<>();

    @AfterEach
    void endSilence() throws Exception {
        for (AutoCloseable each : silent) {
            each.close();
        }
    }

    @Override
    SelectorProvider provider() {
        return SelectorProvider.provider();
    }

    @Override
    InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Lab.port());
    }

    /** Linux does not answer while as many clients as the backlog allows wait to be accepted. */
    @Override
    SocketAddress silent() throws IOException, InterruptedException {
        ServerSocketChannel server = keep(ServerSocketChannel.open()).bind(address(), 1);
        while (isAnswered(server.getLocalAddress())) {
            assertTrue(silent.size() < MOST_WAITING, "all clients are answered");
        }
        return server.getLocalAddress();
    }

    private boolean isAnswered(SocketAddress address) throws IOException, InterruptedException {
        SocketChannel client = keep(SocketChannel.open());
        client.configureBlocking(false);
        boolean answered = client.connect(address);
        Bound bound = Bound.of(ANSWER);
        while (!answered && !bound.isOver()) {
            Thread.sleep(1);
            answered = client.finishConnect();
        }
        return answered;
    }

    private <T extends AutoCloseable> T keep(T object) {
        silent.add(object);
        return object;
    }
}
