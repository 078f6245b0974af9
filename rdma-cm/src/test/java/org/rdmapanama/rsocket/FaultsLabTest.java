package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.Channel;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** What goes wrong ends in bounded time, with the exception that a user of SocketChannel expects. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FaultsLabTest {
    /** More than the buffers of both sides hold. */
    private static final ByteBuffer MUCH = ByteBuffer.allocate(4 << 20);

    private static void assertFails(Class<? extends Throwable> expected, CompletableFuture<?> future) {
        ExecutionException failure = assertThrows(ExecutionException.class, () -> Async.get(future));
        assertInstanceOf(expected, failure.getCause());
    }

    @Test
    void shouldSayThatNobodyListens() throws Exception {
        RSocketChannel channel = RSocketChannel.open();
        ConnectException refused =
                assertThrows(ConnectException.class, () -> channel.connect(Lab.freeAddress(Lab.SECOND_HOST)));
        assertTrue(refused.getMessage().startsWith("Connection refused"), refused.getMessage());
        assertFalse(channel.isOpen());
        assertThrows(ClosedChannelException.class, () -> channel.connect(Lab.freeAddress(Lab.SECOND_HOST)));

        try (RSocketChannel later = RSocketChannel.open()) {
            later.configureBlocking(false);
            // Now and then the answer is there at once.
            assertThrows(ConnectException.class, () -> {
                later.connect(Lab.freeAddress(Lab.SECOND_HOST));
                Bound.of(Async.LIMIT).await("an answer", later::finishConnect);
            });
            assertFalse(later.isOpen());
        }
    }

    /** Returns the address of a server that answers no request. */
    private static InetSocketAddress silentServer(VerbsArena arena) {
        return RdmaServer.listen(arena, Lab.freeAddress(Lab.SECOND_HOST)).localAddress();
    }

    @Test
    void shouldSayThatThereIsNoWay() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            InetSocketAddress silent = silentServer(arena);
            assertThrows(
                    SocketTimeoutException.class, () -> RSocketChannel.open().connect(silent, Duration.ofMillis(500)));
        }
        // No RDMA device has this address.
        IOException noDevice =
                assertThrows(IOException.class, () -> RSocketChannel.open().connect(Lab.freeAddress("203.0.113.1")));
        assertInstanceOf(SocketException.class, noDevice);
        assertThrows(IOException.class, () -> RSocketChannel.open().connect(new InetSocketAddress(1)));
        try (RSocketChannel channel = RSocketChannel.open();
                RServerSocketChannel server = RServerSocketChannel.open()) {
            assertThrows(
                    UnresolvedAddressException.class,
                    () -> channel.connect(InetSocketAddress.createUnresolved("nowhere.invalid", 1)));
            assertThrows(
                    UnsupportedAddressTypeException.class,
                    () -> channel.connect(java.net.UnixDomainSocketAddress.of("/nowhere")));
            assertThrows(IOException.class, () -> server.bind(Lab.freeAddress("203.0.113.1")));
        }
    }

    @Test
    void shouldNotBindTwice() throws Exception {
        InetSocketAddress address = Lab.freeAddress(Lab.SECOND_HOST);
        try (RServerSocketChannel first = RServerSocketChannel.open();
                RServerSocketChannel second = RServerSocketChannel.open()) {
            first.bind(address);
            assertThrows(BindException.class, () -> second.bind(address));
        }
        // Closing gives the address back.
        try (RServerSocketChannel again = RServerSocketChannel.open()) {
            again.bind(address);
        }
    }

    /** A write that ends early tells how much was written; the next one throws. */
    private static Object writeWithoutEnd(RSocketChannel channel) throws IOException {
        while (true) {
            channel.write(MUCH.duplicate());
        }
    }

    /** Closing from another thread. ChannelContract tests which exception tells of it. */
    private static void assertClosingEnds(Channel channel, Callable<?> blocking) throws Exception {
        CompletableFuture<?> waiting = Async.start(blocking);
        Thread.sleep(200);
        assertFalse(waiting.isDone());
        channel.close();
        assertFails(ClosedChannelException.class, waiting);
        assertThrows(ClosedChannelException.class, blocking::call);
    }

    @Test
    void shouldEndWaitingWhenClosed() throws Exception {
        RServerSocketChannel server = RServerSocketChannel.open();
        server.bind(Lab.freeAddress(Lab.SECOND_HOST));
        assertClosingEnds(server, server::accept);
        try (Channels.Pair pair = Channels.Pair.open()) {
            assertClosingEnds(pair.client(), () -> pair.client().read(ByteBuffer.allocate(1)));
        }
        try (Channels.Pair pair = Channels.Pair.open()) {
            assertClosingEnds(pair.client(), () -> writeWithoutEnd(pair.client()));
        }
        try (VerbsArena arena = VerbsArena.ofShared()) {
            InetSocketAddress silent = silentServer(arena);
            RSocketChannel channel = RSocketChannel.open();
            assertClosingEnds(channel, () -> channel.connect(silent));
        }
    }

    /** A writer that sleeps and the thread that finishes the channel wait for the same events. */
    @Test
    void shouldEndWritersThatSleepWhenClosed() throws Exception {
        for (int i = 0; i < 20; i++) {
            try (Channels.Pair pair = Channels.Pair.open()) {
                CompletableFuture<Object> writing = Async.start(() -> writeWithoutEnd(pair.client()));
                Thread.sleep(i);
                pair.client().close();
                assertFails(ClosedChannelException.class, writing);
            }
        }
    }

    private static void assertInterruptEnds(Channel channel, Callable<?> blocking) throws Exception {
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().daemon().start(() -> {
            try {
                blocking.call();
                failure.complete(null);
            } catch (Throwable e) {
                failure.complete(e);
            }
            interrupted.complete(Thread.currentThread().isInterrupted());
        });
        Thread.sleep(200);
        thread.interrupt();
        assertInstanceOf(ClosedChannelException.class, Async.get(failure));
        assertTrue(Async.get(interrupted));
        assertFalse(channel.isOpen());
    }

    @Test
    void shouldEndWaitingWhenInterrupted() throws Exception {
        RServerSocketChannel server = RServerSocketChannel.open();
        server.bind(Lab.freeAddress(Lab.SECOND_HOST));
        assertInterruptEnds(server, server::accept);
        try (Channels.Pair pair = Channels.Pair.open()) {
            assertInterruptEnds(pair.client(), () -> pair.client().read(ByteBuffer.allocate(1)));
        }
        try (Channels.Pair pair = Channels.Pair.open()) {
            assertInterruptEnds(pair.client(), () -> writeWithoutEnd(pair.client()));
        }
        try (VerbsArena arena = VerbsArena.ofShared()) {
            InetSocketAddress silent = silentServer(arena);
            RSocketChannel channel = RSocketChannel.open();
            assertInterruptEnds(channel, () -> channel.connect(silent));
        }
    }

    @Test
    void shouldSeeThatThePeerClosed() throws Exception {
        try (Channels.Pair pair = Channels.Pair.open()) {
            Channels.writeFully(pair.client(), ByteBuffer.wrap(FillPattern.bytes(3000, 1)));
            pair.client().close();
            ByteBuffer received = ByteBuffer.allocate(3000);
            Channels.readFully(pair.accepted(), received);
            assertEquals(ByteBuffer.wrap(FillPattern.bytes(3000, 1)), received.flip());
            assertEquals(-1, pair.accepted().read(ByteBuffer.allocate(1)));
            assertThrows(SocketException.class, () -> pair.accepted().write(ByteBuffer.allocate(1)));
        }
    }

    /** Connections that were made but that nobody accepted end with the channel. */
    @Test
    void shouldEndPendingConnections() throws Exception {
        try (RServerSocketChannel server = RServerSocketChannel.open();
                RSocketChannel client = RSocketChannel.open()) {
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            Channels.Pair.connect(server, client);
            Channels.close(server);
            assertEquals(-1, client.read(ByteBuffer.allocate(1)));
        }
    }

    /** Neither waits for the other for ever, whatever order they come in. */
    @Test
    void shouldListenAndConnectAtOnce() throws Exception {
        CompletableFuture<?>[] threads = new CompletableFuture<?>[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Async.start(() -> {
                for (int round = 0; round < 6; round++) {
                    try (Channels.Pair pair = Channels.Pair.open()) {
                        Channels.writeFully(pair.client(), ByteBuffer.allocate(1));
                        Channels.readFully(pair.accepted(), ByteBuffer.allocate(1));
                        Channels.close(pair.server());
                    }
                }
                return null;
            });
        }
        for (CompletableFuture<?> thread : threads) {
            Async.get(thread);
        }
    }

    /** An interrupt that comes together with a connection may not leave one that nobody has. */
    @Test
    void shouldEndAConnectionWhenInterrupted() throws Exception {
        for (int round = 0; round < 8; round++) {
            try (RServerSocketChannel server = RServerSocketChannel.open();
                    RSocketChannel client = RSocketChannel.open()) {
                server.bind(Lab.freeAddress(Lab.SECOND_HOST));
                Channels.Pair.connect(server, client);
                Bound.of(Async.LIMIT)
                        .await("a connection", () -> server.watched().readyOperations(SelectionKey.OP_ACCEPT) != 0);
                Thread thread = Thread.ofPlatform().daemon().start(() -> {
                    try {
                        server.accept().close();
                    } catch (IOException e) {
                        assertInstanceOf(ClosedByInterruptException.class, e);
                    }
                });
                LockSupport.parkNanos(round * 200_000L);
                thread.interrupt();
                assertEquals(-1, Async.get(Async.start(() -> client.read(ByteBuffer.allocate(1)))));
            }
        }
    }

    @Test
    @NeedsKernelDevice("netem")
    void shouldCloseInTimeWithoutANetwork() throws Exception {
        try (Channels.Pair pair = Channels.Pair.open()) {
            Program.run("tc", "qdisc", "add", "dev", "veth0", "root", "netem", "loss", "100%");
            try {
                CompletableFuture<Object> writing = Async.start(() -> writeWithoutEnd(pair.client()));
                Thread.sleep(1000);
                RSocketChannel late = RSocketChannel.open().bind(new InetSocketAddress(Lab.FIRST_HOST, 0));
                assertThrows(
                        SocketTimeoutException.class,
                        () -> late.connect(pair.server().getLocalAddress(), Duration.ofSeconds(1)));
                // The device gives up after a time of its own; closing does not wait for that.
                long start = System.nanoTime();
                pair.client().close();
                assertTrue(Duration.ofNanos(System.nanoTime() - start).toSeconds() < 10);
                assertFails(IOException.class, writing);
            } finally {
                Program.run("tc", "qdisc", "del", "dev", "veth0", "root");
            }
        }
        try (Channels.Pair pair = Channels.Pair.open()) {
            Channels.writeFully(pair.client(), ByteBuffer.allocate(1));
            Channels.readFully(pair.accepted(), ByteBuffer.allocate(1));
        }
    }

    @Test
    void shouldRefuseWhatItLacks() throws Exception {
        try (RSocketChannel channel = RSocketChannel.open()) {
            assertThrows(
                    UnsupportedOperationException.class,
                    () -> RSocketProvider.instance().openPipe());
            assertThrows(
                    UnsupportedOperationException.class,
                    () -> RSocketProvider.instance().openDatagramChannel());
            assertThrows(NullPointerException.class, () -> channel.connect(null));
            assertNull(channel.getRemoteAddress());
        }
    }
}
