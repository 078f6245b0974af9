package org.rdmapanama.samples.perf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;

/** The messages between the two sides, and bytes from strangers. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PerfLinkTest {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Duration LONG = Duration.ofSeconds(30);

    private SocketChannel peer;
    private SocketChannel own;

    @BeforeEach
    void connect() throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            peer = SocketChannel.open(server.getLocalAddress());
            own = server.accept();
        }
    }

    @AfterEach
    void close() throws IOException {
        peer.close();
        own.close();
    }

    private static String failure(PerfLink link) {
        return assertThrows(Failure.class, () -> link.receive(PerfLink.Type.READY))
                .getMessage();
    }

    @Test
    void shouldDeliver() throws Exception {
        try (PerfLink left = new PerfLink(peer, LONG);
                PerfLink right = new PerfLink(own, LONG)) {
            left.send(PerfLink.Type.HEARTBEAT);
            left.send(PerfLink.Type.RESULT, new byte[] {1, 2, 3});
            left.send(PerfLink.Type.READY);
            ByteBuffer result = right.receive(PerfLink.Type.RESULT);
            assertEquals(ByteBuffer.wrap(new byte[] {1, 2, 3}), result);
            assertEquals(0, right.receive(PerfLink.Type.READY).remaining());
            byte[] large = new byte[300_000];
            large[299_999] = 7;
            Thread sender = Thread.ofPlatform().start(() -> {
                try {
                    left.send(PerfLink.Type.PLACE, large);
                } catch (IOException | InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            assertEquals(ByteBuffer.wrap(large), right.receive(PerfLink.Type.PLACE));
            sender.join();
        }
    }

    @Test
    void shouldRecognizeStrangers() throws Exception {
        try (PerfLink link = new PerfLink(own, LONG)) {
            peer.write(ByteBuffer.wrap("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
            assertTrue(failure(link).contains("is not 'rdma perf'"));
        }
    }

    @Test
    void shouldRecognizeAnotherVersion() throws Exception {
        try (PerfLink link = new PerfLink(own, LONG)) {
            peer.write(ByteBuffer.allocate(PerfLink.HEAD)
                    .putInt(0x5250_7066)
                    .putShort((short) (PerfLink.VERSION + 1))
                    .putShort((short) 0)
                    .putInt(0)
                    .flip());
            assertTrue(failure(link).contains("with protocol version " + (PerfLink.VERSION + 1)));
        }
    }

    @Test
    void shouldRefuseAMessageThatIsTooLong() throws Exception {
        try (PerfLink link = new PerfLink(own, LONG)) {
            peer.write(ByteBuffer.allocate(PerfLink.HEAD)
                    .putInt(0x5250_7066)
                    .putShort(PerfLink.VERSION)
                    .putShort((short) 0)
                    .putInt(Integer.MAX_VALUE)
                    .flip());
            assertTrue(failure(link).contains("malformed"));
        }
    }

    @Test
    void shouldTellWhatThePeerSays() throws Exception {
        try (PerfLink left = new PerfLink(peer, LONG);
                PerfLink right = new PerfLink(own, LONG)) {
            left.send(PerfLink.Type.DONE);
            assertTrue(failure(right).contains("the peer sent DONE instead of READY"));
            left.sendFailure("no such thing");
            assertTrue(failure(right).contains("the peer failed: no such thing"));
        }
    }

    @Test
    void shouldNoticeThatThePeerIsGone() throws Exception {
        try (PerfLink link = new PerfLink(own, LONG)) {
            link.look(System.nanoTime());
            assertFalse(link.hasMessage());
            peer.close();
            assertTrue(failure(link).contains("ended early"));
            assertThrows(Failure.class, () -> link.look(System.nanoTime()));
        }
    }

    @Test
    void shouldHearTheLastWordsOfThePeer() throws Exception {
        try (PerfLink right = new PerfLink(own, LONG)) {
            try (PerfLink left = new PerfLink(peer, LONG)) {
                left.send(PerfLink.Type.READY);
            }
            while (!right.hasMessage()) {
                right.look(System.nanoTime());
            }
            right.receive(PerfLink.Type.READY);
        }
    }

    @Test
    void shouldNotWaitForEver() throws Exception {
        try (PerfLink link = new PerfLink(own, SHORT)) {
            peer.write(ByteBuffer.wrap(new byte[] {0x52}));
            assertTrue(failure(link).contains("the peer was silent for"));
        }
    }

    /** Two sides that wait for each other both know that the other one is there. */
    @Test
    void shouldSayWhileItWaitsThatItIsThere() throws Exception {
        try (PerfLink left = new PerfLink(peer, LONG);
                PerfLink right = new PerfLink(own, LONG)) {
            right.limitSilence(Duration.ofSeconds(2));
            CompletableFuture<ByteBuffer> waiting = Async.start(() -> left.receive(PerfLink.Type.DONE));
            Bound enough = Bound.ofSeconds(4);
            while (!enough.isOver()) {
                right.look(System.nanoTime());
                Thread.sleep(10);
            }
            assertFalse(right.hasMessage(), "signs of life are no messages");
            right.send(PerfLink.Type.DONE);
            Async.get(waiting);
        }
    }

    @Test
    void shouldNoticeThatThePeerIsStopped() throws Exception {
        try (PerfLink link = new PerfLink(own, LONG)) {
            link.limitSilence(SHORT);
            Bound bound = Bound.usual();
            Failure failure = assertThrows(Failure.class, () -> {
                while (true) {
                    bound.check("it was not noticed");
                    link.look(System.nanoTime());
                }
            });
            assertTrue(failure.getMessage().contains("the peer was silent for"), failure::getMessage);
            assertTrue(failure(link).contains("the peer was silent for"));
        }
    }

    @Test
    void shouldEndOnInterrupt() throws Exception {
        try (PerfLink link = new PerfLink(own, LONG)) {
            Thread.currentThread().interrupt();
            assertThrows(Exception.class, () -> link.receive(PerfLink.Type.READY));
        } finally {
            Thread.interrupted();
        }
    }
}
