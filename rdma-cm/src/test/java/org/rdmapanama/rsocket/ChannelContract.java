package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertThrowsExactly;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.Channel;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;

/** What a program may expect of the channels of a provider. The JDK's channels over TCP say what is right. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ChannelContract {
    /** More than both sides keep. */
    private static final int MUCH = 32 << 20;

    private static final int MEGABYTE = 1 << 20;

    private ServerSocketChannel server;
    private SocketChannel client;
    private SocketChannel accepted;

    abstract SelectorProvider provider();

    /** A free address to listen at. */
    abstract InetSocketAddress address();

    @BeforeEach
    void setUp() throws Exception {
        server = provider().openServerSocketChannel().bind(address());
        client = provider().openSocketChannel();
        // Before anybody accepts it.
        assertTrue(client.connect(server.getLocalAddress()));
        accepted = server.accept();
    }

    @AfterEach
    void tearDown() throws Exception {
        for (Channel each : List.of(client, accepted, server)) {
            each.close();
        }
    }

    private static void readFully(SocketChannel from, ByteBuffer target) throws IOException {
        while (target.hasRemaining()) {
            assertTrue(from.read(target) > 0, "the stream ended, or did not wait");
        }
    }

    private static ByteBuffer data(int size) {
        return ByteBuffer.wrap(FillPattern.bytes(size, 1));
    }

    @Test
    void shouldKnowItsState() throws Exception {
        try (SocketChannel fresh = provider().openSocketChannel()) {
            assertTrue(fresh.isOpen());
            assertTrue(fresh.isBlocking());
            assertFalse(fresh.isConnected());
            assertFalse(fresh.isConnectionPending());
            assertNull(fresh.getLocalAddress());
            assertNull(fresh.getRemoteAddress());
            assertEquals(provider(), fresh.provider());
            assertNotNull(fresh.toString());
        }
        assertTrue(client.isConnected());
        assertFalse(client.isConnectionPending());
        assertTrue(client.finishConnect());
        assertEquals(server.getLocalAddress(), client.getRemoteAddress());
        assertEquals(client.getLocalAddress(), accepted.getRemoteAddress());
        assertEquals(server.getLocalAddress(), accepted.getLocalAddress());
        assertTrue(accepted.isBlocking());
        assertNotNull(client.toString());
        assertNotNull(server.toString());
    }

    @Test
    void shouldRefuseWhatItsStateForbids() throws Exception {
        try (SocketChannel fresh = provider().openSocketChannel();
                ServerSocketChannel unbound = provider().openServerSocketChannel()) {
            ByteBuffer one = ByteBuffer.allocate(1);
            assertThrowsExactly(NotYetConnectedException.class, () -> fresh.read(one));
            assertThrowsExactly(NotYetConnectedException.class, () -> fresh.write(one));
            assertThrowsExactly(NotYetConnectedException.class, () -> fresh.read(new ByteBuffer[] {one}));
            assertThrowsExactly(NotYetConnectedException.class, () -> fresh.write(new ByteBuffer[] {one}));
            assertThrowsExactly(NotYetConnectedException.class, fresh::shutdownInput);
            assertThrowsExactly(NotYetConnectedException.class, fresh::shutdownOutput);
            assertThrowsExactly(NoConnectionPendingException.class, fresh::finishConnect);
            assertThrowsExactly(NotYetBoundException.class, unbound::accept);
        }
        assertThrowsExactly(AlreadyConnectedException.class, () -> client.connect(server.getLocalAddress()));
        assertThrowsExactly(AlreadyBoundException.class, () -> client.bind(null));
        assertThrowsExactly(AlreadyBoundException.class, () -> server.bind(address()));
        assertTrue(client.isOpen());
        assertTrue(server.isOpen());
    }

    @Test
    void shouldRefuseBadAddresses() throws Exception {
        SocketAddress unresolved = InetSocketAddress.createUnresolved("nowhere.invalid", 1);
        SocketAddress unix = UnixDomainSocketAddress.of("/none");
        try (SocketChannel fresh = provider().openSocketChannel();
                ServerSocketChannel unbound = provider().openServerSocketChannel()) {
            assertThrowsExactly(NullPointerException.class, () -> fresh.connect(null));
            assertThrowsExactly(UnresolvedAddressException.class, () -> fresh.connect(unresolved));
            assertThrowsExactly(UnsupportedAddressTypeException.class, () -> fresh.connect(unix));
            assertThrowsExactly(UnresolvedAddressException.class, () -> fresh.bind(unresolved));
            assertThrowsExactly(UnsupportedAddressTypeException.class, () -> fresh.bind(unix));
            assertThrowsExactly(UnresolvedAddressException.class, () -> unbound.bind(unresolved));
            assertThrowsExactly(UnsupportedAddressTypeException.class, () -> unbound.bind(unix));
            assertTrue(fresh.isOpen());
        }
    }

    @Test
    void shouldRefuseEverythingOnceClosed() throws Exception {
        client.close();
        client.close();
        server.close();
        ByteBuffer one = ByteBuffer.allocate(1);
        List<Callable<?>> all = List.of(
                () -> client.read(one),
                () -> client.write(one),
                () -> client.read(new ByteBuffer[] {one}),
                () -> client.write(new ByteBuffer[] {one}),
                () -> client.connect(address()),
                client::finishConnect,
                () -> client.bind(null),
                client::shutdownInput,
                client::shutdownOutput,
                client::getLocalAddress,
                client::getRemoteAddress,
                () -> client.setOption(StandardSocketOptions.TCP_NODELAY, true),
                () -> client.getOption(StandardSocketOptions.TCP_NODELAY),
                () -> client.configureBlocking(false),
                server::accept,
                () -> server.bind(address()),
                server::getLocalAddress,
                () -> server.setOption(StandardSocketOptions.SO_REUSEADDR, true),
                () -> server.getOption(StandardSocketOptions.SO_REUSEADDR));
        for (Callable<?> each : all) {
            assertThrowsExactly(ClosedChannelException.class, each::call);
        }
        assertFalse(client.isOpen());
        assertFalse(client.isConnected());
        assertNotNull(client.toString());
        assertNotNull(server.toString());
    }

    @Test
    void shouldTellThatNobodyListens() throws Exception {
        InetSocketAddress nobody = address();
        SocketChannel blocking = provider().openSocketChannel();
        assertThrowsExactly(ConnectException.class, () -> blocking.connect(nobody));
        assertFalse(blocking.isOpen());
        SocketChannel other = provider().openSocketChannel();
        other.configureBlocking(false);
        assertThrowsExactly(ConnectException.class, () -> {
            other.connect(nobody);
            Bound.of(Async.LIMIT).await("an answer", other::finishConnect);
        });
        assertFalse(other.isOpen());
    }

    @Test
    void shouldConnectWithoutWaiting() throws Exception {
        try (SocketChannel other = provider().openSocketChannel()) {
            other.configureBlocking(false);
            if (!other.connect(server.getLocalAddress())) {
                assertTrue(other.isConnectionPending());
                assertThrowsExactly(ConnectionPendingException.class, () -> other.connect(server.getLocalAddress()));
                Bound.of(Async.LIMIT).await("connected", other::finishConnect);
            }
            assertTrue(other.isConnected());
            assertFalse(other.isConnectionPending());
            assertTrue(other.finishConnect());
            server.configureBlocking(false);
            SocketChannel[] peer = new SocketChannel[1];
            Bound.of(Async.LIMIT).await("accepted", () -> (peer[0] = server.accept()) != null);
            assertNull(server.accept());
            peer[0].close();
        }
    }

    @ParameterizedTest
    @CsvSource({"1, false", "1000, true", "65536, false", "1000003, true", "1048576, false"})
    void shouldCarryBytesBothWaysAtOnce(int size, boolean direct) throws Exception {
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (SocketChannel each : List.of(client, accepted)) {
            all.add(Async.start(() -> each.write(direct ? copy(data(size)) : data(size))));
            all.add(Async.start(() -> {
                ByteBuffer received = direct ? ByteBuffer.allocateDirect(size) : ByteBuffer.allocate(size);
                readFully(each, received);
                assertEquals(data(size), received.flip());
                return null;
            }));
        }
        for (CompletableFuture<?> each : all) {
            Async.get(each);
        }
    }

    private static ByteBuffer copy(ByteBuffer source) {
        return ByteBuffer.allocateDirect(source.remaining()).put(source).flip();
    }

    @Test
    void shouldUseBuffersAsTheyStand() throws Exception {
        ByteBuffer source = ByteBuffer.wrap(new byte[] {0, 1, 2, 3, 4, 5}, 1, 4).slice(1, 2);
        assertEquals(2, client.write(source));
        assertEquals(2, source.position());
        ByteBuffer target = ByteBuffer.allocate(10).position(3).limit(9);
        assertEquals(2, accepted.read(target));
        assertEquals(5, target.position());
        assertArrayEquals(new byte[] {0, 0, 0, 1, 2, 0, 0, 0, 0, 0}, target.array());

        assertEquals(0, client.write(ByteBuffer.allocate(0)));
        assertEquals(0, accepted.read(ByteBuffer.allocate(0)));
        assertThrows(
                IllegalArgumentException.class,
                () -> accepted.read(ByteBuffer.allocate(1).asReadOnlyBuffer()));
        assertEquals(1, client.write(ByteBuffer.wrap(new byte[] {7}).asReadOnlyBuffer()));
        ByteBuffer one = ByteBuffer.allocate(1);
        readFully(accepted, one);
        assertEquals(7, one.get(0));
        assertThrows(NullPointerException.class, () -> accepted.read((ByteBuffer) null));
        assertThrows(NullPointerException.class, () -> client.write((ByteBuffer) null));
    }

    @Test
    void shouldScatterAndGather() throws Exception {
        ByteBuffer[] sources = {
            ByteBuffer.wrap(new byte[] {9}), data(100), ByteBuffer.allocate(0), copy(data(50)), ByteBuffer.allocate(7)
        };
        assertEquals(150, client.write(sources, 1, 3));
        assertEquals(1, sources[0].remaining());
        ByteBuffer[] targets = {ByteBuffer.allocate(1), ByteBuffer.allocate(99), ByteBuffer.allocateDirect(51)};
        long count = 0;
        while (count < 150) {
            count += accepted.read(targets, 1, 2);
        }
        assertEquals(0, targets[0].position());
        ByteBuffer all = ByteBuffer.allocate(150).put(targets[1].flip()).put(targets[2].flip());
        assertEquals(ByteBuffer.allocate(150).put(data(100)).put(data(50)).flip(), all.flip());
        assertThrows(IndexOutOfBoundsException.class, () -> client.write(sources, 3, 3));
        assertThrows(IndexOutOfBoundsException.class, () -> accepted.read(targets, -1, 1));
        assertEquals(0, client.write(new ByteBuffer[0]));
    }

    @Test
    void shouldNotWaitInNonBlockingMode() throws Exception {
        client.configureBlocking(false);
        accepted.configureBlocking(false);
        assertFalse(client.isBlocking());
        assertEquals(0, accepted.read(ByteBuffer.allocate(1)));
        ByteBuffer much = ByteBuffer.allocate(MUCH);
        Bound.of(Async.LIMIT).await("no room", () -> client.write(much) == 0);
        assertTrue(much.hasRemaining());
        ByteBuffer target = ByteBuffer.allocateDirect(MEGABYTE);
        int[] sum = new int[1];
        Bound.of(Async.LIMIT).await("all read", () -> {
            sum[0] += accepted.read(target.clear());
            return sum[0] == much.position();
        });
        Bound.of(Async.LIMIT).await("room again", () -> client.write(much) > 0);
    }

    @Test
    void shouldEndOneDirectionAfterTheOther() throws Exception {
        client.write(data(MEGABYTE / 16));
        client.shutdownOutput();
        client.shutdownOutput();
        assertThrows(ClosedChannelException.class, () -> client.write(ByteBuffer.allocate(1)));
        ByteBuffer received = ByteBuffer.allocate(MEGABYTE / 16);
        readFully(accepted, received);
        assertEquals(data(MEGABYTE / 16), received.flip());
        assertEquals(-1, accepted.read(ByteBuffer.allocate(1)));
        assertEquals(-1, accepted.read(ByteBuffer.allocate(1)));

        accepted.write(data(1000));
        accepted.close();
        ByteBuffer back = ByteBuffer.allocate(1000);
        readFully(client, back);
        assertEquals(data(1000), back.flip());
        assertEquals(-1, client.read(ByteBuffer.allocate(1)));
        assertTrue(client.isConnected());
    }

    @Test
    void shouldEndInput() throws Exception {
        CompletableFuture<Integer> reading = Async.start(() -> client.read(ByteBuffer.allocate(1)));
        Thread.sleep(100);
        client.shutdownInput();
        client.shutdownInput();
        assertEquals(-1, Async.get(reading));
        assertEquals(-1, client.read(ByteBuffer.allocate(1)));
        client.write(ByteBuffer.allocate(1));
        readFully(accepted, ByteBuffer.allocate(1));
    }

    @Test
    void shouldEndAWriteThatWaitsWhenTheOutputEnds() throws Exception {
        CompletableFuture<?> writing = Async.start(waiting(3));
        Thread.sleep(100);
        assertFalse(writing.isDone());
        client.shutdownOutput();
        ExecutionException failure = assertThrows(ExecutionException.class, () -> Async.get(writing));
        assertInstanceOf(ClosedChannelException.class, failure.getCause());
        assertTrue(client.isOpen());
        ByteBuffer target = ByteBuffer.allocate(MEGABYTE);
        while (accepted.read(target.clear()) >= 0) {
            // All that was written before.
        }
        accepted.write(data(1));
        readFully(client, ByteBuffer.allocate(1));
    }

    /** What was written before closing arrives. */
    @ParameterizedTest
    @ValueSource(ints = {1, 4096, 100_000})
    void shouldSendWhatWasWrittenBeforeClosing(int size) throws Exception {
        client.write(data(size));
        client.close();
        ByteBuffer received = ByteBuffer.allocate(size);
        readFully(accepted, received);
        assertEquals(data(size), received.flip());
        assertEquals(-1, accepted.read(ByteBuffer.allocate(1)));
        accepted.configureBlocking(false);
        Bound.of(Async.LIMIT).await("writing fails", () -> {
            try {
                accepted.write(ByteBuffer.allocate(1));
                return false;
            } catch (IOException e) {
                return true;
            }
        });
    }

    /** Calls that wait, by their number. */
    private Callable<?> waiting(int kind) {
        return switch (kind) {
            case 0 -> server::accept;
            case 1 -> () -> client.read(ByteBuffer.allocate(1));
            case 2 -> () -> client.read(new ByteBuffer[] {ByteBuffer.allocate(1)});
            case 3 -> () -> write(() -> client.write(ByteBuffer.allocate(MUCH)));
            case 4 -> () -> write(() -> client.write(new ByteBuffer[] {ByteBuffer.allocate(MUCH)}));
            default -> throw new AssertionError(kind);
        };
    }

    /** A write that ends early tells how much was written; the next one throws. */
    private static Object write(Callable<?> call) throws Exception {
        while (true) {
            call.call();
        }
    }

    private Channel channelOf(int kind) {
        return kind == 0 ? server : client;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4})
    void shouldEndWaitsWhenClosed(int kind) throws Exception {
        CompletableFuture<?> call = Async.start(waiting(kind));
        Thread.sleep(100);
        assertFalse(call.isDone());
        channelOf(kind).close();
        ExecutionException failure = assertThrows(ExecutionException.class, () -> Async.get(call));
        Class<?> expected = kind < 3 ? AsynchronousCloseException.class : ClosedChannelException.class;
        assertInstanceOf(expected, failure.getCause());
    }

    @ParameterizedTest
    @CsvSource({"0, true", "1, true", "2, true", "3, true", "4, true", "0, false", "1, false", "3, false"})
    void shouldEndWaitsWhenInterrupted(int kind, boolean before) throws Exception {
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        CompletableFuture<Boolean> status = new CompletableFuture<>();
        CountDownLatch started = new CountDownLatch(1);
        Thread thread = Thread.ofPlatform().daemon().start(() -> {
            if (before) {
                Thread.currentThread().interrupt();
            }
            started.countDown();
            try {
                waiting(kind).call();
                failure.complete(null);
            } catch (Throwable e) {
                failure.complete(e);
            }
            status.complete(Thread.currentThread().isInterrupted());
        });
        assertTrue(started.await(10, TimeUnit.SECONDS));
        if (!before) {
            Thread.sleep(100);
            thread.interrupt();
        }
        Class<?> expected = kind < 3 || before ? ClosedByInterruptException.class : ClosedChannelException.class;
        assertInstanceOf(expected, Async.get(failure));
        assertTrue(Async.get(status), "the thread stays interrupted");
        assertFalse(channelOf(kind).isOpen());
    }

    /** Wherever the client is in connecting: a server that has accepted it sees its end, and serves the next one. */
    @Test
    void shouldBeLeftByClientsThatAreInterruptedWhileTheyConnect() throws Exception {
        CompletableFuture<Byte> served = Async.start(() -> {
            ByteBuffer read = ByteBuffer.allocate(1);
            while (read.hasRemaining()) {
                try (SocketChannel each = server.accept()) {
                    readOrEnd(each, read);
                }
            }
            return read.get(0);
        });
        SocketAddress address = server.getLocalAddress();
        for (long nanos = 20_000; nanos < 300_000_000; nanos += nanos / 3) {
            AtomicReference<Throwable> unexpected = new AtomicReference<>();
            Thread thread = Thread.ofPlatform().daemon().unstarted(() -> {
                try (SocketChannel each = provider().openSocketChannel()) {
                    each.connect(address);
                } catch (IOException e) {
                    // The interrupt came in time.
                }
            });
            thread.setUncaughtExceptionHandler((ended, failure) -> unexpected.set(failure));
            thread.start();
            LockSupport.parkNanos(nanos);
            thread.interrupt();
            assertTrue(thread.join(Async.LIMIT));
            assertNull(unexpected.get());
        }
        try (SocketChannel last = provider().openSocketChannel()) {
            last.connect(address);
            last.write(ByteBuffer.wrap(new byte[] {7}));
            assertEquals((byte) 7, Async.get(served));
        }
    }

    private static void readOrEnd(SocketChannel channel, ByteBuffer target) {
        try {
            channel.read(target);
        } catch (IOException e) {
            // The peer left without a farewell.
        }
    }

    /** The interrupt of a thread that does not wait has no effect on a channel. */
    @Test
    void shouldNotMindInterruptsInNonBlockingMode() throws Exception {
        client.configureBlocking(false);
        server.configureBlocking(false);
        Thread.currentThread().interrupt();
        try {
            assertEquals(0, client.read(ByteBuffer.allocate(1)));
            assertEquals(1, client.write(ByteBuffer.allocate(1)));
            assertNull(server.accept());
        } finally {
            assertTrue(Thread.interrupted());
        }
        assertTrue(client.isOpen());
        assertTrue(server.isOpen());
    }

    @Test
    void shouldHaveOptions() throws Exception {
        assertTrue(client.supportedOptions()
                .containsAll(List.of(
                        StandardSocketOptions.SO_RCVBUF,
                        StandardSocketOptions.SO_SNDBUF,
                        StandardSocketOptions.SO_KEEPALIVE,
                        StandardSocketOptions.SO_REUSEADDR,
                        StandardSocketOptions.SO_LINGER,
                        StandardSocketOptions.IP_TOS,
                        StandardSocketOptions.TCP_NODELAY)));
        assertTrue(server.supportedOptions()
                .containsAll(List.of(StandardSocketOptions.SO_RCVBUF, StandardSocketOptions.SO_REUSEADDR)));
        for (SocketOption<Boolean> each : List.of(
                StandardSocketOptions.SO_KEEPALIVE,
                StandardSocketOptions.TCP_NODELAY,
                StandardSocketOptions.SO_REUSEADDR)) {
            assertFalse(client.getOption(each), each::name);
            client.setOption(each, true);
            assertTrue(client.getOption(each), each::name);
            client.setOption(each, false);
            assertFalse(client.getOption(each), each::name);
        }
        client.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 5);
        assertEquals(5, client.getOption(ExtendedSocketOptions.TCP_KEEPIDLE));
        assertEquals(-1, client.getOption(StandardSocketOptions.SO_LINGER));
        client.setOption(StandardSocketOptions.SO_LINGER, 3);
        assertEquals(3, client.getOption(StandardSocketOptions.SO_LINGER));
        client.setOption(StandardSocketOptions.SO_LINGER, -5);
        assertEquals(-1, client.getOption(StandardSocketOptions.SO_LINGER));
        assertEquals(0, client.getOption(StandardSocketOptions.IP_TOS));
        client.setOption(StandardSocketOptions.IP_TOS, 0x20);
        assertEquals(0x20, client.getOption(StandardSocketOptions.IP_TOS));
        assertThrows(IllegalArgumentException.class, () -> client.setOption(StandardSocketOptions.IP_TOS, 256));
        assertThrows(IllegalArgumentException.class, () -> client.setOption(StandardSocketOptions.IP_TOS, -1));
        assertTrue(server.getOption(StandardSocketOptions.SO_REUSEADDR));
        client.setOption(StandardSocketOptions.SO_SNDBUF, 100_000);
        assertTrue(client.getOption(StandardSocketOptions.SO_SNDBUF) >= 100_000);

        assertThrows(NullPointerException.class, () -> client.setOption(null, 1));
        assertThrows(NullPointerException.class, () -> client.getOption(null));
        assertThrows(
                UnsupportedOperationException.class, () -> client.setOption(StandardSocketOptions.IP_MULTICAST_TTL, 1));
        assertThrows(
                UnsupportedOperationException.class, () -> client.getOption(StandardSocketOptions.IP_MULTICAST_TTL));
        assertThrows(IllegalArgumentException.class, () -> client.setOption(StandardSocketOptions.SO_SNDBUF, -1));
        assertThrows(IllegalArgumentException.class, () -> client.setOption(StandardSocketOptions.TCP_NODELAY, null));
    }

    @Test
    void shouldServeVirtualThreads() throws Exception {
        List<CompletableFuture<Void>> results = new ArrayList<>();
        Thread.ofVirtual().start(() -> {
            try {
                while (true) {
                    SocketChannel each = server.accept();
                    Thread.ofVirtual().start(() -> echo(each));
                }
            } catch (IOException closed) {
                // The end of the test.
            }
        });
        for (int i = 0; i < 20; i++) {
            CompletableFuture<Void> result = new CompletableFuture<>();
            results.add(result);
            Thread.ofVirtual().start(() -> {
                try (SocketChannel one = provider().openSocketChannel()) {
                    one.connect(server.getLocalAddress());
                    for (int round = 0; round < 20; round++) {
                        one.write(data(3000));
                        ByteBuffer back = ByteBuffer.allocate(3000);
                        readFully(one, back);
                        assertEquals(data(3000), back.flip());
                    }
                    result.complete(null);
                } catch (Throwable e) {
                    result.completeExceptionally(e);
                }
            });
        }
        for (CompletableFuture<Void> each : results) {
            Async.get(each);
        }
    }

    private static void echo(SocketChannel channel) {
        ByteBuffer buffer = ByteBuffer.allocate(1000);
        try (channel) {
            while (channel.read(buffer.clear()) >= 0) {
                channel.write(buffer.flip());
            }
        } catch (IOException e) {
            // The other side tells.
        }
    }
}
