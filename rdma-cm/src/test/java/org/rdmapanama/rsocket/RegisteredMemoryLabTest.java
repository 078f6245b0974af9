package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** Registered memory is sent as it is, and the device has done with it when a call returns, whatever happens meanwhile. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RegisteredMemoryLabTest {
    private static final int MEGABYTE = 1 << 20;

    /** No other test has it, so that its rings are of this test. */
    private static final int SEND_BYTES = 99_968;

    private static MemorySegment filled(int size) {
        return Arena.ofAuto().allocate(size).copyFrom(MemorySegment.ofArray(FillPattern.bytes(size, 1)));
    }

    private static Channels.Pair pair() throws Exception {
        RServerSocketChannel server = RServerSocketChannel.open();
        server.setOption(RSocketOptions.RDMA_IOMAPSIZE, 1);
        server.bind(Lab.freeAddress(Lab.SECOND_HOST));
        RSocketChannel client = RSocketChannel.open();
        client.setOption(RSocketOptions.RDMA_IOMAPSIZE, 1);
        client.setOption(StandardSocketOptions.SO_SNDBUF, SEND_BYTES);
        Channels.Pair.connect(server, client);
        return new Channels.Pair(server, client, server.accept());
    }

    private static byte[] read(RSocketChannel channel, int size) throws IOException {
        ByteBuffer received = ByteBuffer.allocate(size);
        Channels.readFully(channel, received);
        return received.array();
    }

    private static void assertFilled(byte[] received) {
        assertEquals(ByteBuffer.wrap(FillPattern.bytes(received.length, 1)), ByteBuffer.wrap(received));
    }

    /** Blocks in a write, because nobody reads. */
    private static CompletableFuture<Long> startWriting(RSocketChannel channel, MemorySegment data) throws Exception {
        CompletableFuture<Long> writing = Async.start(() -> channel.write(data));
        Thread.sleep(100);
        assertFalse(writing.isDone());
        return writing;
    }

    @Test
    void shouldCopyOnlyWhatIsNotRegistered() throws Exception {
        MemorySegment data = filled(MEGABYTE);
        try (Channels.Pair pair = pair();
                RegisteredMemory memory = pair.client().registerForWrite(data)) {
            SendMemory device = SendMemory.acquire(memory.region().protectionDomain());
            CompletableFuture<byte[]> reading = Async.start(() -> read(pair.accepted(), 4 * MEGABYTE));
            assertEquals(MEGABYTE, pair.client().write(data));
            assertEquals(MEGABYTE, pair.client().write(memory.memory().asByteBuffer()));
            ByteBuffer[] parts = {
                data.asSlice(0, MEGABYTE / 2).asByteBuffer(),
                data.asSlice(MEGABYTE / 2).asByteBuffer()
            };
            assertEquals(MEGABYTE, pair.client().write(parts));
            assertEquals(0, device.rings(SEND_BYTES).count());
            assertEquals(MEGABYTE, pair.client().write(filled(MEGABYTE)));
            assertTrue(device.rings(SEND_BYTES).count() > 0);
            byte[] received = Async.get(reading);
            for (int i = 0; i < 4; i++) {
                assertFilled(Arrays.copyOfRange(received, i * MEGABYTE, (i + 1) * MEGABYTE));
            }
            device.release();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 64, 65, Stream.LEAST_UNCOPIED - 1, Stream.LEAST_UNCOPIED, 200_001, 3 * MEGABYTE})
    void shouldSendPartsOfAllSizes(int size) throws Exception {
        MemorySegment data = filled(3 * MEGABYTE + 1);
        try (Channels.Pair pair = pair();
                RegisteredMemory memory = pair.client().registerForWrite(data.asReadOnly())) {
            CompletableFuture<byte[]> reading = Async.start(() -> read(pair.accepted(), size));
            assertEquals(size, pair.client().write(memory.memory().asSlice(1, size)));
            // It may be changed at once.
            byte[] expected = FillPattern.bytes(3 * MEGABYTE + 1, 1);
            data.fill((byte) 0);
            assertEquals(ByteBuffer.wrap(expected, 1, size), ByteBuffer.wrap(Async.get(reading)));
        }
    }

    @Test
    void shouldCopyInNonBlockingMode() throws Exception {
        MemorySegment data = filled(MEGABYTE);
        try (Channels.Pair pair = pair();
                RegisteredMemory memory = pair.client().registerForWrite(data)) {
            pair.client().configureBlocking(false);
            long count = pair.client().write(memory.memory());
            assertTrue(count > 0 && count < MEGABYTE);
            data.fill((byte) 0);
            assertFilled(read(pair.accepted(), (int) count));
        }
    }

    @Test
    void shouldSendIntoMemoryOfThePeer() throws Exception {
        MemorySegment data = filled(MEGABYTE);
        MemorySegment target = Arena.ofAuto().allocate(MEGABYTE);
        try (Channels.Pair pair = pair();
                RegisteredMemory memory = pair.client().registerForWrite(data)) {
            assertNotNull(pair.accepted().mapForRemoteWrite(target, 0));
            Channels.writeFully(pair.accepted(), ByteBuffer.allocate(1));
            Channels.readFully(pair.client(), ByteBuffer.allocate(1));
            assertEquals(MEGABYTE, pair.client().writeRemote(memory.memory(), 0));
            // All of it has arrived, without a message that says so.
            assertEquals(-1, data.mismatch(target));
        }
    }

    @Test
    void shouldServeAllChannelsOfTheDeviceAndPools() throws Exception {
        try (Channels.Pair first = pair();
                Channels.Pair second = pair()) {
            RegisteredMemory memory =
                    first.client().registerForWrite(Arena.ofAuto().allocate(MEGABYTE));
            Channels.close(first.client());
            SendMemory device = SendMemory.acquire(memory.region().protectionDomain());
            RegisteredPool pool = RegisteredPool.over(memory.region());
            try (RegisteredBuffer buffer = pool.allocate(100_000)) {
                buffer.memory().copyFrom(MemorySegment.ofArray(FillPattern.bytes(100_000, 1)));
                int before = device.rings(SEND_BYTES).count();
                assertEquals(100_000, second.client().write(buffer.memory()));
                assertEquals(before, device.rings(SEND_BYTES).count());
                assertFilled(read(second.accepted(), 100_000));
            }
            memory.close();
            memory.close();
            assertFalse(memory.region().isOpen());
            device.release();
        }
    }

    @Test
    void shouldNotEndWhileItIsSent() throws Exception {
        MemorySegment data = filled(MEGABYTE);
        try (Channels.Pair pair = pair()) {
            RegisteredMemory memory = pair.client().registerForWrite(data);
            CompletableFuture<Long> writing = startWriting(pair.client(), data);
            String message =
                    assertThrows(IllegalStateException.class, memory::close).getMessage();
            assertTrue(message.contains("is in use"), message);
            assertFilled(read(pair.accepted(), MEGABYTE));
            assertEquals(MEGABYTE, Async.get(writing));
            memory.close();
            // From now on it is copied.
            CompletableFuture<byte[]> reading = Async.start(() -> read(pair.accepted(), MEGABYTE));
            assertEquals(MEGABYTE, pair.client().write(data));
            assertFilled(Async.get(reading));
        }
    }

    /** What has not been sent when a call returns is not sent any more: the peer sees no change of the memory. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldHaveDoneWithTheMemoryWhenClosed(boolean interrupts) throws Exception {
        MemorySegment data = filled(MEGABYTE);
        try (Channels.Pair pair = pair()) {
            RegisteredMemory memory = pair.client().registerForWrite(data);
            CompletableFuture<Object> result = new CompletableFuture<>();
            Thread writer = Thread.ofPlatform().daemon().start(() -> {
                try {
                    result.complete(pair.client().write(data));
                } catch (IOException e) {
                    result.complete(e);
                }
                data.fill((byte) 0);
            });
            Thread.sleep(100);
            assertFalse(result.isDone());
            if (interrupts) {
                writer.interrupt();
            } else {
                pair.client().close();
            }
            // As with all channels, a call that has written something may say so instead.
            switch (Async.get(result)) {
                case Long count -> assertTrue(count > 0 && count < MEGABYTE);
                case ClosedChannelException e -> assertEquals(interrupts, e instanceof ClosedByInterruptException);
                case Object other -> throw new AssertionError(other);
            }
            writer.join();
            assertFalse(pair.client().isOpen());
            memory.close();
            ByteBuffer received = ByteBuffer.allocate(MEGABYTE);
            while (pair.accepted().read(received) >= 0) {
                // All that has been sent.
            }
            received.flip();
            assertTrue(received.hasRemaining());
            assertEquals(ByteBuffer.wrap(FillPattern.bytes(MEGABYTE, 1), 0, received.limit()), received);
            if (result.get() instanceof Long count) {
                // All that was acknowledged has arrived.
                assertEquals(received.limit(), count.intValue());
            }
        }
    }

    /** What has not arrived when a call returns does not arrive later, when the memory has changed. */
    @Test
    void shouldNotRepeatWhatWasTakenBack() throws Exception {
        MemorySegment data = filled(MEGABYTE);
        try (VerbsArena arena = VerbsArena.ofShared();
                RServerSocketChannel server = RServerSocketChannel.open()) {
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            RdmaConnection peer = RawPeer.connect(arena, server, StreamLabTest.withoutReceives(16));
            RSocketChannel channel = server.accept();
            RegisteredMemory memory = channel.registerForWrite(data);
            CompletableFuture<Long> writing = startWriting(channel, data);
            channel.close();
            // It waits for space, and nothing of what it has written before has arrived.
            ExecutionException closed = assertThrows(ExecutionException.class, () -> Async.get(writing));
            assertInstanceOf(AsynchronousCloseException.class, closed.getCause());
            memory.close();
            data.fill((byte) 0);
            ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 1);
            for (int i = 0; i < 16; i++) {
                peer.queuePair().postReceive(receive);
            }
            assertTrue(peer.awaitDisconnect(Async.LIMIT));
            WorkCompletions completions = new WorkCompletions(arena, 16);
            int count = peer.receiveQueue().poll(completions);
            for (int i = 0; i < count; i++) {
                assertFalse(completions.succeeded(i), "a message arrived after its memory had been taken back");
            }
        }
    }

    /** All of it is on its way when the connection ends, and none of it has arrived. */
    @Test
    void shouldNotSayThatItWroteWhatDidNotArrive() throws Exception {
        int size = 40_000;
        MemorySegment data = filled(size);
        try (VerbsArena arena = VerbsArena.ofShared();
                RServerSocketChannel server = RServerSocketChannel.open()) {
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            RdmaConnection peer = RawPeer.connect(arena, server, RawPeer.options(16, size, 0));
            try (RSocketChannel channel = server.accept()) {
                RegisteredMemory memory = channel.registerForWrite(data);
                CompletableFuture<Long> writing = startWriting(channel, data);
                peer.close();
                ExecutionException failure = assertThrows(ExecutionException.class, () -> Async.get(writing));
                assertInstanceOf(SocketException.class, failure.getCause());
                memory.close();
            }
        }
    }

    /** In a process of its own, whose device fails for all. */
    @Test
    void shouldEndWhenTheDeviceFails() throws Exception {
        try (Program failing = Program.java(List.of(), Failing.class)) {
            failing.assertSucceeds();
        }
    }

    /** Loses the device during a write: from then on it does not even tell what has completed. */
    static final class Failing {
        private Failing() {}

        public static void main(String[] arguments) throws Exception {
            MemorySegment data = filled(MEGABYTE);
            Channels.Pair pair = pair();
            RegisteredMemory memory = pair.client().registerForWrite(data);
            CompletableFuture<Long> writing = startWriting(pair.client(), data);
            memory.region().context().close();
            assertThrows(ExecutionException.class, () -> Async.get(writing));
            memory.close();
            assertFalse(memory.region().isOpen());
        }
    }

    /** A process that is stopped does not acknowledge on soft0; one that is killed never will. */
    @ParameterizedTest
    @ValueSource(strings = {"STOP", "KILL"})
    void shouldGiveUpAPeerThatDoesNotAnswer(String signal) throws Exception {
        assumeFalse(
                Lab.isInLab() && signal.equals("STOP"), "devices of the kernel answer for processes that are stopped");
        int port = Lab.port();
        MemorySegment data = filled(MEGABYTE);
        try (Program echo = Program.java(List.of(), Echo.class, Lab.SECOND_HOST, Integer.toString(port))) {
            echo.await("listening");
            RSocketChannel channel = RSocketChannel.open();
            channel.bind(new InetSocketAddress(Lab.FIRST_HOST, 0));
            channel.connect(new InetSocketAddress(Lab.SECOND_HOST, port), Async.LIMIT);
            RegisteredMemory memory = channel.registerForWrite(data);
            echo.signal(signal);
            CompletableFuture<Long> writing = Async.start(() -> {
                while (true) {
                    channel.write(data);
                }
            });
            Thread.sleep(300);
            channel.close();
            ExecutionException failure = assertThrows(ExecutionException.class, () -> Async.get(writing));
            assertInstanceOf(IOException.class, failure.getCause());
            memory.close();
            assertFalse(memory.region().isOpen());
        }
    }

    /** Channels that other tests have left may share the memory. */
    @Test
    void shouldLeaveNothing() throws Exception {
        RegisteredMemory memory;
        SendMemory device;
        int others;
        try (Channels.Pair pair = pair()) {
            memory = pair.client().registerForWrite(Arena.ofAuto().allocate(MEGABYTE));
            device = SendMemory.acquire(memory.region().protectionDomain());
            // Channels are counted when they send.
            others = device.users() - 2;
            CompletableFuture<byte[]> reading = Async.start(() -> read(pair.accepted(), MEGABYTE));
            pair.client().write(ByteBuffer.allocate(MEGABYTE));
            Async.get(reading);
        }
        SendRings rings = device.rings(SEND_BYTES);
        assertTrue(rings.count() > 0);
        Bound.of(Async.LIMIT).await("all rings are back", () -> rings.available() == rings.count());
        memory.close();
        device.release();
        Bound.of(Async.LIMIT).await("the channels are gone", () -> device.users() <= others);
        if (others == 0) {
            assertEquals(0, rings.count());
        }
    }

    @Test
    void shouldRefuseMemoryThatCouldBeFreed() throws Exception {
        MemorySegment fine = Arena.ofAuto().allocate(100);
        try (Channels.Pair pair = pair();
                Arena arena = Arena.ofShared();
                RSocketChannel unconnected = RSocketChannel.open()) {
            RSocketChannel client = pair.client();
            for (MemorySegment each : List.of(
                    MemorySegment.ofArray(new byte[10]),
                    fine.asSlice(0, 0),
                    arena.allocate(10),
                    MemorySegment.ofBuffer(ByteBuffer.allocateDirect(10)))) {
                assertThrows(IllegalArgumentException.class, () -> client.registerForWrite(each));
            }
            assertThrows(NullPointerException.class, () -> client.registerForWrite(null));
            assertThrows(NotYetConnectedException.class, () -> unconnected.registerForWrite(fine));
            client.close();
            assertThrows(ClosedChannelException.class, () -> client.registerForWrite(fine));
        }
    }
}
