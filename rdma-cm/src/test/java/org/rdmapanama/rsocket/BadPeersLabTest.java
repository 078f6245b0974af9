package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** Whatever a peer does, its channel tells it with an exception, and other channels go on. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BadPeersLabTest {
    private static final int[] VALUES = {0, 1, 0x7f, 0x80, 0xff};
    private static final int PIECE = 1000;
    private static final int RECEIVES = 100;

    private final VerbsArena arena = VerbsArena.ofShared();
    private RServerSocketChannel server;

    /** An honest client, and the channel that the server has accepted from it. */
    private Channels.Pair honest;

    @BeforeEach
    void setUp() throws Exception {
        server = RServerSocketChannel.open().bind(Lab.freeAddress(Lab.SECOND_HOST), 4);
        RSocketChannel client = RSocketChannel.open();
        Channels.Pair.connect(server, client);
        honest = new Channels.Pair(server, client, server.accept());
    }

    @AfterEach
    void tearDown() throws Exception {
        honest.close();
        arena.close();
    }

    private void assertHonestOnesAreUndisturbed() throws IOException {
        Channels.writeFully(honest.client(), ByteBuffer.allocate(PIECE));
        Channels.readFully(honest.accepted(), ByteBuffer.allocate(PIECE));
        Channels.writeFully(honest.accepted(), ByteBuffer.allocate(PIECE));
        Channels.readFully(honest.client(), ByteBuffer.allocate(PIECE));
    }

    private static byte[] goodData() {
        return new ConnectionData(false, 16, 0, new Offer(0x1000, 42, 2), new Offer(0x2000, 43, 4096)).toBytes();
    }

    /** Each byte with several values. */
    private static List<byte[]> mutations() {
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < ConnectionData.BYTES; i++) {
            for (int value : VALUES) {
                byte[] data = goodData();
                if (data[i] != (byte) value) {
                    data[i] = (byte) value;
                    all.add(data);
                }
            }
        }
        all.add(new byte[0]);
        all.add(new byte[] {1});
        return all;
    }

    private RdmaConnection connect(byte... privateData) throws InterruptedException {
        return new RdmaClient(arena).connect(server.localAddress(), options(privateData), Lab.SECONDS);
    }

    /** With receives, because without one a message is no worse than one that nobody reads. */
    private static RdmaConnectionOptions options(byte... privateData) {
        return new RdmaConnectionOptions().privateData(privateData).prepare(connection -> {
            ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(connection.queuePair(), 0);
            for (int i = 0; i < RECEIVES; i++) {
                connection.queuePair().postReceive(receive);
            }
        });
    }

    /** Writes and reads until the channel tells that something is wrong. */
    private static void assertBreaks(RSocketChannel channel) throws Exception {
        channel.configureBlocking(false);
        ByteBuffer data = ByteBuffer.allocate(PIECE);
        Bound.of(Async.LIMIT).await("a failure", () -> {
            try {
                channel.write(data.clear());
                return channel.read(data.clear()) < 0;
            } catch (IOException e) {
                return true;
            }
        });
    }

    @Test
    void shouldBearAnyPrivateDataOfAClient() throws Exception {
        int connected = 0;
        for (byte[] each : mutations()) {
            try (RdmaConnection client = connect(each)) {
                connected++;
                assertTrue(client.isConnected());
                try (RSocketChannel accepted = server.accept()) {
                    // It may write to the address and with the key that the client has named, which do not exist.
                    assertBreaks(accepted);
                }
            } catch (VerbsException e) {
                assertTrue(e.getMessage().contains("REJECTED"), e.getMessage());
            }
        }
        assertTrue(connected > 0, "some mutations are allowed");
        assertTrue(connected < mutations().size(), "some are refused");
        assertHonestOnesAreUndisturbed();
    }

    @Test
    void shouldBearAnyPrivateDataOfAServer() throws Exception {
        RdmaServer bad = RdmaServer.listen(arena, Lab.freeAddress(Lab.SECOND_HOST));
        int connected = 0;
        List<byte[]> mutations = mutations();
        for (byte[] each : mutations) {
            try (RSocketChannel channel = RSocketChannel.open()) {
                CompletableFuture<Boolean> connecting = Async.start(() -> {
                    try {
                        return channel.connect(bad.localAddress(), Async.LIMIT);
                    } catch (IOException e) {
                        return false;
                    }
                });
                try (RdmaConnection accepted =
                        bad.awaitRequest(Lab.SECONDS).orElseThrow().accept(options(each), Lab.SECONDS)) {
                    if (Async.get(connecting)) {
                        connected++;
                        assertBreaks(channel);
                    } else {
                        assertFalse(channel.isOpen());
                    }
                    assertTrue(accepted.queuePair().isOpen());
                } catch (VerbsException e) {
                    // The client has refused it at once.
                    assertFalse(Async.get(connecting));
                }
            }
        }
        assertTrue(connected > 0, "some mutations are allowed");
        assertTrue(connected < mutations.size(), "some are refused");
        assertHonestOnesAreUndisturbed();
    }

    /** It has no private data, or too little; what arrives may be padded with zeros. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, ConnectionData.BYTES - 1})
    void shouldSayThatAServerIsNotAnRsocket(int bytes) throws Exception {
        RdmaServer stranger = RdmaServer.listen(arena, Lab.freeAddress(Lab.SECOND_HOST));
        RSocketChannel channel = RSocketChannel.open();
        CompletableFuture<Boolean> connecting =
                Async.start(() -> channel.connect(stranger.localAddress(), Async.LIMIT));
        try (RdmaConnection accepted = stranger.awaitRequest(Lab.SECONDS)
                .orElseThrow()
                .accept(new RdmaConnectionOptions().privateData(new byte[bytes]), Lab.SECONDS)) {
            Throwable failure = assertThrows(ExecutionException.class, () -> Async.get(connecting))
                    .getCause();
            assertInstanceOf(ProtocolException.class, failure);
            assertTrue(failure.getMessage().contains("the peer"), failure.getMessage());
            assertTrue(accepted.queuePair().isOpen());
        }
        assertFalse(channel.isOpen());
        assertHonestOnesAreUndisturbed();
    }

    @Test
    void shouldBearAnyMessage() throws Exception {
        for (int kind = 0; kind < 8; kind++) {
            for (int number : new int[] {0, 1, 2, 3, 100, 0x8000, 0xffff, 0x10000, StreamMessage.MAX_NUMBER}) {
                try (RdmaConnection client = connect(goodData());
                        RSocketChannel accepted = server.accept()) {
                    accepted.configureBlocking(false);
                    QueuePair queuePair = client.queuePair();
                    SendWorkRequest message = SendWorkRequest.allocate(queuePair, 0)
                            .rdmaWriteWithImmediate(0, 0, StreamMessage.of(kind, number));
                    for (int i = 0; i < 20; i++) {
                        queuePair.postSend(message);
                    }
                    for (int i = 0; i < 20; i++) {
                        readSomething(accepted);
                    }
                }
            }
        }
        assertHonestOnesAreUndisturbed();
    }

    /** The memory of the message is the channel's own, so what is read is no more than zeros. */
    private static void readSomething(RSocketChannel channel) {
        ByteBuffer target = ByteBuffer.allocate(PIECE);
        try {
            int count = channel.read(target);
            for (int i = 0; i < count; i++) {
                assertEquals(0, target.get(i));
            }
        } catch (IOException e) {
            // This tells what was wrong.
        }
    }

    @Test
    void shouldBearAPeerThatStopsReading() throws Exception {
        RSocketChannel lazy = RSocketChannel.open();
        Channels.Pair.connect(server, lazy);
        try (RSocketChannel accepted = server.accept()) {
            accepted.configureBlocking(false);
            ByteBuffer much = ByteBuffer.allocate(64 << 20);
            Bound.of(Async.LIMIT).await("no room", () -> accepted.write(much) == 0);
            int buffers = StreamSizes.DEFAULT.sendBytes() + StreamSizes.DEFAULT.receiveBytes();
            assertTrue(much.position() <= buffers, () -> "both sides keep " + much.position() + " bytes");
            assertHonestOnesAreUndisturbed();
        }
        assertHonestOnesAreUndisturbed();
        lazy.close();
    }

    @Test
    void shouldBearAServerThatNeverAccepts() throws Exception {
        List<RSocketChannel> clients = new ArrayList<>();
        // As many as the backlog.
        for (int i = 0; i < 4; i++) {
            RSocketChannel client = RSocketChannel.open();
            clients.add(client);
            Channels.Pair.connect(server, client);
            client.configureBlocking(false);
            ByteBuffer much = ByteBuffer.allocate(1 << 20);
            Bound.of(Async.LIMIT).await("no room", () -> client.write(much) == 0);
        }
        RSocketChannel beyond = RSocketChannel.open();
        ConnectException refused = assertThrows(ConnectException.class, () -> Channels.Pair.connect(server, beyond));
        assertTrue(refused.getMessage().startsWith("Connection refused"), refused.getMessage());
        assertHonestOnesAreUndisturbed();
        for (RSocketChannel each : clients) {
            try (RSocketChannel accepted = server.accept()) {
                Channels.readFully(accepted, ByteBuffer.allocate(PIECE));
            }
            each.close();
        }
        try (RSocketChannel again = RSocketChannel.open()) {
            Channels.Pair.connect(server, again);
            Channels.close(server.accept());
            assertEquals(-1, again.read(ByteBuffer.allocate(1)));
        }
    }
}
