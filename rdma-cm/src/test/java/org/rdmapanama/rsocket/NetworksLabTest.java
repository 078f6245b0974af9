package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** rsockets over IPv6, over iWARP, and where the wire is cut. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NetworksLabTest {
    private static final int BYTES = 1 << 20;

    /** More than the buffers of both sides hold. */
    private static final ByteBuffer MUCH = ByteBuffer.allocate(4 << 20);

    private static void copy(RSocketChannel from, RSocketChannel to) throws Exception {
        ByteBuffer received = ByteBuffer.allocate(BYTES);
        CompletableFuture<Void> reading = Lab.async(() -> {
            Lab.readFully(to, received);
            return null;
        });
        Lab.writeFully(from, ByteBuffer.wrap(Lab.pattern(BYTES)));
        Lab.get(reading);
        assertEquals(ByteBuffer.wrap(Lab.pattern(BYTES)), received.flip());
    }

    /** All that a connection can do. */
    private static void use(String from, InetSocketAddress to) throws Exception {
        RServerSocketChannel server = RServerSocketChannel.open();
        server.bind(to);
        assertEquals(to, server.getLocalAddress());
        RSocketChannel client = RSocketChannel.open();
        client.setOption(RSocketOptions.RDMA_IOMAPSIZE, 1);
        client.bind(new InetSocketAddress(from, 0));
        assertTrue(client.connect(to, Duration.ofSeconds(Lab.SECONDS)));
        RSocketChannel accepted = Lab.get(Lab.async(server::accept));
        try (Lab.Pair pair = new Lab.Pair(server, client, accepted)) {
            assertEquals(to, pair.client().getRemoteAddress());
            assertEquals(to, accepted.getLocalAddress());
            assertEquals(
                    new InetSocketAddress(from, 0).getAddress(),
                    ((InetSocketAddress) accepted.getRemoteAddress()).getAddress());
            copy(client, accepted);
            copy(accepted, client);

            ByteBuffer mapped = ByteBuffer.allocateDirect(BYTES);
            accepted.mapForRemoteWrite(java.lang.foreign.MemorySegment.ofBuffer(mapped), 0);
            Lab.writeFully(accepted, ByteBuffer.allocate(1));
            Lab.readFully(client, ByteBuffer.allocate(1));
            assertEquals(BYTES, client.writeRemote(ByteBuffer.wrap(Lab.pattern(BYTES)), 0));
            client.shutdownOutput();
            assertEquals(-1, accepted.read(ByteBuffer.allocate(1)));
            assertEquals(ByteBuffer.wrap(Lab.pattern(BYTES)), mapped);
            Lab.writeFully(accepted, ByteBuffer.allocate(3));
            Lab.close(accepted);
            Lab.readFully(client, ByteBuffer.allocate(3));
            assertEquals(-1, client.read(ByteBuffer.allocate(1)));
        }
        try (RSocketChannel nobody = RSocketChannel.open()) {
            nobody.bind(new InetSocketAddress(from, 0));
            assertThrows(ConnectException.class, () -> nobody.connect(to, Duration.ofSeconds(Lab.SECONDS)));
        }
    }

    @Test
    void shouldWorkOverIpv6() throws Exception {
        try (Wire wire = Wire.add("rxe")) {
            assertInstanceOf(Inet6Address.class, wire.right6().getAddress());
            use(wire.left6(), wire.right6());
            // The wildcard of IPv6 is for both families.
            InetSocketAddress any = new InetSocketAddress("::", Lab.port());
            try (RServerSocketChannel server = RServerSocketChannel.open()) {
                server.bind(any);
                for (String[] pair : new String[][] {
                    {wire.left6(), wire.right6().getHostString()},
                    {wire.left(), wire.right().getHostString()}
                }) {
                    try (RSocketChannel client = RSocketChannel.open()) {
                        client.bind(new InetSocketAddress(pair[0], 0));
                        client.connect(new InetSocketAddress(pair[1], any.getPort()), Duration.ofSeconds(Lab.SECONDS));
                        try (RSocketChannel accepted = Lab.get(Lab.async(server::accept))) {
                            copy(client, accepted);
                        }
                    }
                }
            }
        }
    }

    @Test
    void shouldWorkOverIwarp() throws Exception {
        use("10.78.0.1", Lab.freeAddress("10.78.0.2"));
        try (Wire wire = Wire.add("siw")) {
            use(wire.left6(), wire.right6());
        }
    }

    private static long secondsSince(long start) {
        return Duration.ofNanos(System.nanoTime() - start).toSeconds();
    }

    private static Throwable failureOf(CompletableFuture<?> future) {
        return assertThrows(ExecutionException.class, () -> Lab.get(future)).getCause();
    }

    private static void assertClosesInTime(RSocketChannel channel) throws IOException {
        long start = System.nanoTime();
        channel.close();
        assertTrue(secondsSince(start) < 10);
        assertThrows(ClosedChannelException.class, () -> channel.read(ByteBuffer.allocate(1)));
    }

    private static void assertNoNewConnection(Wire wire, Lab.Pair pair) throws IOException {
        long start = System.nanoTime();
        RSocketChannel late = RSocketChannel.open();
        IOException failure = assertThrows(IOException.class, () -> {
            late.bind(new InetSocketAddress(wire.left(), 0));
            late.connect(pair.server().getLocalAddress(), Duration.ofSeconds(2));
        });
        assertTrue(failure instanceof SocketTimeoutException || failure instanceof SocketException, failure::toString);
        assertTrue(secondsSince(start) < 15);
        late.close();
    }

    @Test
    void shouldEndWhenTheInterfaceGoesDown() throws Exception {
        try (Wire wire = Wire.add("rxe")) {
            try (Lab.Pair pair = Lab.Pair.open(wire.left(), wire.right())) {
                copy(pair.client(), pair.accepted());
                wire.down();
                CompletableFuture<Integer> left = Lab.async(() -> pair.client().write(MUCH.duplicate()));
                CompletableFuture<Integer> right =
                        Lab.async(() -> pair.accepted().write(MUCH.duplicate()));
                // Each device gives up on the other one.
                for (CompletableFuture<Integer> writing : java.util.List.of(left, right)) {
                    SocketException reset = assertInstanceOf(SocketException.class, failureOf(writing));
                    assertTrue(reset.getMessage().startsWith("Connection reset"), reset.getMessage());
                }
                assertThrows(SocketException.class, () -> pair.client().write(ByteBuffer.allocate(1)));
                assertThrows(SocketException.class, () -> pair.client().read(ByteBuffer.allocate(1)));
                assertNoNewConnection(wire, pair);
                assertClosesInTime(pair.client());
                assertClosesInTime(pair.accepted());

                wire.up();
                try (RSocketChannel again = RSocketChannel.open()) {
                    again.bind(new InetSocketAddress(wire.left(), 0));
                    again.connect(pair.server().getLocalAddress(), Duration.ofSeconds(Lab.SECONDS));
                    try (RSocketChannel accepted = Lab.get(Lab.async(pair.server()::accept))) {
                        copy(again, accepted);
                    }
                }
            }
        }
    }

    @Test
    void shouldEndWhenTheInterfaceOfIwarpGoesDown() throws Exception {
        try (Wire wire = Wire.add("siw")) {
            try (Lab.Pair pair = Lab.Pair.open(wire.left(), wire.right())) {
                copy(pair.client(), pair.accepted());
                wire.down();
                CompletableFuture<Integer> left = Lab.async(() -> pair.client().write(MUCH.duplicate()));
                CompletableFuture<Integer> right =
                        Lab.async(() -> pair.accepted().write(MUCH.duplicate()));
                assertInstanceOf(SocketException.class, failureOf(left));
                assertNoNewConnection(wire, pair);
                assertClosesInTime(pair.client());
                // It may have to learn it from TCP, which takes a quarter of an hour; closing does not wait for that.
                assertClosesInTime(pair.accepted());
                assertInstanceOf(IOException.class, failureOf(right));
            }
        }
    }
}
