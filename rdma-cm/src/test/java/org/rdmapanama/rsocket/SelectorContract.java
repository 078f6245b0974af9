package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertThrowsExactly;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.Channel;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;

/** What a program may expect of the selectors of a provider. The JDK's over TCP say what is right. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class SelectorContract {
    private static final int LIMIT_MILLIS = 30_000;
    private static final int READ_WRITE = SelectionKey.OP_READ | SelectionKey.OP_WRITE;

    private final List<AutoCloseable> opened = new ArrayList<>();
    private Selector selector;
    private ServerSocketChannel server;
    private SocketChannel client;
    private SocketChannel accepted;

    abstract SelectorProvider provider();

    /** A free address to listen at. */
    abstract InetSocketAddress address();

    private <T extends AutoCloseable> T keep(T object) {
        opened.add(object);
        return object;
    }

    @BeforeEach
    void setUp() throws Exception {
        selector = keep(provider().openSelector());
        server = keep(provider().openServerSocketChannel()).bind(address());
        client = keep(provider().openSocketChannel());
        client.connect(server.getLocalAddress());
        accepted = keep(server.accept());
        client.configureBlocking(false);
        server.configureBlocking(false);
    }

    @AfterEach
    void tearDown() throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    private void send(int bytes) throws IOException {
        assertEquals(bytes, accepted.write(ByteBuffer.allocate(bytes)));
    }

    private int read() throws IOException {
        return client.read(ByteBuffer.allocate(1000));
    }

    @Test
    void shouldRefuseBadRegistrations() throws Exception {
        client.configureBlocking(true);
        assertThrowsExactly(IllegalBlockingModeException.class, () -> client.register(selector, SelectionKey.OP_READ));
        client.configureBlocking(false);
        assertThrows(IllegalArgumentException.class, () -> client.register(selector, SelectionKey.OP_ACCEPT));
        assertThrows(IllegalArgumentException.class, () -> server.register(selector, SelectionKey.OP_READ));
        SelectionKey key = client.register(selector, SelectionKey.OP_READ, "attached");
        assertThrowsExactly(IllegalBlockingModeException.class, () -> client.configureBlocking(true));
        assertThrows(IllegalArgumentException.class, () -> key.interestOps(SelectionKey.OP_ACCEPT));
        assertEquals("attached", key.attachment());
        assertSame(key, client.keyFor(selector));
        assertNull(server.keyFor(selector));
        assertSame(client, key.channel());
        assertSame(selector, key.selector());
        assertTrue(client.isRegistered());
        assertSame(key, client.register(selector, READ_WRITE, "again"));
        assertEquals(READ_WRITE, key.interestOps());
        assertEquals("again", key.attachment());
        assertThrows(UnsupportedOperationException.class, () -> selector.keys().remove(key));
        assertThrows(
                UnsupportedOperationException.class,
                () -> selector.selectedKeys().add(key));
        assertEquals(READ_WRITE, key.interestOpsAnd(SelectionKey.OP_READ));
        assertEquals(SelectionKey.OP_READ, key.interestOpsOr(SelectionKey.OP_WRITE));
        assertEquals(READ_WRITE, key.interestOps());
    }

    @Test
    void shouldSelectNowWhatBecomesReadyLater() throws Exception {
        client.register(selector, SelectionKey.OP_READ);
        for (int i = 0; i < 5; i++) {
            assertEquals(0, selector.selectNow());
            send(10);
            Bound.of(Async.LIMIT).await("readable", () -> selector.selectNow() == 1);
            selector.selectedKeys().clear();
            assertEquals(10, read());
        }
    }

    @Test
    void shouldSelectOthersBesideOneThatStaysReady() throws Exception {
        SelectionKey first = client.register(selector, SelectionKey.OP_WRITE);
        accepted.configureBlocking(false);
        SelectionKey second = accepted.register(selector, SelectionKey.OP_READ);
        assertEquals(1, selector.select());
        assertEquals(Set.of(first), selector.selectedKeys());
        assertEquals(10, client.write(ByteBuffer.allocate(10)));
        Bound.of(Async.LIMIT).await("readable", () -> {
            selector.selectedKeys().clear();
            assertTrue(selector.select() > 0);
            assertTrue(selector.selectedKeys().contains(first));
            return selector.selectedKeys().contains(second);
        });
    }

    @Test
    void shouldSelectWhatIsReady() throws Exception {
        SelectionKey key = client.register(selector, SelectionKey.OP_READ);
        assertEquals(0, selector.selectNow());
        send(10);
        assertEquals(1, selector.select(LIMIT_MILLIS));
        assertEquals(Set.of(key), selector.selectedKeys());
        assertTrue(key.isReadable());
        assertFalse(key.isWritable());
        // It stays selected, so nothing changes.
        assertEquals(0, selector.selectNow());
        // It is still readable, so it is selected again.
        selector.selectedKeys().clear();
        assertEquals(1, selector.select());
        selector.selectedKeys().remove(key);
        assertEquals(10, read());
        assertEquals(0, selector.selectNow());
        // The ready set grows.
        key.interestOps(READ_WRITE);
        assertEquals(1, selector.select());
        assertEquals(SelectionKey.OP_WRITE, key.readyOps());
        send(1);
        Bound.of(Async.LIMIT).await("readable as well", () -> selector.selectNow() == 1);
        assertEquals(READ_WRITE, key.readyOps());
        key.interestOps(0);
        selector.selectedKeys().clear();
        assertEquals(0, selector.selectNow());
    }

    @Test
    void shouldSelectTheEnd() throws Exception {
        SelectionKey key = client.register(selector, SelectionKey.OP_READ);
        CompletableFuture<Integer> selecting = Async.start(() -> selector.select(LIMIT_MILLIS));
        Thread.sleep(100);
        accepted.close();
        assertEquals(1, Async.get(selecting));
        assertTrue(key.isReadable());
        assertEquals(-1, read());
        selector.selectedKeys().clear();
        assertEquals(1, selector.select(LIMIT_MILLIS), "the end stays");
    }

    @Test
    void shouldSelectAShutdownOfTheOwnInput() throws Exception {
        SelectionKey key = client.register(selector, SelectionKey.OP_READ);
        assertEquals(0, selector.selectNow());
        client.shutdownInput();
        assertEquals(1, selector.select(LIMIT_MILLIS));
        assertTrue(key.isReadable());
        assertEquals(-1, read());
    }

    @Test
    void shouldSelectRoomToWrite() throws Exception {
        SelectionKey key = client.register(selector, SelectionKey.OP_WRITE);
        assertEquals(1, selector.select(LIMIT_MILLIS));
        ByteBuffer much = ByteBuffer.allocate(32 << 20);
        Bound.of(Async.LIMIT).await("no room", () -> client.write(much) == 0);
        selector.selectedKeys().clear();
        assertEquals(0, selector.select(50));
        CompletableFuture<Integer> selecting = Async.start(() -> selector.select(LIMIT_MILLIS));
        ByteBuffer target = ByteBuffer.allocate(1 << 20);
        for (int read = 0; read < much.position(); ) {
            read += accepted.read(target.clear());
        }
        assertEquals(1, Async.get(selecting));
        assertTrue(key.isWritable());
        assertTrue(client.write(much) > 0);
    }

    @Test
    void shouldSelectClients() throws Exception {
        SelectionKey key = server.register(selector, SelectionKey.OP_ACCEPT);
        assertEquals(0, selector.select(50));
        SocketChannel other = keep(provider().openSocketChannel());
        CompletableFuture<Integer> selecting = Async.start(() -> selector.select(LIMIT_MILLIS));
        other.connect(server.getLocalAddress());
        assertEquals(1, Async.get(selecting));
        assertTrue(key.isAcceptable());
        selector.selectedKeys().clear();
        assertEquals(1, selector.select(LIMIT_MILLIS), "it is still there");
        keep(server.accept());
        selector.selectedKeys().clear();
        assertEquals(0, selector.selectNow());
    }

    @Test
    void shouldSelectConnecting() throws Exception {
        SocketChannel other = keep(provider().openSocketChannel());
        other.configureBlocking(false);
        SelectionKey key = other.register(selector, SelectionKey.OP_CONNECT);
        if (!other.connect(server.getLocalAddress())) {
            assertEquals(1, selector.select(LIMIT_MILLIS));
            assertTrue(key.isConnectable());
            assertTrue(other.finishConnect());
        }
        selector.selectedKeys().clear();
        key.interestOps(READ_WRITE);
        assertEquals(1, selector.select(LIMIT_MILLIS));
        assertEquals(SelectionKey.OP_WRITE, key.readyOps());

        SocketChannel lost = keep(provider().openSocketChannel());
        lost.configureBlocking(false);
        InetSocketAddress nobody = address();
        assertThrowsExactly(ConnectException.class, () -> {
            lost.register(selector, SelectionKey.OP_CONNECT);
            lost.connect(nobody);
            selector.select(LIMIT_MILLIS);
            Bound.of(Async.LIMIT).await("an answer", lost::finishConnect);
        });
        assertFalse(lost.isOpen());
    }

    @Test
    void shouldWaitAsLongAsItIsTold() throws Exception {
        client.register(selector, SelectionKey.OP_READ);
        long start = System.nanoTime();
        assertEquals(0, selector.select(100));
        assertTrue(System.nanoTime() - start >= Duration.ofMillis(95).toNanos());
        assertEquals(0, selector.selectNow());
        assertThrows(IllegalArgumentException.class, () -> selector.select(-1));
    }

    @Test
    void shouldWakeUp() throws Exception {
        client.register(selector, SelectionKey.OP_READ);
        selector.wakeup();
        selector.wakeup();
        assertEquals(0, selector.select());
        assertEquals(0, selector.select(50), "once");
        selector.wakeup();
        assertEquals(0, selector.selectNow());
        assertEquals(0, selector.select(50), "selecting now has taken it");
        CompletableFuture<Integer> selecting = Async.start(() -> selector.select());
        Thread.sleep(100);
        assertFalse(selecting.isDone());
        assertSame(selector, selector.wakeup());
        assertEquals(0, Async.get(selecting));
    }

    @Test
    void shouldReturnWhenInterrupted() throws Exception {
        client.register(selector, SelectionKey.OP_READ);
        for (boolean before : new boolean[] {true, false}) {
            CompletableFuture<Boolean> status = new CompletableFuture<>();
            Thread thread = Thread.ofPlatform().daemon().start(() -> {
                if (before) {
                    Thread.currentThread().interrupt();
                }
                try {
                    assertEquals(0, selector.select());
                    status.complete(Thread.currentThread().isInterrupted());
                } catch (Throwable e) {
                    status.completeExceptionally(e);
                }
            });
            if (!before) {
                Thread.sleep(100);
                thread.interrupt();
            }
            assertTrue(Async.get(status), "the thread stays interrupted");
        }
        assertTrue(selector.isOpen());
    }

    @Test
    void shouldEndWhenClosed() throws Exception {
        SelectionKey key = client.register(selector, SelectionKey.OP_READ);
        CompletableFuture<Integer> selecting = Async.start(() -> selector.select());
        Thread.sleep(100);
        selector.close();
        selector.close();
        // It may find out at once, or when it looks again.
        Bound.of(Async.LIMIT).await("the end of the selection", selecting::isDone);
        assertFalse(key.isValid());
        assertFalse(client.isRegistered());
        assertThrowsExactly(ClosedSelectorException.class, selector::selectNow);
        assertThrowsExactly(ClosedSelectorException.class, () -> selector.select(1));
        assertThrowsExactly(ClosedSelectorException.class, selector::keys);
        assertThrowsExactly(ClosedSelectorException.class, selector::selectedKeys);
        assertThrowsExactly(ClosedSelectorException.class, () -> client.register(selector, SelectionKey.OP_READ));
        client.configureBlocking(true);
        send(1);
        assertEquals(1, read());
    }

    @Test
    void shouldCancel() throws Exception {
        SelectionKey key = client.register(selector, SelectionKey.OP_READ);
        assertEquals(Set.of(key), selector.keys());
        key.cancel();
        assertFalse(key.isValid());
        assertThrowsExactly(CancelledKeyException.class, key::interestOps);
        assertThrowsExactly(CancelledKeyException.class, key::readyOps);
        assertThrowsExactly(CancelledKeyException.class, () -> key.interestOps(0));
        assertThrowsExactly(CancelledKeyException.class, () -> client.register(selector, SelectionKey.OP_READ));
        assertEquals(1, selector.keys().size());
        assertEquals(0, selector.selectNow());
        assertEquals(0, selector.keys().size());
        assertFalse(client.isRegistered());
        SelectionKey again = client.register(selector, SelectionKey.OP_READ);
        send(1);
        assertEquals(1, selector.select(LIMIT_MILLIS));
        assertEquals(Set.of(again), selector.selectedKeys());
        client.close();
        assertFalse(again.isValid());
        selector.selectNow();
        assertEquals(Set.of(), selector.keys());
        assertEquals(Set.of(), selector.selectedKeys());
    }

    @Test
    void shouldHeedChangesWhileItSelects() throws Exception {
        SelectionKey key = client.register(selector, 0);
        send(1);
        CompletableFuture<Integer> selecting = Async.start(() -> {
            int count = 0;
            while (count == 0) {
                count = selector.select();
            }
            return count;
        });
        Thread.sleep(100);
        assertFalse(selecting.isDone());
        key.interestOps(SelectionKey.OP_READ);
        selector.wakeup();
        assertEquals(1, Async.get(selecting));
    }

    /** What a key waits for again comes without a further wake-up. */
    @Test
    void shouldSelectAClientAfterTheInterestWasAwayForAMoment() throws Exception {
        SelectionKey key = server.register(selector, SelectionKey.OP_ACCEPT);
        // Without a limit: at its end a selector looks again.
        CompletableFuture<Integer> selecting = Async.start(() -> selector.select());
        Thread.sleep(100);
        assertFalse(selecting.isDone());
        key.interestOps(0);
        key.interestOps(SelectionKey.OP_ACCEPT);
        SocketChannel other = keep(provider().openSocketChannel());
        other.connect(server.getLocalAddress());
        assertEquals(1, Async.get(selecting));
        assertTrue(key.isAcceptable());
    }

    /** Waiting is for channels that become ready, and one is ready. */
    @Test
    void shouldNotWaitWhileAKeyThatStaysSelectedIsReady() throws Exception {
        SelectionKey key = client.register(selector, READ_WRITE);
        assertEquals(1, selector.select());
        assertEquals(SelectionKey.OP_WRITE, key.readyOps());
        assertEquals(0, Async.get(Async.start(() -> selector.select())), "nothing has changed");
        assertEquals(Set.of(key), selector.selectedKeys());
        CompletableFuture<Integer> selecting = Async.start(() -> {
            int count = 0;
            while (!key.isReadable()) {
                count += selector.select();
            }
            return count;
        });
        Thread.sleep(100);
        assertFalse(selecting.isDone());
        send(1);
        assertEquals(1, Async.get(selecting));
        assertEquals(READ_WRITE, key.readyOps());
        assertEquals(1, read());
        key.interestOps(SelectionKey.OP_READ);
        assertEquals(0, selector.selectNow());
        CompletableFuture<Integer> waiting = Async.start(() -> selector.select());
        Thread.sleep(100);
        assertFalse(waiting.isDone(), "it is selected, but not ready any more");
        selector.wakeup();
        assertEquals(0, Async.get(waiting));
    }

    @Test
    void shouldTellSeveralSelectors() throws Exception {
        Selector second = keep(provider().openSelector());
        SelectionKey first = client.register(selector, SelectionKey.OP_READ);
        SelectionKey other = client.register(second, READ_WRITE);
        assertEquals(1, second.select(LIMIT_MILLIS));
        second.selectedKeys().clear();
        other.interestOps(SelectionKey.OP_READ);
        assertEquals(0, second.selectNow());
        CompletableFuture<Integer> one = Async.start(() -> selector.select(LIMIT_MILLIS));
        CompletableFuture<Integer> two = Async.start(() -> second.select(LIMIT_MILLIS));
        Thread.sleep(100);
        send(1);
        assertEquals(1, Async.get(one));
        assertEquals(1, Async.get(two));
        assertTrue(first.isReadable());
        assertTrue(other.isReadable());
    }

    @Test
    void shouldPassKeysToAnAction() throws Exception {
        client.register(selector, SelectionKey.OP_READ);
        send(1);
        List<SelectionKey> selected = new ArrayList<>();
        assertEquals(1, selector.select(selected::add, LIMIT_MILLIS));
        assertEquals(List.of(client.keyFor(selector)), selected);
        assertEquals(1, selector.selectNow(selected::add));
        assertEquals(1, read());
        assertEquals(0, selector.selectNow(selected::add));
        assertEquals(2, selected.size());
    }

    /** Fifty channels that send and receive in one thread. */
    @Test
    void shouldServeManyChannels() throws Exception {
        server.register(selector, SelectionKey.OP_ACCEPT);
        List<SocketChannel> clients = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            SocketChannel each = keep(provider().openSocketChannel());
            each.configureBlocking(false);
            each.connect(server.getLocalAddress());
            clients.add(each);
            each.register(selector, SelectionKey.OP_CONNECT);
        }
        Set<Channel> answered = new HashSet<>();
        Bound.of(Async.LIMIT).await("all answers", () -> {
            selector.select(LIMIT_MILLIS);
            for (SelectionKey key : selector.selectedKeys()) {
                serve(key, answered);
            }
            selector.selectedKeys().clear();
            return answered.containsAll(clients);
        });
    }

    private void serve(SelectionKey key, Set<Channel> answered) throws IOException {
        if (key.isAcceptable()) {
            for (SocketChannel each = server.accept(); each != null; each = server.accept()) {
                keep(each).configureBlocking(false);
                each.register(selector, SelectionKey.OP_READ, "server");
            }
            return;
        }
        SocketChannel channel = (SocketChannel) key.channel();
        if (key.isConnectable()) {
            assertTrue(channel.finishConnect());
            key.interestOps(SelectionKey.OP_READ);
            assertEquals(10, channel.write(ByteBuffer.allocate(10)));
        } else if (key.isReadable()) {
            int count = channel.read(ByteBuffer.allocate(100));
            assertEquals(10, count);
            if ("server".equals(key.attachment())) {
                assertEquals(10, channel.write(ByteBuffer.allocate(10)));
            } else {
                answered.add(channel);
            }
        }
    }
}
