package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** Queue pairs of an eRDMA card in memory, under the object model and liberdma. */
@Tag("card")
@SuppressWarnings("CheckReturnValue") // objects that are only there
class ErdmaCardTest {
    private static final int BYTES = 1 << 16;
    private static final int HALF = BYTES / 2;
    private static final int ENTRIES = 64;
    private static final int WORK = 16;
    private static final int SEGMENTS = 6;
    private static final int INLINE = 96;

    /** A ring has so many units for each send of which a program was told that it fits. */
    private static final int UNITS = 4;

    private static final Duration LONG = Bound.USUAL;
    private static final Duration SHORT = Duration.ofMillis(50);

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final Context context = Context.open(arena, LabDevices.first());
    private final ProtectionDomain domain = context.allocateProtectionDomain();

    @AfterEach
    void close() {
        Bound bound = Bound.usual();
        arena.close();
        bound.check("closing took too long");
    }

    private Side side(int sends) {
        CompletionChannel channel = context.createCompletionChannel();
        QueuePair queuePair = domain.createQueuePair(
                new QueuePairOptions(QueuePairType.RC, context.createCompletionQueue(ENTRIES, channel, 0))
                        .maxSendWorkRequests(sends)
                        .maxReceiveWorkRequests(WORK)
                        .maxSegments(SEGMENTS, 1)
                        .maxInlineData(INLINE));
        MemoryRegion region = domain.register(
                arena.allocate(BYTES, 4096),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_READ,
                AccessFlag.REMOTE_ATOMIC);
        return new Side(arena, domain, channel, queuePair, region, Bound.USUAL);
    }

    private Side[] connected(int sends) {
        Side[] sides = {side(sends), side(sends)};
        connect(sides[0], sides[1]);
        return sides;
    }

    private static void connect(Side a, Side b) {
        ConnectOptions options = LabDevices.connectOptions().rnrRetry(1);
        Endpoint ofA = a.queuePair.localEndpoint(options);
        a.queuePair.connect(b.queuePair.localEndpoint(options));
        b.queuePair.connect(ofA);
    }

    private static SendWorkRequest write(Side from, Side to, long id) {
        return from.request(id, 0, 8).rdmaWrite(to.region.address(), to.region.rkey());
    }

    @Test
    void shouldTellWhatItIs() {
        assertEquals(NodeType.RNIC, context.nodeType());
        assertEquals(TransportType.IWARP, context.transportType());
        DeviceAttributes attributes = context.queryDevice();
        assertEquals(0x1ded, attributes.vendorId());
        assertEquals(0x107f, attributes.vendorPartId());
        // From a number, by the driver.
        assertEquals("14.32.1010", attributes.firmwareVersion());
        assertEquals(1, attributes.maxSegments());
        assertEquals(8192, attributes.maxWorkRequests());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6})
    void shouldMoveDataOfEachNumberOfSegments(int segments) {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        Side b = sides[1];
        FillPattern.fill(a.memory, segments + 1);
        // Often enough for the ring of units to wrap, at each place of a request.
        for (int round = 0; round < 2 * UNITS * WORK; round++) {
            b.memory.fill((byte) 0);
            b.postReceive(3, 0, HALF);
            SendWorkRequest send =
                    SendWorkRequest.allocate(arena, SEGMENTS).id(1).signaled(true);
            SendWorkRequest write =
                    SendWorkRequest.allocate(arena, SEGMENTS).id(2).signaled(true);
            for (int i = 0; i < segments; i++) {
                // Each at the place where it arrives.
                send.add(a.region, 100L * i, 100);
                write.add(a.region, HALF + 100L * i, 100);
            }
            a.post(send.send().next(write.rdmaWrite(b.region.address() + HALF, b.region.rkey())));
            List<Completion> done = a.await(2);
            done.get(0).is(CompletionOpcode.SEND, 1);
            done.get(1).is(CompletionOpcode.RDMA_WRITE, 2);
            assertEquals(100 * segments, b.await().is(CompletionOpcode.RECV, 3).byteLength());
            for (int from : new int[] {0, HALF}) {
                int bytes = 100 * segments;
                assertEquals(-1, a.memory.asSlice(from, bytes).mismatch(b.memory.asSlice(from, bytes)));
                assertEquals(0, b.memory.get(ValueLayout.JAVA_BYTE, from + bytes));
            }
        }
    }

    /** The data of its own that a request has goes around the end of the ring, too. */
    @Test
    void shouldMoveInlineDataOfEachLength() {
        Side[] sides = connected(2);
        Side a = sides[0];
        Side b = sides[1];
        for (int length = 0; length <= INLINE; length++) {
            b.memory.fill((byte) 0);
            FillPattern.fill(a.memory.asSlice(0, INLINE + 1), length);
            b.postReceive(3, 0, INLINE);
            SendWorkRequest send = a.request(1, 0, length / 2).add(a.region, length / 2, length - length / 2);
            a.post(send.send().inline(true));
            SendWorkRequest write = a.request(2, 0, length).inline(true);
            a.await();
            a.post(write.rdmaWrite(b.region.address() + HALF, b.region.rkey()));
            a.memory.fill((byte) 0);
            a.await().is(CompletionOpcode.RDMA_WRITE, 2);
            assertEquals(length, b.await().is(CompletionOpcode.RECV, 3).byteLength());
            FillPattern.assertFilled(b.memory.asSlice(0, length), length);
            FillPattern.assertFilled(b.memory.asSlice(HALF, length), length);
            assertEquals(0, b.memory.get(ValueLayout.JAVA_BYTE, length));
        }
    }

    @Test
    void shouldBringImmediateData() {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        Side b = sides[1];
        FillPattern.fill(a.memory.asSlice(0, 40), 1);
        b.postReceive(1, 0, 100);
        b.postReceive(2, 0, 0);
        a.post(a.request(3, 0, 40).sendWithImmediate(0x1234_5678));
        a.post(a.request(4, 0, 40)
                .rdmaWriteWithImmediate(b.region.address() + 8, b.region.rkey(), 0x9abc_def0)
                .signaled(true));
        List<Completion> done = a.await(2);
        done.get(0).is(CompletionOpcode.SEND, 3);
        done.get(1).is(CompletionOpcode.RDMA_WRITE, 4);
        List<Completion> come = b.await(2);
        Completion sent = come.get(0).is(CompletionOpcode.RECV, 1);
        assertTrue(sent.hasImmediate());
        assertEquals(0x1234_5678, sent.immediate());
        assertEquals(40, sent.byteLength());
        Completion written = come.get(1).is(CompletionOpcode.RECV_RDMA_WITH_IMM, 2);
        assertTrue(written.hasImmediate());
        assertEquals(0x9abc_def0, written.immediate());
        assertEquals(40, written.byteLength());
        FillPattern.assertFilled(b.memory.asSlice(8, 40), 1);
    }

    @Test
    void shouldReadAndDoAtomics() {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        Side b = sides[1];
        FillPattern.fill(b.memory.asSlice(8, 40_000), 2);
        a.post(a.request(1, 0, 40_000).rdmaRead(b.region.address() + 8, b.region.rkey()));
        a.await().is(CompletionOpcode.RDMA_READ, 1);
        FillPattern.assertFilled(a.memory.asSlice(0, 40_000), 2);

        b.memory.set(ValueLayout.JAVA_LONG, 0, 40);
        a.post(a.request(2, 0, 8).fetchAndAdd(b.region.address(), b.region.rkey(), 2));
        a.await().is(CompletionOpcode.FETCH_ADD, 2);
        assertEquals(40, a.memory.get(ValueLayout.JAVA_LONG, 0));
        a.post(a.request(3, 8, 8).compareAndSwap(b.region.address(), b.region.rkey(), 42, -7));
        a.await().is(CompletionOpcode.COMP_SWAP, 3);
        assertEquals(42, a.memory.get(ValueLayout.JAVA_LONG, 8));
        a.post(a.request(4, 16, 8).fence(true).compareAndSwap(b.region.address(), b.region.rkey(), 42, 1));
        a.await().is(CompletionOpcode.COMP_SWAP, 4);
        assertEquals(-7, a.memory.get(ValueLayout.JAVA_LONG, 16));
        assertEquals(-7, b.memory.get(ValueLayout.JAVA_LONG, 0));
    }

    /** The driver takes the first one alone; the device tells that it reads into one. */
    @Test
    void shouldReadIntoOneSegmentOfTwo() {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        Side b = sides[1];
        assertEquals(1, context.queryDevice().maxReadSegments());
        FillPattern.fill(b.memory.asSlice(0, 128), 1);
        a.post(a.request(1, 0, 64).add(a.region, 64, 64).rdmaRead(b.region.address(), b.region.rkey()));
        a.await().is(CompletionOpcode.RDMA_READ, 1);
        FillPattern.assertFilled(a.memory.asSlice(0, 64), 1);
        assertEquals(-1, a.memory.asSlice(64, 64).mismatch(arena.allocate(64, 8)));
    }

    @Test
    void shouldTellOfSignaledSendsOnly() {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        for (int round = 0; round < 100; round++) {
            SendWorkRequest signaled = write(a, sides[1], round);
            a.post(write(a, sides[1], -1)
                    .signaled(false)
                    .next(write(a, sides[1], -2).signaled(false).next(signaled)));
            a.await().is(CompletionOpcode.RDMA_WRITE, round);
        }
        assertEquals(List.of(), a.poll());
    }

    @Test
    void shouldBeFullWhenItsUnitsAreTaken() {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        Side b = sides[1];
        Cards.pause(true);
        try {
            SendWorkRequest send = a.request(1, 0, 8).send().inline(true);
            for (int i = 0; i < UNITS * WORK; i++) {
                // Eight bytes are in the first unit.
                a.post(send);
            }
            assertEquals(QueuePair.QUEUE_FULL, a.queuePair.tryPostSend(send));
            for (int i = 0; i < WORK; i++) {
                b.postReceive(i, 0, 8);
            }
            assertEquals(QueuePair.QUEUE_FULL, b.queuePair.tryPostReceive(b.receiveRequest(0, 0, 8)));
        } finally {
            Cards.pause(false);
        }
        // Which the ring had not lost: as many arrive as there are receives, and the next one fails.
        List<Completion> sent = a.await(UNITS * WORK);
        for (int i = 0; i < sent.size(); i++) {
            CompletionStatus expected = i < WORK
                    ? CompletionStatus.SUCCESS
                    : i == WORK ? CompletionStatus.RETRY_EXC_ERR : CompletionStatus.WR_FLUSH_ERR;
            assertEquals(expected, sent.get(i).status());
        }
        b.await(WORK);
    }

    /**
     * The driver looks whether one unit of the ring is free, and then writes as many as the request has. Where more are
     * outstanding than a program was told that fit, the oldest one may be overwritten.
     */
    @Test
    void shouldOverwriteARequestWhereAProgramReliesOnAFullQueue() {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        // Three units each, of 64.
        int fitting = UNITS * WORK / 3;
        Cards.pause(true);
        try {
            for (int i = 0; i <= fitting; i++) {
                SendWorkRequest write = write(a, sides[1], i);
                a.post(write.add(a.region, 8, 8).add(a.region, 16, 8));
            }
            assertEquals(QueuePair.QUEUE_FULL, a.queuePair.tryPostSend(write(a, sides[1], 0)));
        } finally {
            Cards.pause(false);
        }
        List<Completion> come = new ArrayList<>();
        Bound.usual().spin("no completion came", () -> come.addAll(a.poll()));
        assertEquals(0, come.getFirst().id());
        assertEquals(CompletionStatus.LOC_QP_OP_ERR, come.getFirst().status());
        a.awaitState(QueuePairState.ERR);
    }

    @Test
    void shouldSendEventsThatWereRequested() throws InterruptedException {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        Side b = sides[1];
        for (int round = 0; round < 300; round++) {
            a.queue.requestNotification(false);
            a.post(write(a, b, round));
            assertSame(a.queue, a.channel.await(LONG));
            a.await().is(CompletionOpcode.RDMA_WRITE, round);
        }
        // Only what comes after the request counts.
        assertNull(a.channel.await(Duration.ZERO));
        a.queue.requestNotification(false);
        assertNull(a.channel.await(SHORT));
        a.post(write(a, b, 1));
        assertSame(a.queue, a.channel.await(LONG));

        // What has come and was not read when the request was made.
        a.queue.requestNotification(false);
        assertSame(a.queue, a.channel.await(LONG));
        a.await();

        b.queue.requestNotification(true);
        b.postReceive(1, 0, 8);
        b.postReceive(2, 0, 8);
        a.post(a.request(3, 0, 8).send());
        assertNull(b.channel.await(SHORT), "nobody solicited this one");
        a.post(a.request(4, 0, 8).send().solicited(true));
        assertSame(b.queue, b.channel.await(LONG));
        b.await(2);
    }

    private record Found(long id, CompletionStatus status, int vendorError, int queuePair) {}

    private List<Found> await(Side side, int count) {
        WorkCompletions batch = new WorkCompletions(arena, 4);
        List<Found> found = new ArrayList<>();
        Bound.usual().spin("too few completions", () -> {
            int ready = side.queue.poll(batch);
            for (int i = 0; i < ready; i++) {
                found.add(new Found(batch.id(i), batch.status(i), batch.vendorError(i), batch.queuePairNumber(i)));
            }
            return found.size() >= count;
        });
        assertEquals(count, found.size(), found::toString);
        return found;
    }

    private static Found flushed(Side side, long id) {
        return new Found(id, CompletionStatus.WR_FLUSH_ERR, 0, side.queuePair.number());
    }

    /** Each status of the driver's erdma_hw.h, and one that it does not know; the vendor's errors are the driver's. */
    @ParameterizedTest
    @CsvSource({
        "1, GENERAL_ERR, 0",
        "2, GENERAL_ERR, 0x01",
        "3, REM_ACCESS_ERR, 0x02",
        "4, REM_ACCESS_ERR, 0x03",
        "5, REM_ACCESS_ERR, 0x04",
        "6, REM_ACCESS_ERR, 0x05",
        "7, REM_ACCESS_ERR, 0x06",
        "8, LOC_QP_OP_ERR, 0x20",
        "9, GENERAL_ERR, 0x21",
        "10, LOC_ACCESS_ERR, 0x30",
        "11, LOC_ACCESS_ERR, 0x31",
        "12, LOC_ACCESS_ERR, 0x32",
        "13, LOC_ACCESS_ERR, 0x33",
        "14, LOC_ACCESS_ERR, 0x34",
        "15, WR_FLUSH_ERR, 0",
        "16, RETRY_EXC_ERR, 0",
        "17, GENERAL_ERR, 0",
        "255, GENERAL_ERR, 0"
    })
    void shouldTellOfEachError(int code, CompletionStatus status, String vendorError) {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        Side b = sides[1];
        int number = a.queuePair.number();
        Found failed = new Found(10, status, Integer.decode(vendorError), number);
        Cards.failNext(number, false, code, 0);
        // Also those that are not signaled fail visibly.
        a.post(write(a, b, 10)
                .signaled(false)
                .next(write(a, b, 11).signaled(false).next(write(a, b, 12))));
        assertEquals(List.of(failed, flushed(a, 11), flushed(a, 12)), await(a, 3));
        a.awaitState(QueuePairState.ERR);

        restart(a, b);
        Cards.failNext(number, true, code, 0);
        a.queuePair.postReceive(a.receiveRequest(10, 0, 8).next(a.receiveRequest(11, 0, 8)));
        assertEquals(List.of(failed, flushed(a, 11)), await(a, 2));
        a.awaitState(QueuePairState.ERR);
    }

    /** Both begin anew; the driver goes on counting in its rings. */
    private static void restart(Side a, Side b) {
        for (Side each : List.of(a, b)) {
            each.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
        }
        connect(a, b);
        b.postReceive(5, 0, 8);
        a.post(a.request(6, 0, 8).send());
        a.await().is(CompletionOpcode.SEND, 6);
        b.await().is(CompletionOpcode.RECV, 5);
    }

    @Test
    void shouldRefuseAVendorErrorWhichTheDriverGives() {
        Side side = side(WORK);
        int number = side.queuePair.number();
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> Cards.failNext(number, false, 1, 7));
        assertEquals("vendorError is 7; completions of eRDMA have none, so it must be 0", refused.getMessage());
    }

    @Test
    void shouldReportWhatWentWrong() {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        Side b = sides[1];
        int number = a.queuePair.number();

        // A remote key that does not exist.
        a.post(a.request(1, 0, 8).rdmaWrite(b.region.address(), b.region.rkey() ^ 0x1000));
        assertEquals(
                new Found(1, CompletionStatus.REM_ACCESS_ERR, 4, number),
                await(a, 1).getFirst());
        a.awaitState(QueuePairState.ERR);
        // Memory that is no longer registered.
        restart(a, b);
        MemoryRegion gone = domain.register(arena.allocate(64, 64), AccessFlag.LOCAL_WRITE);
        SendWorkRequest send = a.request(2, 0, 0).add(gone, 0, 8).send();
        gone.close();
        a.post(send);
        assertEquals(
                new Found(2, CompletionStatus.LOC_ACCESS_ERR, 0x30, number),
                await(a, 1).getFirst());
        // No receive.
        restart(a, b);
        a.post(a.request(3, 0, 8).send());
        assertEquals(
                new Found(3, CompletionStatus.RETRY_EXC_ERR, 0, number),
                await(a, 1).getFirst());
        // More than the receive has room for.
        restart(a, b);
        b.postReceive(4, 0, 8);
        a.post(a.request(5, 0, 9).send());
        assertEquals(
                new Found(4, CompletionStatus.GENERAL_ERR, 1, b.queuePair.number()),
                await(b, 1).getFirst());
        assertEquals(CompletionStatus.GENERAL_ERR, await(a, 1).getFirst().status());
    }

    @Test
    void shouldFlushAndStartAnew() {
        Side[] sides = connected(WORK);
        Side a = sides[0];
        Side b = sides[1];
        b.postReceive(1, 0, 8);
        b.postReceive(2, 0, 8);
        b.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        assertEquals(List.of(flushed(b, 1), flushed(b, 2)), await(b, 2));
        // The driver takes nothing then, where others take it and flush it.
        VerbsException refused = assertThrows(VerbsException.class, () -> b.postReceive(3, 0, 8));
        assertTrue(refused.getMessage().contains("EIO"), refused::getMessage);
        assertThrows(VerbsException.class, () -> b.post(b.request(4, 0, 8).send()));
        // What is posted to the other one goes nowhere.
        a.post(write(a, b, 7));
        assertEquals(CompletionStatus.RETRY_EXC_ERR, await(a, 1).getFirst().status());
        for (int i = 0; i < 3; i++) {
            restart(a, b);
        }
    }

    /** The card does not know what the program has read, and the driver takes what is overwritten for an empty queue. */
    @Test
    void shouldLoseCompletionsWhereTheQueueIsTooSmall() throws InterruptedException {
        Side[] sides = connected(2 * ENTRIES);
        Side a = sides[0];
        Side b = sides[1];
        assertEquals(ENTRIES, a.queue.entries());
        for (int i = 1; i <= ENTRIES; i++) {
            a.post(write(a, b, i));
        }
        assertEquals(
                LongStream.rangeClosed(1, ENTRIES).boxed().toList(),
                a.await(ENTRIES).stream().map(Completion::id).toList());
        for (int i = 1; i <= ENTRIES; i++) {
            a.post(write(a, b, i));
        }
        b.memory.set(ValueLayout.JAVA_LONG, HALF, 1);
        a.post(a.request(ENTRIES + 1, HALF, 8).rdmaRead(b.region.address() + HALF, b.region.rkey()));
        Bound.usual().spin("the read has not ended", () -> a.memory.get(ValueLayout.JAVA_LONG, HALF) == 1);
        // Each takes a round of the card at least, which writes 16 completions of a queue in a round.
        Side[] others = connected(1);
        for (int i = 0; i < ENTRIES / 8; i++) {
            others[0].post(write(others[0], others[1], i));
            others[0].await();
        }
        assertEquals(List.of(), a.poll());
        assertEquals(QueuePairState.RTS, a.stateInDevice());
        assertEquals(Optional.empty(), context.awaitAsyncEvent(Duration.ZERO));
    }

    @Test
    void shouldReachAnotherContext() {
        Side here = side(WORK);
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Context second = Context.open(own, LabDevices.first());
            ProtectionDomain ofSecond = second.allocateProtectionDomain();
            QueuePair queuePair = ofSecond.createQueuePair(
                    new QueuePairOptions(QueuePairType.RC, second.createCompletionQueue(ENTRIES))
                            .maxSegments(1, 1)
                            .maxSendWorkRequests(1)
                            .maxReceiveWorkRequests(1));
            MemoryRegion region = ofSecond.register(own.allocate(64, 64), AccessFlag.LOCAL_WRITE);
            Side there = new Side(own, ofSecond, null, queuePair, region, Bound.USUAL);
            assertNotEquals(here.queuePair.number(), queuePair.number());
            connect(here, there);
            there.postReceive(1, 0, 64);
            here.post(here.request(2, 0, 64).send());
            here.await().is(CompletionOpcode.SEND, 2);
            there.await().is(CompletionOpcode.RECV, 1);
        }
    }

    private QueuePairOptions options(QueuePairType type) {
        return new QueuePairOptions(type, context.createCompletionQueue(ENTRIES)).maxSegments(1, 1);
    }

    @Test
    void shouldRefuseWhatTheDeviceCannotDo() {
        assertThrows(UnsupportedVerbException.class, () -> domain.createQueuePair(options(QueuePairType.UD)));
        assertThrows(UnsupportedVerbException.class, () -> domain.createQueuePair(options(QueuePairType.UC)));
        QueuePairOptions reliable = options(QueuePairType.RC);
        for (QueuePairOptions each : List.of(
                options(QueuePairType.RC).maxSegments(1, 2),
                options(QueuePairType.RC).maxSegments(SEGMENTS + 1, 1),
                options(QueuePairType.RC).maxInlineData(INLINE + 1),
                options(QueuePairType.RC).maxReceiveWorkRequests(0))) {
            VerbsException refused = assertThrows(VerbsException.class, () -> domain.createQueuePair(each));
            assertTrue(refused.getMessage().contains("EINVAL"), refused::getMessage);
        }
        domain.createQueuePair(reliable);
        assertThrows(
                UnsupportedVerbException.class,
                () -> context.createCompletionQueue(new CompletionQueueOptions(ENTRIES)));
        assertThrows(
                UnsupportedVerbException.class, () -> domain.createSharedReceiveQueue(new SharedReceiveQueueOptions()));
        Side[] sides = connected(WORK);
        SendWorkRequest invalidating = sides[0].request(1, 0, 8).sendWithInvalidate(1);
        assertThrows(VerbsException.class, () -> sides[0].post(invalidating));
    }
}
