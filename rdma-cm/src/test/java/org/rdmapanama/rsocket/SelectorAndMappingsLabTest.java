package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** Several channels watched at once, and memory that peers write into. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class SelectorAndMappingsLabTest {
    /** An echo server as one writes it for TCP: nothing but the provider tells that it is for RDMA. */
    private static void echo(SelectorProvider provider, ServerSocketChannel server, int connections)
            throws IOException {
        server.configureBlocking(false);
        try (Selector selector = provider.openSelector()) {
            server.register(selector, SelectionKey.OP_ACCEPT);
            int ended = 0;
            while (ended < connections) {
                selector.select();
                Iterator<SelectionKey> ready = selector.selectedKeys().iterator();
                while (ready.hasNext()) {
                    SelectionKey key = ready.next();
                    ready.remove();
                    if (key.isAcceptable()) {
                        SocketChannel accepted = server.accept();
                        if (accepted != null) {
                            accepted.configureBlocking(false);
                            accepted.register(selector, SelectionKey.OP_READ, ByteBuffer.allocate(1 << 16));
                        }
                        continue;
                    }
                    SocketChannel channel = (SocketChannel) key.channel();
                    ByteBuffer buffer = (ByteBuffer) key.attachment();
                    if (key.isReadable() && channel.read(buffer) < 0) {
                        channel.close();
                        ended++;
                        continue;
                    }
                    channel.write(buffer.flip());
                    buffer.compact();
                    boolean full = buffer.position() > 0;
                    key.interestOps(full ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ);
                    if (!buffer.hasRemaining()) {
                        key.interestOps(SelectionKey.OP_WRITE);
                    }
                }
            }
        }
    }

    @Test
    void shouldServeSeveralClients() throws Exception {
        byte[] sent = FillPattern.bytes(300_000, 1);
        SelectorProvider provider = RSocketProvider.instance();
        try (ServerSocketChannel server = provider.openServerSocketChannel()) {
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            CompletableFuture<?> serving = Async.start(() -> {
                echo(provider, server, 3);
                return null;
            });
            CompletableFuture<?>[] clients = new CompletableFuture<?>[3];
            for (int i = 0; i < clients.length; i++) {
                clients[i] = Async.start(() -> {
                    try (RSocketChannel client = RSocketChannel.open(server.getLocalAddress())) {
                        CompletableFuture<Integer> writing = Async.start(() -> client.write(ByteBuffer.wrap(sent)));
                        ByteBuffer received = ByteBuffer.allocate(sent.length);
                        Channels.readFully(client, received);
                        assertEquals(ByteBuffer.wrap(sent), received.flip());
                        assertEquals(sent.length, Async.get(writing));
                    }
                    return null;
                });
            }
            for (CompletableFuture<?> client : clients) {
                Async.get(client);
            }
            Async.get(serving);
        }
    }

    @Test
    void shouldSelectConnecting() throws Exception {
        try (RSelector selector = RSelector.open();
                RServerSocketChannel server = RServerSocketChannel.open();
                RSocketChannel client = RSocketChannel.open();
                RSocketChannel lost = RSocketChannel.open()) {
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            client.configureBlocking(false);
            lost.configureBlocking(false);
            SelectionKey key = client.register(selector, SelectionKey.OP_CONNECT);
            // Now and then it is connected, or refused, at once.
            if (!client.connect(server.getLocalAddress())) {
                assertEquals(1, selector.select(30_000));
                assertTrue(key.isConnectable());
                assertTrue(client.finishConnect());
            }
            selector.selectedKeys().clear();
            key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
            assertEquals(1, selector.selectNow());
            assertTrue(key.isWritable());
            assertFalse(key.isReadable());
            // Nothing changes.
            assertEquals(0, selector.selectNow());
            selector.selectedKeys().clear();

            key.interestOps(0);
            lost.register(selector, SelectionKey.OP_CONNECT);
            assertThrows(IOException.class, () -> {
                assertFalse(lost.connect(Lab.freeAddress(Lab.SECOND_HOST)));
                assertEquals(1, selector.select(30_000));
                lost.finishConnect();
            });
            assertFalse(lost.isOpen());
            assertEquals(2, selector.keys().size());
            selector.selectNow();
            assertEquals(1, selector.keys().size());
            Channels.close(client);
            selector.selectNow();
            assertEquals(0, selector.keys().size());
            assertThrows(CancelledKeyException.class, key::readyOps);
        }
    }

    @Test
    void shouldEndSelecting() throws Exception {
        try (RSelector selector = RSelector.open();
                Channels.Pair pair = Channels.Pair.open()) {
            pair.client().configureBlocking(false);
            SelectionKey key = pair.client().register(selector, SelectionKey.OP_READ);
            long start = System.nanoTime();
            assertEquals(0, selector.select(100));
            assertTrue(System.nanoTime() - start >= Duration.ofMillis(100).toNanos());

            selector.wakeup();
            assertEquals(0, selector.select());
            CompletableFuture<Integer> selecting = Async.start(selector::select);
            Thread.sleep(100);
            assertFalse(selecting.isDone());
            selector.wakeup();
            assertEquals(0, Async.get(selecting));

            selecting = Async.start(() -> {
                Thread.currentThread().interrupt();
                int count = selector.select();
                assertTrue(Thread.interrupted());
                return count;
            });
            assertEquals(0, Async.get(selecting));

            selecting = Async.start(selector::select);
            Channels.writeFully(pair.accepted(), ByteBuffer.allocate(1));
            assertEquals(1, Async.get(selecting));
            assertTrue(key.isReadable());
            assertThrows(
                    UnsupportedOperationException.class,
                    () -> selector.selectedKeys().add(key));

            selecting = Async.start(() -> {
                selector.selectedKeys().clear();
                key.interestOps(0);
                return selector.select();
            });
            Thread.sleep(100);
            Channels.close(selector);
            assertEquals(0, Async.get(selecting));
            assertThrows(ClosedSelectorException.class, selector::selectNow);
            assertFalse(key.isValid());
            try (SocketChannel other = SocketChannel.open();
                    RSelector second = RSelector.open()) {
                other.configureBlocking(false);
                assertThrows(IllegalSelectorException.class, () -> other.register(second, SelectionKey.OP_READ));
            }
        }
    }

    private static Channels.Pair mappingPair() throws Exception {
        RServerSocketChannel server = RServerSocketChannel.open();
        server.bind(Lab.freeAddress(Lab.SECOND_HOST));
        RSocketChannel client = RSocketChannel.open();
        client.setOption(RSocketOptions.RDMA_IOMAPSIZE, 2);
        Channels.Pair.connect(server, client);
        return new Channels.Pair(server, client, server.accept());
    }

    @Test
    void shouldWriteIntoMemoryOfThePeer() throws Exception {
        byte[] sent = FillPattern.bytes(200_000, 1);
        try (Channels.Pair pair = mappingPair()) {
            MemorySegment first = Arena.ofAuto().allocate(120_000);
            MemorySegment second =
                    MemorySegment.ofBuffer(Arena.ofAuto().allocate(100_000).asByteBuffer());
            // Nothing is open yet.
            assertThrows(SocketException.class, () -> pair.client().writeRemote(MemorySegment.ofArray(sent), 0));

            IoMapping low = pair.accepted().mapForRemoteWrite(first, 1000);
            IoMapping high = pair.accepted().mapForRemoteWrite(second, 121_000);
            assertThrows(IOException.class, () -> pair.accepted().mapForRemoteWrite(first, 1_000_000));
            Channels.writeFully(pair.accepted(), ByteBuffer.allocate(1));
            Channels.readFully(pair.client(), ByteBuffer.allocate(1));

            ByteBuffer source = ByteBuffer.wrap(sent, 0, 119_000);
            assertEquals(119_000, pair.client().writeRemote(source, 2000));
            assertFalse(source.hasRemaining());
            assertEquals(
                    81_000,
                    pair.client().writeRemote(MemorySegment.ofArray(sent).asSlice(119_000), 121_000));
            Channels.writeFully(pair.client(), ByteBuffer.allocate(1));
            Channels.readFully(pair.accepted(), ByteBuffer.allocate(1));
            assertEquals(-1, MemorySegment.ofArray(sent).asSlice(0, 119_000).mismatch(first.asSlice(1000)));
            assertEquals(-1, MemorySegment.ofArray(sent).asSlice(119_000).mismatch(second.asSlice(0, 81_000)));
            assertEquals(0, first.get(ValueLayout.JAVA_BYTE, 999));
            assertEquals(0, second.get(ValueLayout.JAVA_BYTE, 81_000));
            SocketException beyond = assertThrows(
                    SocketException.class,
                    () -> pair.client().writeRemote(MemorySegment.ofArray(new byte[2000]), 221_000));
            assertTrue(beyond.getMessage().contains("221000"), beyond.getMessage());

            low.close();
            low.close();
            // Its place is free again.
            try (IoMapping again = pair.accepted().mapForRemoteWrite(first, 500_000)) {
                Channels.writeFully(pair.accepted(), ByteBuffer.allocate(1));
                Channels.readFully(pair.client(), ByteBuffer.allocate(1));
                pair.client().writeRemote(MemorySegment.ofArray(new byte[] {42}), again.offset());
                Channels.writeFully(pair.client(), ByteBuffer.allocate(1));
                Channels.readFully(pair.accepted(), ByteBuffer.allocate(1));
                assertEquals(42, first.get(ValueLayout.JAVA_BYTE, 0));
            }
            pair.accepted().close();
            high.close();
        }
    }

    /** Writing into memory takes no room in the stream, which may be full because the peer waits for the memory. */
    @Test
    void shouldWriteIntoMemoryOfAPeerThatDoesNotRead() throws Exception {
        byte[] sent = FillPattern.bytes(4 << 20, 1);
        try (Channels.Pair pair = mappingPair()) {
            MemorySegment memory = Arena.ofAuto().allocate(sent.length);
            pair.accepted().mapForRemoteWrite(memory, 0);
            Channels.writeFully(pair.accepted(), ByteBuffer.allocate(1));
            Channels.readFully(pair.client(), ByteBuffer.allocate(1));
            pair.client().configureBlocking(false);
            ByteBuffer much = ByteBuffer.allocate(sent.length);
            Bound.of(Async.LIMIT).await("no room", () -> pair.client().write(much) == 0);
            pair.client().configureBlocking(true);
            assertEquals(
                    sent.length,
                    Async.get(Async.start(() -> pair.client().writeRemote(MemorySegment.ofArray(sent), 0))));
            Bound.of(Async.LIMIT)
                    .await("the data", () -> MemorySegment.ofArray(sent).mismatch(memory) < 0);
        }
    }

    /** What was written before arrives, and the rsocket goes, though a mapping was left open. */
    @Test
    void shouldCloseWithAnOpenMapping() throws Exception {
        for (boolean outputEnded : new boolean[] {false, true}) {
            try (Channels.Pair pair = mappingPair()) {
                MemorySegment memory = Arena.ofAuto().allocate(1000);
                IoMapping mapping = pair.accepted().mapForRemoteWrite(memory, 0);
                pair.accepted().mapForRemoteWrite(memory, 10_000);
                Channels.writeFully(pair.accepted(), ByteBuffer.wrap(FillPattern.bytes(3000, 1)));
                if (outputEnded) {
                    pair.accepted().shutdownOutput();
                }
                pair.accepted().close();
                ByteBuffer received = ByteBuffer.allocate(3000);
                Channels.readFully(pair.client(), received);
                assertEquals(ByteBuffer.wrap(FillPattern.bytes(3000, 1)), received.flip());
                assertEquals(-1, pair.client().read(ByteBuffer.allocate(1)));
                mapping.close();
            }
        }
    }

    @Test
    void shouldRefuseMemoryThatCouldBeFreed() throws Exception {
        try (Channels.Pair pair = mappingPair();
                Arena arena = Arena.ofShared()) {
            RSocketChannel channel = pair.accepted();
            MemorySegment fine = Arena.ofAuto().allocate(10);
            assertThrows(IllegalArgumentException.class, () -> channel.mapForRemoteWrite(arena.allocate(10), 0));
            MemorySegment buffer = MemorySegment.ofBuffer(ByteBuffer.allocateDirect(10));
            assertThrows(IllegalArgumentException.class, () -> channel.mapForRemoteWrite(buffer, 0));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> channel.mapForRemoteWrite(MemorySegment.ofArray(new byte[10]), 0));
            assertThrows(IllegalArgumentException.class, () -> channel.mapForRemoteWrite(fine.asSlice(0, 0), 0));
            assertThrows(IllegalArgumentException.class, () -> channel.mapForRemoteWrite(fine.asReadOnly(), 0));
            assertThrows(IllegalArgumentException.class, () -> channel.mapForRemoteWrite(fine, -1));
            assertThrows(IllegalArgumentException.class, () -> channel.writeRemote(fine, -1));
            // The peer of this one has not made room.
            IOException none =
                    assertThrows(IOException.class, () -> pair.client().mapForRemoteWrite(fine, 0));
            assertTrue(none.getMessage().contains("RDMA_IOMAPSIZE"), none.getMessage());
        }
    }
}
