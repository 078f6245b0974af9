package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** Channels over wires that lose packets, and to processes that are killed or stopped. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LostPeersLabTest {
    private static final int BYTES = 1 << 20;
    private static final int PIECE = 30_000;

    /** What a client in C sends first. */
    private static final int GREETING = 16;

    private final int port = Lab.port();

    private Program echo(List<String> options) throws Exception {
        Program echo = Program.javaWith(options, Echo.class, Lab.SECOND_HOST, Integer.toString(port));
        echo.await("listening");
        return echo;
    }

    private RSocketChannel connect() throws IOException {
        RSocketChannel channel = RSocketChannel.open();
        channel.bind(new InetSocketAddress(Lab.FIRST_HOST, 0));
        channel.connect(new InetSocketAddress(Lab.SECOND_HOST, port), Async.LIMIT);
        return channel;
    }

    /** Sends bytes in pieces of all sizes, and expects them back. */
    private static void exchange(RSocketChannel channel, int bytes, long seed) throws Exception {
        byte[] sent = FillPattern.bytes(bytes, (int) seed);
        CompletableFuture<?> writing = Async.start(() -> {
            Random sizes = new Random(seed);
            for (int at = 0; at < bytes; ) {
                int size = Math.min(bytes - at, 1 + sizes.nextInt(PIECE));
                Channels.writeFully(channel, ByteBuffer.wrap(sent, at, size));
                at += size;
            }
            return null;
        });
        ByteBuffer received = ByteBuffer.allocate(bytes);
        Channels.readFully(channel, received);
        Async.get(writing);
        assertArrayEquals(sent, received.array());
    }

    @ParameterizedTest
    @ValueSource(strings = {"loss=0.02,seed=3", "loss=0.01,duplicate=0.02,reorder=0.02,corrupt=0.01,full=0.01,seed=7"})
    void shouldBringEveryByteOverABadWire(String faults) throws Exception {
        assumeFalse(Lab.isInLab(), "the wire of soft0 can be told to lose packets");
        try (Program echo = echo(List.of("-Dorg.rdmapanama.soft.faults=" + faults));
                RSocketChannel first = connect()) {
            exchange(first, BYTES, 1);
            Channels.close(first);
            try (RSocketChannel second = connect()) {
                exchange(second, BYTES / 4, 2);
            }
            assertFalse(echo.output().contains("failed"), echo::toString);
        }
    }

    private static void wire(String what) throws Exception {
        // Not replaced: that would keep what an earlier test has set.
        Program.run(("tc qdisc add dev veth0 root netem " + what).split(" "));
    }

    private static void repairWire() throws Exception {
        Program.run("tc", "qdisc", "del", "dev", "veth0", "root");
    }

    @ParameterizedTest
    @NeedsKernelDevice("netem")
    @ValueSource(
            strings = {
                "loss 5%",
                "delay 1ms reorder 90% 50%",
                "duplicate 5%",
                "corrupt 5%",
                "delay 200us reorder 98% loss 1% duplicate 1% corrupt 1%"
            })
    void shouldBringEveryByteWithNetem(String faults) throws Exception {
        try (Channels.Pair pair = Channels.Pair.open()) {
            wire(faults);
            try {
                CompletableFuture<?> back = Async.start(() -> {
                    ByteBuffer data = ByteBuffer.allocateDirect(PIECE);
                    for (int left = BYTES / 2; left > 0; ) {
                        data.clear();
                        left -= pair.accepted().read(data);
                        Channels.writeFully(pair.accepted(), data.flip());
                    }
                    return null;
                });
                exchange(pair.client(), BYTES / 2, 3);
                Async.get(back);
            } finally {
                repairWire();
            }
        }
    }

    /** The device repeats the question, and breaks the connection when nothing answers. */
    @Test
    @NeedsKernelDevice("netem")
    void shouldNoticeThatTheNetworkIsGone() throws Exception {
        try (Channels.Pair pair = Channels.Pair.open()) {
            for (RSocketChannel each : List.of(pair.client(), pair.accepted())) {
                each.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
                each.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 1);
            }
            CompletableFuture<Integer> client = Async.start(() -> pair.client().read(ByteBuffer.allocate(1)));
            CompletableFuture<Integer> accepted =
                    Async.start(() -> pair.accepted().read(ByteBuffer.allocate(1)));
            // They have nothing to say, but answer.
            Thread.sleep(2500);
            assertFalse(client.isDone());
            assertFalse(accepted.isDone());
            wire("loss 100%");
            try {
                assertTimedOut(client);
                assertTimedOut(accepted);
                assertThrows(SocketException.class, () -> pair.client().write(ByteBuffer.allocate(1)));
            } finally {
                repairWire();
            }
        }
        try (Channels.Pair pair = Channels.Pair.open()) {
            Channels.writeFully(pair.client(), ByteBuffer.allocate(1));
            Channels.readFully(pair.accepted(), ByteBuffer.allocate(1));
        }
    }

    /** The client asks for retransmissions without end, which the device would take literally. */
    @Test
    @NeedsKernelDevice("librdmacm")
    void shouldNoticeThatTheNetworkToAClientInCIsGone() throws Exception {
        try (RServerSocketChannel server = RServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(Lab.SECOND_HOST, port));
            String command = "rstream -s " + Lab.SECOND_HOST + " -b " + Lab.FIRST_HOST + " -p " + port + " -S 64 -T b";
            try (Program client = Program.start(command.split(" "));
                    RSocketChannel channel = server.accept()) {
                channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
                channel.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 1);
                // It waits for an answer to what it sends first.
                Channels.readFully(channel, ByteBuffer.allocate(GREETING));
                CompletableFuture<Integer> reading = Async.start(() -> channel.read(ByteBuffer.allocate(1)));
                Thread.sleep(1500);
                assertFalse(reading.isDone(), client::toString);
                wire("loss 100%");
                try {
                    assertTimedOut(reading);
                } finally {
                    repairWire();
                }
            }
        }
    }

    private static void assertTimedOut(CompletableFuture<Integer> reading) {
        ExecutionException failure = assertThrows(ExecutionException.class, () -> Async.get(reading));
        assertInstanceOf(SocketException.class, failure.getCause());
        assertTrue(failure.getCause().getMessage().startsWith("Connection timed out"), failure.getCause()::toString);
    }

    /** As with TCP, whose kernel answers for a process that is stopped as well. */
    @Test
    @NeedsKernelDevice("a device that answers for its process")
    void shouldKeepAConnectionToAPeerThatWasStopped() throws Exception {
        try (Program echo = echo(List.of());
                RSocketChannel channel = connect()) {
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            channel.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 1);
            exchange(channel, 1000, 8);
            CompletableFuture<Integer> reading = Async.start(() -> channel.read(ByteBuffer.allocate(1)));
            echo.signal("STOP");
            Thread.sleep(5000);
            assertFalse(reading.isDone());
            echo.signal("CONT");
            Channels.writeFully(channel, ByteBuffer.allocate(1));
            assertEquals(1, Async.get(reading));
            exchange(channel, BYTES / 4, 9);
        }
    }

    @Test
    void shouldNoticeThatAPeerWasKilled() throws Exception {
        try (Program echo = echo(List.of());
                RSocketChannel channel = connect()) {
            exchange(channel, 1000, 4);
            CompletableFuture<Integer> reading = Async.start(() -> channel.read(ByteBuffer.allocate(1)));
            Thread.sleep(100);
            assertFalse(reading.isDone());
            echo.kill();
            // As with TCP, it is the end of the stream, or a connection that was reset.
            try {
                assertEquals(-1, Async.get(reading));
            } catch (ExecutionException e) {
                assertInstanceOf(IOException.class, e.getCause());
            }
            assertThrows(IOException.class, () -> {
                while (true) {
                    channel.write(ByteBuffer.allocate(1000));
                }
            });
        }
    }

    @Test
    void shouldNoticeThatAPeerWasStopped() throws Exception {
        assumeFalse(Lab.isInLab(), "devices of the kernel answer for processes that are stopped");
        try (Program echo = echo(List.of());
                RSocketChannel channel = connect()) {
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            channel.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 1);
            exchange(channel, 1000, 5);
            CompletableFuture<Integer> reading = Async.start(() -> channel.read(ByteBuffer.allocate(1)));
            // It has nothing to say, but answers.
            Thread.sleep(2500);
            assertFalse(reading.isDone());
            echo.signal("STOP");
            try {
                assertEquals(-1, Async.get(reading));
            } catch (ExecutionException e) {
                assertInstanceOf(IOException.class, e.getCause());
            }
            assertTrue(echo.isAlive());
        }
    }

    @Test
    void shouldWaitForAPeerThatWasStopped() throws Exception {
        try (Program echo = echo(List.of());
                RSocketChannel channel = connect()) {
            exchange(channel, 1000, 6);
            echo.signal("STOP");
            Thread.sleep(300);
            echo.signal("CONT");
            exchange(channel, BYTES / 4, 7);
        }
    }
}
