package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertThrowsExactly;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** Streams between two devices. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RSocketChannelLabTest {
    @Test
    void shouldTransferMegabytes() throws Exception {
        byte[] sent = FillPattern.bytes(16 << 20, 1);
        try (Channels.Pair pair = Channels.Pair.open()) {
            CompletableFuture<Integer> writing = Async.start(() -> {
                int count = pair.client().write(ByteBuffer.wrap(sent));
                pair.client().shutdownOutput();
                return count;
            });
            ByteBuffer received = ByteBuffer.allocateDirect(sent.length);
            Channels.readFully(pair.accepted(), received);
            assertEquals(-1, pair.accepted().read(ByteBuffer.allocate(1)));
            assertEquals(sent.length, Async.get(writing));
            assertEquals(ByteBuffer.wrap(sent), received.flip());
        }
    }

    private static SocketAddress refused(int kind) {
        return switch (kind) {
            case 0 -> null;
            case 1 -> UnixDomainSocketAddress.of("/none");
            case 2 -> InetSocketAddress.createUnresolved("nowhere.invalid", 1);
            default -> new InetSocketAddress(1); // the wildcard
        };
    }

    /** What is left open would add up. */
    @Test
    void shouldCloseWhatItCannotConnectToAnAddress() throws Exception {
        List<Class<? extends Exception>> expected = List.of(
                NullPointerException.class,
                UnsupportedAddressTypeException.class,
                UnresolvedAddressException.class,
                ConnectException.class);
        for (int i = 0; i < 300; i++) {
            SocketAddress address = refused(i % expected.size());
            assertThrowsExactly(expected.get(i % expected.size()), () -> RSocketChannel.open(address));
        }
        RSocketChannel.open().close();
    }

    @Test
    void shouldStayOpenWhenAnAddressIsNotOneToConnectTo() throws Exception {
        try (RSocketChannel channel = RSocketChannel.open()) {
            assertThrows(NullPointerException.class, () -> channel.connect(refused(0)));
            assertThrows(UnresolvedAddressException.class, () -> channel.connect(refused(2)));
            assertTrue(channel.isOpen());
            assertThrows(ConnectException.class, () -> channel.connect(refused(3)));
            assertFalse(channel.isOpen(), "it failed to connect");
        }
    }

    @Test
    void shouldTransferBothWaysAtOnce() throws Exception {
        byte[] sent = FillPattern.bytes(2 << 20, 1);
        try (Channels.Pair pair = Channels.Pair.open()) {
            List<CompletableFuture<?>> all = new ArrayList<>();
            for (RSocketChannel channel : List.of(pair.client(), pair.accepted())) {
                all.add(Async.start(() -> {
                    Channels.writeFully(channel, ByteBuffer.wrap(sent));
                    return null;
                }));
                all.add(Async.start(() -> {
                    ByteBuffer received = ByteBuffer.allocate(sent.length);
                    Channels.readFully(channel, received);
                    assertArrayEquals(sent, received.array());
                    return null;
                }));
            }
            for (CompletableFuture<?> each : all) {
                Async.get(each);
            }
        }
    }

    @Test
    void shouldKeepOneHalfOpen() throws Exception {
        try (Channels.Pair pair = Channels.Pair.open()) {
            Channels.writeFully(pair.client(), ByteBuffer.wrap(FillPattern.bytes(1000, 1)));
            pair.client().shutdownOutput();
            pair.client().shutdownOutput();
            assertThrows(ClosedChannelException.class, () -> pair.client().write(ByteBuffer.allocate(1)));
            ByteBuffer received = ByteBuffer.allocate(1001);
            while (pair.accepted().read(received) >= 0) {
                // More.
            }
            assertEquals(1000, received.position());

            Channels.writeFully(pair.accepted(), ByteBuffer.wrap(FillPattern.bytes(100_000, 1)));
            ByteBuffer back = ByteBuffer.allocate(100_000);
            Channels.readFully(pair.client(), back);
            assertArrayEquals(FillPattern.bytes(100_000, 1), back.array());
            pair.accepted().close();
            assertEquals(-1, pair.client().read(ByteBuffer.allocate(1)));
            assertTrue(pair.client().isConnected());
        }
    }

    @Test
    void shouldEndInput() throws Exception {
        try (Channels.Pair pair = Channels.Pair.open()) {
            CompletableFuture<Integer> reading = Async.start(() -> pair.client().read(ByteBuffer.allocate(1)));
            Thread.sleep(100);
            pair.client().shutdownInput();
            assertEquals(-1, Async.get(reading));
            assertEquals(-1, pair.client().read(ByteBuffer.allocate(1)));
            Channels.writeFully(pair.client(), ByteBuffer.wrap(new byte[] {1}));
            Channels.readFully(pair.accepted(), ByteBuffer.allocate(1));
        }
    }

    @Test
    void shouldScatterAndGather() throws Exception {
        byte[] sent = FillPattern.bytes(300, 1);
        try (Channels.Pair pair = Channels.Pair.open()) {
            ByteBuffer[] sources = {
                ByteBuffer.wrap(sent, 0, 100),
                ByteBuffer.allocate(0),
                ByteBuffer.allocateDirect(200).put(sent, 100, 200).flip()
            };
            assertEquals(300, pair.client().write(sources));
            ByteBuffer[] targets = {ByteBuffer.allocate(50), ByteBuffer.allocateDirect(200), ByteBuffer.allocate(100)};
            long count = 0;
            while (count < 300) {
                count += pair.accepted().read(targets);
            }
            assertEquals(300, count);
            byte[] received = new byte[300];
            targets[0].flip().get(received, 0, 50);
            targets[1].flip().get(received, 50, 200);
            targets[2].flip().get(received, 250, 50);
            assertArrayEquals(sent, received);
            assertEquals(0, pair.accepted().read(ByteBuffer.allocate(0)));
        }
    }

    @Test
    void shouldTakeMemory() throws Exception {
        byte[] sent = FillPattern.bytes(200_000, 1);
        try (Channels.Pair pair = Channels.Pair.open();
                Arena arena = Arena.ofConfined()) {
            CompletableFuture<Long> writing = Async.start(() -> pair.client().write(MemorySegment.ofArray(sent)));
            MemorySegment received = arena.allocate(sent.length);
            for (long done = 0; done < sent.length; ) {
                done += pair.accepted().read(received.asSlice(done));
            }
            assertEquals(sent.length, Async.get(writing));
            assertArrayEquals(sent, received.toArray(ValueLayout.JAVA_BYTE));
            assertThrows(IllegalArgumentException.class, () -> pair.client().read(received.asReadOnly()));

            MemorySegment freed;
            try (Arena gone = Arena.ofShared()) {
                freed = gone.allocate(10);
            }
            assertThrows(IllegalStateException.class, () -> pair.client().write(freed));
        }
    }

    @Test
    void shouldNotWaitInNonBlockingMode() throws Exception {
        try (RServerSocketChannel server = RServerSocketChannel.open();
                RSocketChannel client = RSocketChannel.open()) {
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            server.configureBlocking(false);
            assertNull(server.accept());
            client.configureBlocking(false);
            assertThrows(NoConnectionPendingException.class, client::finishConnect);
            boolean connected = client.connect(server.getLocalAddress());
            assertTrue(connected || client.isConnectionPending());
            Bound.of(Async.LIMIT).await("connected", client::finishConnect);
            assertTrue(client.isConnected());
            assertFalse(client.isConnectionPending());

            RSocketChannel[] accepted = new RSocketChannel[1];
            Bound.of(Async.LIMIT).await("accepted", () -> (accepted[0] = server.accept()) != null);
            try (RSocketChannel other = accepted[0]) {
                assertTrue(other.isBlocking());
                other.configureBlocking(false);
                assertEquals(0, other.read(ByteBuffer.allocate(10)));
                ByteBuffer much = ByteBuffer.allocate(8 << 20);
                Bound.of(Async.LIMIT).await("full", () -> client.write(much) == 0);
                assertTrue(much.hasRemaining());
                ByteBuffer target = ByteBuffer.allocate(1 << 20);
                int[] sum = new int[1];
                Bound.of(Async.LIMIT).await("all read", () -> {
                    sum[0] += other.read(target.clear());
                    return sum[0] >= much.position();
                });
                Bound.of(Async.LIMIT).await("room again", () -> client.write(much) > 0);
            }
        }
    }

    @Test
    void shouldKnowAddresses() throws Exception {
        try (RSocketChannel client = RSocketChannel.open();
                RServerSocketChannel server = RServerSocketChannel.open()) {
            assertNull(client.getLocalAddress());
            assertNull(client.getRemoteAddress());
            assertNull(server.getLocalAddress());
            assertThrows(NotYetConnectedException.class, () -> client.read(ByteBuffer.allocate(1)));
            assertThrows(NotYetConnectedException.class, () -> client.write(ByteBuffer.allocate(1)));
            assertThrows(NotYetConnectedException.class, client::shutdownOutput);
            assertThrows(NotYetBoundException.class, server::accept);

            server.bind(new InetSocketAddress(Lab.SECOND_HOST, 0));
            assertThrows(AlreadyBoundException.class, () -> server.bind(new InetSocketAddress(Lab.SECOND_HOST, 0)));
            InetSocketAddress address = (InetSocketAddress) server.getLocalAddress();
            assertEquals(Lab.SECOND_HOST, address.getHostString());
            assertTrue(address.getPort() > 0);

            client.bind(new InetSocketAddress(Lab.FIRST_HOST, 0));
            assertThrows(AlreadyBoundException.class, () -> client.bind(null));
            assertTrue(client.connect(address));
            assertThrows(AlreadyConnectedException.class, () -> client.connect(address));
            assertEquals(address, client.getRemoteAddress());
            try (SocketChannel accepted = server.accept()) {
                assertEquals(address, accepted.getLocalAddress());
                assertEquals(client.getLocalAddress(), accepted.getRemoteAddress());
                assertEquals(Lab.FIRST_HOST, ((InetSocketAddress) accepted.getRemoteAddress()).getHostString());
            }
        }
    }

    private static void assertMost(DeviceAttributes device, RSocketChannel channel) throws IOException {
        int sends = channel.getOption(RSocketOptions.RDMA_SQSIZE);
        int receives = channel.getOption(RSocketOptions.RDMA_RQSIZE);
        int most = Math.min(65_534, Math.min(device.maxWorkRequests(), device.maxCompletionQueueEntries() / 2));
        assertTrue(sends > most / 2 && sends <= most, () -> sends + " of " + device);
        assertTrue(receives > most / 2 && receives <= most, () -> receives + " of " + device);
    }

    @Test
    void shouldHaveQueuesAsLargeAsTheDeviceAllows() throws Exception {
        try (RServerSocketChannel server = RServerSocketChannel.open();
                RSocketChannel client = RSocketChannel.open()) {
            for (SocketOption<Integer> each : List.of(RSocketOptions.RDMA_SQSIZE, RSocketOptions.RDMA_RQSIZE)) {
                server.setOption(each, 65_534);
                client.setOption(each, 65_534);
            }
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            Channels.Pair.connect(server, client);
            try (RSocketChannel accepted = server.accept();
                    RegisteredMemory memory =
                            client.registerForWrite(Arena.ofAuto().allocate(1))) {
                DeviceAttributes device = memory.region().context().queryDevice();
                assertMost(device, client);
                assertMost(device, accepted);
                client.configureBlocking(false);
                // Nobody reads, and each message has a byte.
                int receives = accepted.getOption(RSocketOptions.RDMA_RQSIZE);
                Bound bound = Bound.of(Async.LIMIT);
                int written = 0;
                while (written < receives) {
                    bound.check("not as many messages as there are credits");
                    written += client.write(ByteBuffer.allocate(1));
                }
                Channels.readFully(accepted, ByteBuffer.allocate(written));
            }
        }
    }

    @Test
    void shouldHaveOptions() throws Exception {
        try (RServerSocketChannel server = RServerSocketChannel.open();
                RSocketChannel client = RSocketChannel.open()) {
            server.setOption(RSocketOptions.RDMA_RQSIZE, 64);
            server.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            server.setOption(StandardSocketOptions.TCP_NODELAY, true);
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            client.setOption(StandardSocketOptions.SO_SNDBUF, 65536);
            client.setOption(StandardSocketOptions.SO_RCVBUF, 32768);
            client.setOption(RSocketOptions.RDMA_SQSIZE, 32);
            client.setOption(RSocketOptions.RDMA_INLINE, 16);
            client.setOption(RSocketOptions.RDMA_IOMAPSIZE, 3);
            client.setOption(StandardSocketOptions.TCP_NODELAY, true);
            Channels.Pair.connect(server, client);
            assertEquals(65_536, client.getOption(StandardSocketOptions.SO_SNDBUF));
            assertEquals(32_768, client.getOption(StandardSocketOptions.SO_RCVBUF));
            assertEquals(32, client.getOption(RSocketOptions.RDMA_SQSIZE));
            assertEquals(3, client.getOption(RSocketOptions.RDMA_IOMAPSIZE));
            assertTrue(client.getOption(RSocketOptions.RDMA_INLINE) >= 16);
            assertTrue(client.getOption(StandardSocketOptions.TCP_NODELAY));
            assertFalse(client.getOption(StandardSocketOptions.SO_KEEPALIVE));
            assertThrows(java.net.SocketException.class, () -> client.setOption(RSocketOptions.RDMA_SQSIZE, 100));
            assertThrows(
                    UnsupportedOperationException.class,
                    () -> client.setOption(StandardSocketOptions.IP_MULTICAST_LOOP, true));
            assertThrows(IllegalArgumentException.class, () -> client.setOption(RSocketOptions.RDMA_SQSIZE, 70_000));
            try (RSocketChannel accepted = server.accept()) {
                assertEquals(64, accepted.getOption(RSocketOptions.RDMA_RQSIZE));
                assertTrue(accepted.getOption(StandardSocketOptions.SO_KEEPALIVE));
                assertTrue(accepted.getOption(StandardSocketOptions.TCP_NODELAY));
                // Small queues still carry a lot.
                byte[] sent = FillPattern.bytes(1 << 20, 1);
                CompletableFuture<Integer> writing = Async.start(() -> client.write(ByteBuffer.wrap(sent)));
                ByteBuffer received = ByteBuffer.allocate(sent.length);
                Channels.readFully(accepted, received);
                assertEquals(sent.length, Async.get(writing));
                assertArrayEquals(sent, received.array());
            }
        }
    }

    /** Both what the client sends and what the server answers. */
    @ParameterizedTest
    @ValueSource(strings = {"10.77.0.1", "10.77.0.2"})
    @NeedsKernelDevice("tcpdump")
    void shouldSendPacketsOfTheTypeOfService(String sender) throws Exception {
        try (RServerSocketChannel server = RServerSocketChannel.open();
                RSocketChannel client = RSocketChannel.open();
                Program capture = Program.start(
                        "tcpdump", "-i", "veth0", "-c", "1", "udp port 4791 and ip[1] = 0x20 and src host " + sender)) {
            capture.await("listening on veth0");
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            client.setOption(StandardSocketOptions.IP_TOS, 0x20);
            Channels.Pair.connect(server, client);
            try (RSocketChannel accepted = server.accept()) {
                Channels.writeFully(client, ByteBuffer.allocate(1000));
                Channels.readFully(accepted, ByteBuffer.allocate(1000));
                Channels.writeFully(accepted, ByteBuffer.allocate(1000));
                Channels.readFully(client, ByteBuffer.allocate(1000));
            }
            capture.assertSucceeds();
        }
    }

    @Test
    void shouldHaveManyConnectionsAtOnce() throws Exception {
        List<RSocketChannel> all = new ArrayList<>();
        try (RServerSocketChannel server = RServerSocketChannel.open()) {
            server.setOption(StandardSocketOptions.SO_RCVBUF, 4096);
            server.setOption(StandardSocketOptions.SO_SNDBUF, 4096);
            server.setOption(RSocketOptions.RDMA_RQSIZE, 16);
            server.setOption(RSocketOptions.RDMA_SQSIZE, 16);
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            for (int i = 0; i < 20; i++) {
                RSocketChannel client = RSocketChannel.open();
                all.add(client);
                client.setOption(RSocketOptions.RDMA_RQSIZE, 16);
                Channels.Pair.connect(server, client);
                all.add(server.accept());
            }
            for (int i = 0; i < all.size(); i++) {
                Channels.writeFully(all.get(i), ByteBuffer.wrap(new byte[] {(byte) i}));
            }
            for (int i = 0; i < all.size(); i++) {
                ByteBuffer received = ByteBuffer.allocate(1);
                Channels.readFully(all.get(i), received);
                assertEquals(i ^ 1, received.get(0));
            }
        } finally {
            for (RSocketChannel channel : all) {
                channel.close();
            }
        }
    }
}
