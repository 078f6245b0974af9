package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** What a process has written before it exits arrives, and then the end of the stream. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ExitLabTest {
    /** The wire loses packets, so that some are on their way when the JVM exits. The setting is one of soft0. */
    private static final List<String> LOSSES = List.of("-Dorg.rdmapanama.soft.faults=loss=0.2,seed=5");

    private static final int CLIENTS = 40;

    private static Program leave(int port, int bytes, String how) throws Exception {
        return Program.javaWith(
                LOSSES,
                Farewell.class,
                Lab.FIRST_HOST,
                Lab.SECOND_HOST,
                Integer.toString(port),
                Integer.toString(bytes),
                how);
    }

    @ParameterizedTest
    @CsvSource({"return, 1", "return, 100000", "exit, 100000", "reading, 100000"})
    void shouldSendWhatWasWrittenBeforeTheJvmExits(String how, int bytes) throws Exception {
        int port = Lab.port();
        try (RServerSocketChannel server = RServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(Lab.SECOND_HOST, port));
            CompletableFuture<RSocketChannel> accepting = Async.start(server::accept);
            try (Program leaving = leave(port, bytes, how);
                    RSocketChannel channel = Async.get(accepting)) {
                ByteBuffer received = ByteBuffer.allocate(bytes);
                Channels.readFully(channel, received);
                assertEquals(ByteBuffer.wrap(FillPattern.bytes(bytes, 1)), received.flip());
                assertEquals(-1, channel.read(ByteBuffer.allocate(1)));
                leaving.assertSucceeds();
            }
        }
    }

    /** The last message of the handshake is lost for some of them, and is not repeated before they have gone. */
    @Test
    void shouldAcceptClientsThatLeaveAtOnce() throws Exception {
        int port = Lab.port();
        try (RServerSocketChannel server = RServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(Lab.SECOND_HOST, port));
            try (Program leaving = leave(port, 1, Integer.toString(CLIENTS))) {
                int bytes = 0;
                for (int i = 0; i <= CLIENTS; i++) {
                    try (RSocketChannel channel = Async.get(Async.start(server::accept))) {
                        bytes += Math.max(0, channel.read(ByteBuffer.allocate(2)));
                    }
                }
                // One does not write anything.
                assertEquals(CLIENTS, bytes);
                leaving.assertSucceeds();
            }
        }
    }
}
