package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** Channels whose device refuses more memory to send from take turns with what there is. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ScarceRingsLabTest {
    /** No other test has it. */
    private static final int SEND_BYTES = 50_048;

    /** Too much to be sent inline. */
    private static final int PIECE = 1000;

    /** ENOMEM, as the kernel reports it where the limit of locked memory is reached. */
    private static final class Refused extends VerbsException {
        private static final long serialVersionUID = 1L;

        Refused() {
            super("ibv_reg_mr", Errno.ENOMEM, "memory to send from", null);
        }
    }

    /** Those for which there is so much memory. */
    private static final class ScarceRings extends SendRings {
        private long left;

        ScarceRings(ProtectionDomain domain, int rings) {
            super(domain, SEND_BYTES);
            left = (long) rings * SEND_BYTES;
        }

        @Override
        MemoryRegion register(long size) {
            if (size > left) {
                throw new Refused();
            }
            left -= size;
            return super.register(size);
        }
    }

    private Channels.Pair first;
    private Channels.Pair second;
    private SendMemory device;
    private ProtectionDomain domain;

    @BeforeEach
    void setUp() throws Exception {
        first = pair();
        second = pair();
        try (RegisteredMemory any =
                first.client().registerForWrite(Arena.ofAuto().allocate(1))) {
            domain = any.region().protectionDomain();
        }
        device = SendMemory.acquire(domain);
    }

    @AfterEach
    void tearDown() throws Exception {
        first.close();
        second.close();
        device.release();
    }

    private static Channels.Pair pair() throws Exception {
        RServerSocketChannel server = RServerSocketChannel.open().bind(Lab.freeAddress(Lab.SECOND_HOST), 4);
        RSocketChannel client = RSocketChannel.open();
        client.setOption(StandardSocketOptions.SO_SNDBUF, SEND_BYTES);
        Channels.Pair.connect(server, client);
        return new Channels.Pair(server, client, server.accept());
    }

    private SendRings allow(int rings) {
        SendRings scarce = new ScarceRings(domain, rings);
        device.rings(SEND_BYTES, scarce);
        return scarce;
    }

    private static void assertArrives(Channels.Pair pair, int size) throws IOException {
        ByteBuffer received = ByteBuffer.allocate(size);
        Channels.readFully(pair.accepted(), received);
        assertEquals(ByteBuffer.wrap(FillPattern.bytes(size, 1)), received.flip());
    }

    private static ByteBuffer piece(int size) {
        return ByteBuffer.wrap(FillPattern.bytes(size, 1));
    }

    /** The other channel has sent its data long ago, and nobody has looked at it since. */
    @Test
    void shouldBecomeWritableWhenARingIsFree() throws Exception {
        SendRings rings = allow(1);
        Channels.writeFully(first.client(), piece(PIECE));
        assertArrives(first, PIECE);
        assertEquals(0, rings.available());
        second.client().configureBlocking(false);
        try (Selector selector = RSocketProvider.instance().openSelector()) {
            SelectionKey key = second.client().register(selector, SelectionKey.OP_WRITE);
            ByteBuffer source = piece(PIECE);
            assertEquals(0, second.client().write(source));
            Bound.of(Async.LIMIT).await("room", () -> {
                selector.select(Async.LIMIT.toMillis());
                return key.isWritable() && second.client().write(source) == PIECE;
            });
        }
        assertArrives(second, PIECE);
        assertEquals(1, rings.count());
    }

    @Test
    void shouldWaitForARing() throws Exception {
        allow(1);
        Channels.writeFully(first.client(), piece(PIECE));
        assertArrives(first, PIECE);
        CompletableFuture<Integer> writing = Async.start(() -> second.client().write(piece(1 << 20)));
        assertArrives(second, 1 << 20);
        assertEquals(1 << 20, Async.get(writing));
        Channels.writeFully(first.client(), piece(PIECE));
        assertArrives(first, PIECE);
    }

    /** A thread that reads from the same channel sleeps for both. */
    @Test
    void shouldWaitForARingBesideAReader() throws Exception {
        allow(1);
        CompletableFuture<Integer> reading = Async.start(() -> second.client().read(ByteBuffer.allocate(1)));
        Channels.writeFully(first.client(), piece(PIECE));
        CompletableFuture<Integer> writing = Async.start(() -> second.client().write(piece(PIECE)));
        assertArrives(second, PIECE);
        assertEquals(PIECE, Async.get(writing));
        assertFalse(reading.isDone());
        Channels.writeFully(second.accepted(), ByteBuffer.allocate(1));
        assertEquals(1, Async.get(reading));
        assertArrives(first, PIECE);
    }

    /** There would be as many new rings as there are, and one is what the device allows. */
    @Test
    void shouldTakeTheLastRing() throws Exception {
        SendRings rings = allow(3);
        SendRing[] all = {rings.tryTake(), rings.tryTake(), rings.tryTake()};
        assertEquals(3, rings.count());
        CompletableFuture<Integer> writing = Async.start(() -> second.client().write(piece(PIECE)));
        // It tries several times.
        Thread.sleep(1500);
        assertFalse(writing.isDone());
        all[1].giveBack();
        assertArrives(second, PIECE);
        assertEquals(PIECE, Async.get(writing));
        all[0].giveBack();
        all[2].giveBack();
    }

    /** As if ten seconds had passed, and more. */
    private static void shrink(SendRings rings) {
        for (int i = 0; i < 500; i++) {
            rings.shrink();
        }
    }

    @Test
    void shouldFreeWhatIsNotNeeded() throws Exception {
        SendRings rings = allow(8);
        List<SendRing> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            all.add(rings.tryTake());
        }
        assertEquals(8, rings.count());
        shrink(rings);
        assertEquals(8, rings.count(), "all are in use");
        // Those of the last region are free, and the others are not.
        all.subList(4, 8).forEach(SendRing::giveBack);
        for (int i = 0; i < 500; i++) {
            rings.shrink();
            rings.tryTake().giveBack();
            rings.shrink();
        }
        assertEquals(8, rings.count(), "one of them is needed now and then");
        shrink(rings);
        assertEquals(4, rings.count());
        all.subList(0, 4).forEach(SendRing::giveBack);
        shrink(rings);
        assertEquals(1, rings.count());
        assertEquals(1, rings.available());
        assertTrue(all.getFirst().region().isOpen());
        assertFalse(all.getLast().region().isOpen());
        Channels.writeFully(first.client(), piece(1 << 17));
        assertArrives(first, 1 << 17);
    }

    /** A peer that reads nothing may keep a ring of any region: the others are freed all the same. */
    @Test
    void shouldFreeIdleRegionsBesideOneInUse() {
        SendRings rings = allow(8);
        List<SendRing> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            all.add(rings.tryTake());
        }
        all.subList(0, 7).forEach(SendRing::giveBack);
        shrink(rings);
        assertEquals(4, rings.count(), "what is left is the region of the ring in use");
        assertTrue(all.get(7).region().isOpen());
        assertFalse(all.getFirst().region().isOpen());
        all.get(7).giveBack();
    }

    /** A channel that sends without a pause gets the rings of the oldest region, whichever was given back last. */
    @Test
    void shouldFreeIdleRegionsBesideABusyChannel() {
        SendRings rings = allow(8);
        List<SendRing> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            all.add(rings.tryTake());
        }
        all.forEach(SendRing::giveBack);
        for (int i = 0; i < 500; i++) {
            SendRing sending = rings.tryTake();
            rings.shrink();
            sending.giveBack();
        }
        assertEquals(1, rings.count());
    }

    /** Its data has arrived long ago, and its program does not call it any more. */
    @Test
    void shouldTakeRingsOfChannelsThatNobodyCalls() throws Exception {
        SendRings rings = allow(2);
        Channels.writeFully(first.client(), piece(PIECE));
        Channels.writeFully(second.client(), piece(PIECE));
        assertArrives(first, PIECE);
        assertArrives(second, PIECE);
        assertEquals(2, rings.count());
        Bound.of(Async.LIMIT).await("both rings", () -> {
            shrink(rings);
            return rings.count() == 1 && rings.available() == 1;
        });
    }

    /** The peer learns of memory that is open to it before it gets data that needs no ring. */
    @Test
    void shouldAnnounceMappingsBeforeData() throws Exception {
        try (RServerSocketChannel server = RServerSocketChannel.open();
                RSocketChannel client = RSocketChannel.open()) {
            server.setOption(RSocketOptions.RDMA_IOMAPSIZE, 1);
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            client.setOption(StandardSocketOptions.SO_SNDBUF, SEND_BYTES);
            client.setOption(RSocketOptions.RDMA_INLINE, 0);
            Channels.Pair.connect(server, client);
            assumeTrue(client.getOption(RSocketOptions.RDMA_INLINE) < PeerMemory.BYTES, "all is sent inline");
            SendRings rings = allow(1);
            SendRing only = rings.tryTake();
            int size = 2 * Stream.LEAST_UNCOPIED;
            MemorySegment opened = Arena.ofAuto().allocate(1);
            try (RSocketChannel accepted = server.accept();
                    RegisteredMemory memory =
                            client.registerForWrite(Arena.ofAuto().allocate(size))) {
                client.configureBlocking(false);
                IoMapping mapping = client.mapForRemoteWrite(opened, 7);
                client.configureBlocking(true);
                CompletableFuture<Long> answering = Async.start(() -> {
                    Channels.readFully(accepted, ByteBuffer.allocate(size));
                    return accepted.writeRemote(MemorySegment.ofArray(new byte[] {42}), mapping.offset());
                });
                CompletableFuture<Long> writing = Async.start(() -> client.write(memory.memory()));
                Thread.sleep(200);
                assertFalse(answering.isDone());
                only.giveBack();
                assertEquals(size, Async.get(writing));
                assertEquals(1, Async.get(answering));
                Bound.of(Async.LIMIT).await("the answer", () -> opened.get(ValueLayout.JAVA_BYTE, 0) == 42);
            }
        }
    }

    private static final class Stubborn extends SendRings {
        private int closed;

        Stubborn(ProtectionDomain domain) {
            super(domain, 1);
        }

        @Override
        void close() {
            closed++;
            throw new Refused();
        }
    }

    @Test
    void shouldFreeAllThoughTheDeviceRefuses() throws Exception {
        try (ProtectionDomain own = domain.context().allocateProtectionDomain()) {
            SendMemory memory = SendMemory.acquire(own);
            Stubborn[] all = {new Stubborn(own), new Stubborn(own)};
            for (int i = 0; i < all.length; i++) {
                memory.rings(i + 1, all[i]);
            }
            SendRings fine = memory.rings(100);
            SendRing ring = fine.tryTake();
            ring.giveBack();
            SendBuffer buffer = new SendBuffer(own, 100);
            assertEquals(memory, buffer.device());
            memory.release();
            Refused first = assertThrows(Refused.class, () -> buffer.close(false));
            assertEquals(1, first.getSuppressed().length);
            assertEquals(1, all[0].closed);
            assertEquals(1, all[1].closed);
            assertEquals(0, fine.count());
            assertFalse(ring.region().isOpen());
            // It is no user any more.
            buffer.close(false);
            SendMemory next = SendMemory.acquire(own);
            assertNotEquals(memory, next);
            next.release();
        }
    }

    /** The device may still send from the ring. */
    @Test
    void shouldNotGiveAwayWhatTheDeviceReads() throws Exception {
        try (ProtectionDomain own = domain.context().allocateProtectionDomain()) {
            SendMemory memory = SendMemory.acquire(own);
            SendBuffer buffer = new SendBuffer(own, 100);
            SendWorkRequest request =
                    SendWorkRequest.allocate(StreamService.get().arena(), 2);
            assertTrue(buffer.tryPut(MemorySegment.ofArray(new byte[10]), 0, 10, request));
            buffer.close(true);
            assertEquals(1, memory.rings(100).count());
            assertEquals(0, memory.rings(100).available());
            memory.release();
        }
    }

    /** Nothing would complete that gives it back. */
    @Test
    void shouldNotKeepARingForDataThatCannotBeRead() throws Exception {
        try (ProtectionDomain own = domain.context().allocateProtectionDomain()) {
            SendBuffer buffer = new SendBuffer(own, 100);
            SendMemory memory = buffer.device();
            SendWorkRequest request =
                    SendWorkRequest.allocate(StreamService.get().arena(), 2);
            MemorySegment closed;
            try (Arena arena = Arena.ofConfined()) {
                closed = arena.allocate(10);
            }
            assertThrows(IllegalStateException.class, () -> buffer.tryPut(closed, 0, 10, request));
            assertEquals(1, memory.rings(100).available());
            assertTrue(buffer.tryPut(MemorySegment.ofArray(new byte[10]), 0, 10, request));
            assertEquals(0, memory.rings(100).available());
            buffer.close(false);
        }
    }

    /** Nobody could give one back. */
    @Test
    void shouldSayThatThereIsNone() throws Exception {
        allow(0);
        String message = assertThrows(
                        SocketException.class, () -> second.client().write(piece(PIECE)))
                .getMessage();
        assertTrue(message.startsWith("there is no memory to send from: ibv_reg_mr"), message);
        // What is small needs none.
        Channels.writeFully(second.client(), piece(10));
        assertArrives(second, 10);
    }
}
