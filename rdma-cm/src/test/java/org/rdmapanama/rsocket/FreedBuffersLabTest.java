package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.CmEventType;
import org.rdmapanama.cm.NativeMemory;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.cm.StalledClients;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** However a connection ends, its buffers are freed with it, and not when garbage is collected. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FreedBuffersLabTest {
    /** What was not freed would be that many buffers of 128 KiB. */
    private static final int COUNT = 20;

    /** Half a buffer. */
    private static final int MOST_LEFT = StreamSizes.DEFAULT.receiveBytes() / 2;

    private static final byte[] CLIENT =
            new ConnectionData(false, 16, 0, new Offer(0x1000, 42, 2), new Offer(0x2000, 43, 4096)).toBytes();

    /** In a process of its own, because it looks at the memory of the process. */
    @Test
    void shouldFreeBuffersWithTheirConnection() throws Exception {
        try (Program alone = Program.javaWith(List.of(NativeMemory.OPTION), Alone.class)) {
            alone.assertSucceeds();
        }
    }

    /** A number of connections that end in a certain way. */
    @FunctionalInterface
    private interface Ending {
        void run(int count) throws Exception;
    }

    /** Ends connections in all ways. */
    static final class Alone {
        private Alone() {}

        public static void main(String[] arguments) throws Exception {
            check("nobody listens", FreedBuffersLabTest::connectToNobody);
            check("the backlog is full", FreedBuffersLabTest::connectBeyondTheBacklog);
            check("the server is not an rsocket", FreedBuffersLabTest::connectToAStranger);
            check("connecting times out", FreedBuffersLabTest::connectToASilentServer);
            check("the client resets", FreedBuffersLabTest::reset);
            check("the handshake times out", FreedBuffersLabTest::letHandshakesTimeOut);
            check("the server closes while handshakes go on", FreedBuffersLabTest::closeBesideHandshakes);
            check("the server closes while clients wait", FreedBuffersLabTest::closeBesideClients);
            check("the client has left before it is accepted", FreedBuffersLabTest::acceptLateWhoLeft);
            check(
                    "the client has broken the protocol before it is accepted",
                    FreedBuffersLabTest::acceptLateWhoBrokeTheProtocol);
        }
    }

    private static void check(String what, Ending ending) throws Exception {
        ending.run(1);
        long before = NativeMemory.used();
        ending.run(COUNT);
        long[] left = new long[1];
        Bound.of(Lab.PATIENCE)
                .await(() -> what + ": " + left[0] + " bytes are left of " + COUNT + " connections", () -> {
                    left[0] = used(before);
                    return left[0] < MOST_LEFT;
                });
    }

    private static long used(long before) throws Exception {
        return NativeMemory.used() - before;
    }

    private static RServerSocketChannel server(int backlog) throws IOException {
        return RServerSocketChannel.open().bind(Lab.freeAddress(Lab.SECOND_HOST), backlog);
    }

    private static void connectToNobody(int count) {
        for (int i = 0; i < count; i++) {
            assertThrows(ConnectException.class, () -> RSocketChannel.open().connect(Lab.freeAddress(Lab.SECOND_HOST)));
        }
    }

    private static void connectBeyondTheBacklog(int count) throws Exception {
        try (RServerSocketChannel server = server(1);
                RSocketChannel first = RSocketChannel.open()) {
            Channels.Pair.connect(server, first);
            for (int i = 0; i < count; i++) {
                assertThrows(ConnectException.class, () -> Channels.Pair.connect(server, RSocketChannel.open()));
            }
        }
    }

    private static void connectToAStranger(int count) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            RdmaServer stranger = RdmaServer.listen(arena, Lab.freeAddress(Lab.SECOND_HOST));
            for (int i = 0; i < count; i++) {
                CompletableFuture<Boolean> connecting =
                        Async.start(() -> RSocketChannel.open().connect(stranger.localAddress()));
                try (RdmaConnection accepted = stranger.accept(Lab.SECONDS).orElseThrow()) {
                    assertTrue(accepted.queuePair().isOpen());
                    assertThrows(Exception.class, () -> Async.get(connecting));
                }
            }
        }
    }

    private static void connectToASilentServer(int count) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            InetSocketAddress silent =
                    RdmaServer.listen(arena, Lab.freeAddress(Lab.SECOND_HOST)).localAddress();
            for (int i = 0; i < count; i++) {
                assertThrows(
                        SocketTimeoutException.class,
                        () -> RSocketChannel.open().connect(silent, Duration.ofMillis(100)));
            }
        }
    }

    private static void reset(int count) throws Exception {
        try (RServerSocketChannel server = server(1)) {
            for (int i = 0; i < count; i++) {
                RSocketChannel client = RSocketChannel.open();
                Channels.Pair.connect(server, client);
                client.setOption(StandardSocketOptions.SO_LINGER, 0);
                try (RSocketChannel accepted = server.accept()) {
                    Channels.close(client);
                    assertEquals(-1, accepted.read(ByteBuffer.allocate(1)));
                }
            }
        }
    }

    private static void stall(StalledClients clients, int count, InetSocketAddress server) throws Exception {
        clients.add(count, server, i -> CLIENT);
    }

    private static void letHandshakesTimeOut(int count) throws Exception {
        int[] failed = {0};
        RdmaServerOptions options = new RdmaServerOptions()
                .handshakeTimeout(Duration.ofMillis(300))
                .onFailedHandshake(reason -> failed[0]++)
                .connections(request -> Optional.of(StreamLink.options(StreamSizes.DEFAULT, null)));
        try (VerbsArena arena = VerbsArena.ofShared();
                StalledClients clients = new StalledClients()) {
            RdmaServer server = RdmaServer.listen(arena, Lab.freeAddress(Lab.SECOND_HOST), options);
            long before = NativeMemory.used();
            stall(clients, count, server.localAddress());
            Bound.of(Lab.PATIENCE).await("timeouts", () -> {
                assertTrue(server.accept(Duration.ofMillis(10)).isEmpty());
                return failed[0] == count;
            });
            // While the clients are still there, and the server is open.
            assertTrue(used(before) < MOST_LEFT, () -> "used more than before");
        }
    }

    private static void closeBesideHandshakes(int count) throws Exception {
        try (StalledClients clients = new StalledClients()) {
            try (RServerSocketChannel server = server(1)) {
                stall(clients, count, (InetSocketAddress) server.getLocalAddress());
                clients.await(CmEventType.CONNECT_RESPONSE, count);
            }
        }
    }

    private static void closeBesideClients(int count) throws Exception {
        List<RSocketChannel> clients = new ArrayList<>();
        try (RServerSocketChannel server = server(count)) {
            for (int i = 0; i < count; i++) {
                RSocketChannel client = RSocketChannel.open();
                clients.add(client);
                Channels.Pair.connect(server, client);
            }
        }
        for (RSocketChannel each : clients) {
            assertEquals(-1, each.read(ByteBuffer.allocate(1)));
            each.close();
        }
    }

    private static void acceptLateWhoLeft(int count) throws Exception {
        try (RServerSocketChannel server = server(1)) {
            for (int i = 0; i < count; i++) {
                RSocketChannel client = RSocketChannel.open();
                Channels.Pair.connect(server, client);
                Channels.close(client);
                try (RSocketChannel accepted = server.accept()) {
                    assertEquals(-1, accepted.read(ByteBuffer.allocate(1)));
                }
            }
        }
    }

    private static void acceptLateWhoBrokeTheProtocol(int count) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RServerSocketChannel server = server(1)) {
            for (int i = 0; i < count; i++) {
                RdmaConnection client = RawPeer.connect(arena, server, StreamLabTest.withoutReceives(16));
                client.queuePair()
                        .postSend(SendWorkRequest.allocate(client.queuePair(), 1)
                                .signaled(true)
                                .rdmaWriteWithImmediate(0, 0, StreamMessage.of(StreamMessage.DATA, 1 << 20)));
                WorkCompletions completions = new WorkCompletions(client.sendQueue(), 1);
                Bound.of(Lab.SECONDS)
                        .await("no completion", () -> client.sendQueue().poll(completions) > 0);
                completions.check(0);
                client.close();
                try (RSocketChannel accepted = server.accept()) {
                    assertThrows(ProtocolException.class, () -> accepted.read(ByteBuffer.allocate(1)));
                }
            }
        }
    }
}
