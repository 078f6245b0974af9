package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.SocketException;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.ffm.NeedsKernelDevice;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.Lab;

/** rsocket's protocol between two streams, against rstream, and against peers that break it. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StreamLabTest {
    private static final int PIECE = 20_000;

    private final MemorySegment buffer = Arena.ofAuto().allocate(PIECE);

    /** Bytes that a seed determines, to write on one side and to expect on the other. */
    private static final class Bytes {
        private final Random random;
        private long count;

        Bytes(long seed) {
            random = new Random(seed);
        }

        void fill(MemorySegment target) {
            for (long i = 0; i < target.byteSize(); i++) {
                target.set(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt());
            }
            count += target.byteSize();
        }

        void check(MemorySegment data) {
            for (long i = 0; i < data.byteSize(); i++) {
                assertEquals((byte) random.nextInt(), data.get(ValueLayout.JAVA_BYTE, i), "byte " + count++);
            }
        }
    }

    /** One direction, of which both ends are here. */
    private final class Direction {
        private final Stream from;
        private final Stream to;
        private final Bytes written;
        private final Bytes expected;
        private final long bytes;
        private final MemorySegment piece = Arena.ofAuto().allocate(PIECE);
        private final Random sizes;
        private long at;
        private long end;
        private long left;

        Direction(Stream from, Stream to, long bytes, long seed) {
            this.from = from;
            this.to = to;
            this.bytes = bytes;
            left = bytes;
            written = new Bytes(seed);
            expected = new Bytes(seed);
            sizes = new Random(seed + 1);
        }

        void write() throws IOException {
            if (at == end && left > 0) {
                at = 0;
                end = Math.min(left, 1 + sizes.nextInt(PIECE));
                left -= end;
                written.fill(piece.asSlice(0, end));
            }
            if (at < end) {
                at += from.write(piece, at, end - at, null);
            }
        }

        boolean read() throws IOException {
            long count = to.read(buffer, 0, 1 + sizes.nextInt(PIECE));
            assertTrue(count >= 0, "the stream ended");
            expected.check(buffer.asSlice(0, count));
            return expected.count == bytes;
        }
    }

    private static void await(String what, StreamPair pair, BooleanSupplier condition) throws Exception {
        Bound.of(Async.LIMIT).await(what, () -> {
            pair.clientStream().progress();
            pair.acceptedStream().progress();
            return condition.getAsBoolean();
        });
    }

    @ParameterizedTest
    @CsvSource({
        "false, 131072, 131072, 384, 384, 64, 3000000",
        "false, 4096, 4096, 16, 16, 0, 300000",
        "false, 5000, 70000, 17, 100, 16, 1000000",
        "true, 131072, 131072, 384, 384, 64, 1000000",
        "true, 4096, 8192, 16, 16, 4, 100000"
    })
    void shouldCarryBytesBothWays(
            boolean apart, int sendBytes, int receiveBytes, int sends, int receives, int inline, int bytes)
            throws Exception {
        StreamSizes sizes = new StreamSizes(sendBytes, receiveBytes, sends, receives, inline, 0);
        try (StreamPair pair = StreamPair.open(apart, sizes)) {
            Stream client = pair.clientStream();
            Stream accepted = pair.acceptedStream();
            Direction there = new Direction(client, accepted, bytes, 7);
            Direction back = new Direction(accepted, client, bytes, 8);
            await("all bytes", pair, () -> {
                try {
                    there.write();
                    back.write();
                    boolean arrived = there.read();
                    return back.read() && arrived;
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            await("the last writes", pair, () -> client.isFlushed() && accepted.isFlushed());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndOneDirectionAfterTheOther(boolean apart) throws Exception {
        try (StreamPair pair = StreamPair.open(apart, StreamSizes.DEFAULT)) {
            Stream client = pair.clientStream();
            Stream accepted = pair.acceptedStream();
            assertEquals(100, client.write(buffer, 0, 100, null));
            client.end(false);
            await("the end", pair, () -> accepted.isReadable() && client.isFlushed());
            assertEquals(100, accepted.read(buffer, 0, PIECE));
            await("the end", pair, accepted::isReadable);
            assertEquals(-1, accepted.read(buffer, 0, PIECE));
            SocketException shut = assertThrows(SocketException.class, () -> client.write(buffer, 0, 1, null));
            assertEquals(
                    "Broken pipe: the output has been shut down, or the peer has closed the connection",
                    shut.getMessage());

            assertEquals(50, accepted.write(buffer, 0, 50, null));
            accepted.end(false);
            await("the answer", pair, client::isReadable);
            assertEquals(50, client.read(buffer, 0, PIECE));
            await("the other end", pair, client::isReadable);
            assertEquals(-1, client.read(buffer, 0, PIECE));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldNotWriteMoreThanThePeerHasRoomFor(boolean apart) throws Exception {
        StreamSizes sizes = new StreamSizes(1 << 16, 1 << 14, 64, 64, 0, 0);
        try (StreamPair pair = StreamPair.open(apart, sizes)) {
            Stream client = pair.clientStream();
            Stream accepted = pair.acceptedStream();
            await("the second half", pair, () -> pair.acceptedStream().isFlushed());
            long[] written = {0};
            await("a full buffer", pair, () -> {
                try {
                    written[0] += client.write(buffer, 0, PIECE, null);
                    return written[0] == sizes.receiveBytes() && client.isFlushed();
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            for (int i = 0; i < 100; i++) {
                client.progress();
                accepted.progress();
                assertEquals(0, client.write(buffer, 0, PIECE, null));
                assertFalse(client.isWritable());
            }
            assertEquals(sizes.receiveBytes() / 2, accepted.read(buffer, 0, sizes.receiveBytes() / 2));
            await("room", pair, client::isWritable);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldStopAtTheLastCredit(boolean apart) throws Exception {
        StreamSizes sizes = new StreamSizes(1 << 16, 1 << 16, 64, 16, 0, 0);
        try (StreamPair pair = StreamPair.open(apart, sizes)) {
            Stream client = pair.clientStream();
            Stream accepted = pair.acceptedStream();
            for (int i = 0; i < sizes.receives(); i++) {
                assertEquals(1, client.write(buffer, 0, 1, null));
            }
            assertEquals(0, client.write(buffer, 0, 1, null), "no credit is left");
            await("all of them", pair, () -> client.isFlushed() && accepted.isFlushed());
            assertEquals(0, client.write(buffer, 0, 1, null), "the peer has read nothing");
            assertEquals(sizes.receives(), accepted.read(buffer, 0, PIECE));
            await("credits", pair, client::isWritable);
            assertEquals(1, client.write(buffer, 0, 1, null));
        }
    }

    /** Each waits for the other: there is neither a credit nor room, in either direction. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldComeFreeWhenBothSidesAreFull(boolean apart) throws Exception {
        int messages = 16;
        int bytes = 256;
        int all = messages * bytes;
        StreamSizes sizes = new StreamSizes(1 << 16, all, 64, messages, 0, 0);
        try (StreamPair pair = StreamPair.open(apart, sizes)) {
            Stream client = pair.clientStream();
            Stream accepted = pair.acceptedStream();
            for (int round = 0; round < 50; round++) {
                fill(pair, all, bytes);
                for (int i = 0; i < 20; i++) {
                    client.progress();
                    accepted.progress();
                    assertFalse(client.isWritable());
                    assertFalse(accepted.isWritable());
                    assertEquals(0, client.write(buffer, 0, 1, null));
                    assertEquals(0, accepted.write(buffer, 0, 1, null));
                }
                await("all of them", pair, () -> client.available() == all && accepted.available() == all);
                assertEquals(all, client.read(buffer, 0, PIECE));
                assertEquals(all, accepted.read(buffer, 0, PIECE));
                await("room on both sides", pair, () -> client.isWritable() && accepted.isWritable());
            }
        }
    }

    /** Both sides write by turns until neither can. */
    private void fill(StreamPair pair, int size, int piece) throws Exception {
        long[] written = new long[2];
        await("both are full", pair, () -> {
            try {
                written[0] += pair.clientStream().write(buffer, 0, piece, null);
                written[1] += pair.acceptedStream().write(buffer, 0, piece, null);
                return written[0] == size && written[1] == size;
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        await(
                "all is sent",
                pair,
                () -> pair.clientStream().isFlushed() && pair.acceptedStream().isFlushed());
    }

    @ParameterizedTest
    @CsvSource({
        "'the peer wrote 70000 bytes, and had room for 65536 in the receive buffer', 70000",
        "the peer sent a message of an unknown kind: 1, 0x20000001",
        "the peer sent a message of an unknown kind: 5, 0xa0000001",
    })
    void shouldBreakWithAPeerThatBreaksTheProtocol(String expected, String message) throws Exception {
        byte[] data = new ConnectionData(false, 16, 0, new Offer(0, 0, 2), new Offer(0, 0, 1)).toBytes();
        try (StreamPair pair = StreamPair.open(
                false, new RdmaConnectionOptions().privateData(data).prepare(connection -> {}), StreamSizes.DEFAULT)) {
            SendWorkRequest request = SendWorkRequest.allocate(pair.arena(), 1)
                    .rdmaWriteWithImmediate(0, 0, Integer.parseUnsignedInt(digits(message), radix(message)));
            Stream accepted = pair.acceptedStream();
            pair.client().queuePair().postSend(request.signaled(true));
            // A stream that makes progress before offers more room, and the client has no memory for the offer.
            CompletionQueue sent = pair.client().sendQueue();
            assertTrue(Completions.awaitAny(sent, new WorkCompletions(sent, 1)).succeeded(0));
            accepted.progress();
            assertTrue(accepted.isReadable());
            ProtocolException e = assertThrows(ProtocolException.class, () -> accepted.read(buffer, 0, PIECE));
            assertEquals(expected, e.getMessage());
            assertEquals(
                    expected,
                    assertThrows(ProtocolException.class, () -> accepted.write(buffer, 0, 1, null))
                            .getMessage());
        }
    }

    private static String digits(String number) {
        return number.startsWith("0x") ? number.substring(2) : number;
    }

    private static int radix(String number) {
        return number.startsWith("0x") ? 16 : 10;
    }

    /** Connects a client that is no stream and has no receives, so that what is sent to it does not arrive. */
    private static StreamPair openToAPeerWithoutReceives(int credits) throws Exception {
        return StreamPair.open(false, withoutReceives(credits), StreamSizes.DEFAULT);
    }

    /** Options of that client. */
    static RdmaConnectionOptions withoutReceives(int credits) {
        return RawPeer.options(credits, PIECE, 0);
    }

    /** A number of credits has 16 bits, and no sign. */
    @ParameterizedTest
    @ValueSource(ints = {1, 32_767, 32_768, 40_000, 65_535})
    void shouldUseAnyNumberOfCredits(int credits) throws Exception {
        try (StreamPair pair = openToAPeerWithoutReceives(credits)) {
            Stream accepted = pair.acceptedStream();
            assertTrue(accepted.isWritable());
            assertEquals(100, accepted.write(buffer, 0, 100, null));
            assertEquals(credits > 1, accepted.isWritable());
            // Writing into memory of the peer takes none.
            assertTrue(accepted.isReady(Stream.Wanted.REMOTE_ROOM));
        }
    }

    /** What was written is still on its way when both sides have ended their output. */
    @Test
    void shouldFlushAfterBothSidesHaveEnded() throws Exception {
        try (StreamPair pair = openToAPeerWithoutReceives(16)) {
            Stream accepted = pair.acceptedStream();
            assertEquals(1000, accepted.write(buffer, 0, 1000, null));
            accepted.end(false);
            QueuePair client = pair.client().queuePair();
            client.postSend(SendWorkRequest.allocate(pair.arena(), 1)
                    .rdmaWriteWithImmediate(0, 0, StreamMessage.of(StreamMessage.CONTROL, StreamMessage.SHUTDOWN)));
            Bound.of(Async.LIMIT).await("the end", () -> {
                accepted.progress();
                return accepted.isReadable();
            });
            assertFalse(accepted.isFlushed());
            ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(pair.arena(), 1);
            for (int i = 0; i < 16; i++) {
                client.postReceive(receive);
            }
            Bound.of(Async.LIMIT).await("everything has arrived", () -> {
                accepted.progress();
                return accepted.isFlushed();
            });
        }
    }

    /** Sends back what comes, until the peer ends the stream. */
    private void echo(Stream stream) throws Exception {
        long[] left = {0};
        long[] at = {0};
        Bound.of(Async.LIMIT).await("the end of the stream", () -> {
            stream.progress();
            if (left[0] == 0) {
                at[0] = 0;
                left[0] = stream.read(buffer, 0, PIECE);
            }
            if (left[0] > 0) {
                long count = stream.write(buffer, at[0], left[0], null);
                at[0] += count;
                left[0] -= count;
            }
            return left[0] < 0;
        });
    }

    /** rstream checks the bytes that come back. */
    @ParameterizedTest
    @CsvSource({"false, 3, 4, 5000", "false, 1, 1, 100000", "false, 50, 1, 64", "true, 3, 4, 5000", "true, 50, 1, 64"})
    @NeedsKernelDevice("librdmacm")
    void shouldAnswerRstream(boolean iwarp, int iterations, int count, int size) throws Exception {
        String prefix = iwarp ? "10.78.0." : "10.77.0.";
        InetSocketAddress address = Lab.freeAddress(prefix + 2);
        String command = "rstream -s " + prefix + "2 -b " + prefix + "1 -p " + address.getPort() + " -I " + iterations
                + " -C " + count + " -S " + size + " -T v";
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, address);
                Program client = Program.start(command.split(" ", -1))) {
            RdmaConnection accepted = StreamPair.accept(server, StreamSizes.DEFAULT, iwarp);
            echo(StreamPair.of(accepted));
            client.assertSucceeds();
        }
    }

    @Test
    void shouldSeeThatThePeerDisconnects() throws Exception {
        try (StreamPair pair = StreamPair.open(false, StreamSizes.DEFAULT)) {
            Stream accepted = pair.acceptedStream();
            pair.clientStream().end(true);
            await(
                    "the end",
                    pair,
                    () -> accepted.isReadable() && pair.clientStream().isFlushed());
            assertEquals(-1, accepted.read(buffer, 0, PIECE));
            assertThrows(SocketException.class, () -> accepted.write(buffer, 0, 1, null));
        }
    }
}
