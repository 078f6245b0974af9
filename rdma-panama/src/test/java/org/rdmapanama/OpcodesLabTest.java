package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.device.AtomicCapability;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;

/** Every operation of the three transports, between two devices. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OpcodesLabTest {
    private static final int MEBIBYTE = 1 << 20;

    private static boolean hasAtomics;

    @BeforeAll
    static void askForAtomics() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            hasAtomics =
                    Context.open(arena, LabDevices.first()).queryDevice().atomicCapability() != AtomicCapability.NONE;
        }
    }

    private static void assertSameBytes(MemorySegment expected, MemorySegment actual) {
        assertEquals(-1, expected.mismatch(actual), "place of the first wrong byte");
    }

    @ParameterizedTest
    @EnumSource(
            value = QueuePairType.class,
            names = {"RC", "UC"})
    void shouldSend(QueuePairType type) {
        try (ConnectedPair pair = ConnectedPair.open(type)) {
            FillPattern.fill(pair.a.memory, 1);
            pair.b.postReceive(21, 0, 1000);
            pair.a.post(pair.a.request(11, 0, 1000).send());

            pair.a.await().is(CompletionOpcode.SEND, 11);
            Completion received = pair.b.await().is(CompletionOpcode.RECV, 21);
            assertEquals(1000, received.byteLength());
            assertFalse(received.hasImmediate());
            assertEquals(pair.b.queuePair.number(), received.queuePair());
            assertSameBytes(pair.a.memory.asSlice(0, 1000), pair.b.memory.asSlice(0, 1000));
            assertEquals(0, pair.b.memory.get(JAVA_BYTE, 1000), "the byte behind");
        }
    }

    // 0x01020304 shows a swapped byte order, the others a lost or an extended sign bit.
    @ParameterizedTest
    @ValueSource(ints = {0x0102_0304, 0x8000_0001, 0, -1})
    void shouldSendWithImmediate(int immediate) {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.postReceive(1, 0, 100);
            pair.a.post(pair.a.request(2, 0, 100).sendWithImmediate(immediate));

            pair.a.await().is(CompletionOpcode.SEND, 2);
            Completion received = pair.b.await().is(CompletionOpcode.RECV, 1);
            assertTrue(received.hasImmediate());
            assertEquals(immediate, received.immediate());
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = QueuePairType.class,
            names = {"RC", "UC"})
    void shouldWriteUnnoticed(QueuePairType type) {
        try (ConnectedPair pair = ConnectedPair.open(type)) {
            FillPattern.fill(pair.a.memory, 2);
            // An unreliable write completes before it has arrived: the send behind it, on the same way, tells.
            pair.b.postReceive(3, 8192, 8);
            pair.a.post(
                    pair.writeToB(1, 4096, 3000).next(pair.a.request(2, 0, 8).send()));

            List<Completion> sent = pair.a.await(2);
            sent.get(0).is(CompletionOpcode.RDMA_WRITE, 1);
            sent.get(1).is(CompletionOpcode.SEND, 2);
            pair.b.await().is(CompletionOpcode.RECV, 3);
            assertSameBytes(pair.a.memory.asSlice(4096, 3000), pair.b.memory.asSlice(4096, 3000));
            assertEquals(-1, pair.b.memory.asSlice(0, 4096).mismatch(MemorySegment.ofArray(new byte[4096])));
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = QueuePairType.class,
            names = {"RC", "UC"})
    void shouldWriteWithImmediate(QueuePairType type) {
        try (ConnectedPair pair = ConnectedPair.open(type)) {
            FillPattern.fill(pair.a.memory, 3);
            pair.b.postReceive(5, 0, 0);
            pair.a.post(pair.a
                    .request(4, 100, 2000)
                    .rdmaWriteWithImmediate(pair.b.region.address() + 100, pair.b.region.rkey(), 0xCAFE_0001));

            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 4);
            Completion received = pair.b.await().is(CompletionOpcode.RECV_RDMA_WITH_IMM, 5);
            assertTrue(received.hasImmediate());
            assertEquals(0xCAFE_0001, received.immediate());
            assertEquals(2000, received.byteLength());
            assertSameBytes(pair.a.memory.asSlice(100, 2000), pair.b.memory.asSlice(100, 2000));
        }
    }

    @Test
    void shouldRead() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            FillPattern.fill(pair.b.memory, 4);
            pair.a.post(pair.readFromB(6, 1000, 5000));

            pair.a.await().is(CompletionOpcode.RDMA_READ, 6);
            assertSameBytes(pair.b.memory.asSlice(1000, 5000), pair.a.memory.asSlice(1000, 5000));
            assertTrue(pair.b.poll().isEmpty(), "the peer notices nothing of a read");
        }
    }

    @Test
    void shouldSwapWhenTheComparisonHits() {
        LabDevices.assumeHas(hasAtomics, "atomics");
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.memory.set(JAVA_LONG, 64, 0x1111_2222_3333_4444L);
            pair.a.post(pair.a
                    .request(7, 8, 8)
                    .compareAndSwap(pair.b.region.address() + 64, pair.b.region.rkey(), 0x1111_2222_3333_4444L, -5));

            pair.a.await().is(CompletionOpcode.COMP_SWAP, 7);
            assertEquals(0x1111_2222_3333_4444L, pair.a.memory.get(JAVA_LONG, 8), "what was there before");
            assertEquals(-5, pair.b.memory.get(JAVA_LONG, 64), "what is there now");
        }
    }

    @Test
    void shouldNotSwapWhenTheComparisonMisses() {
        LabDevices.assumeHas(hasAtomics, "atomics");
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.memory.set(JAVA_LONG, 64, 41);
            pair.a.post(
                    pair.a.request(7, 8, 8).compareAndSwap(pair.b.region.address() + 64, pair.b.region.rkey(), 42, 43));

            pair.a.await().is(CompletionOpcode.COMP_SWAP, 7);
            assertEquals(41, pair.a.memory.get(JAVA_LONG, 8), "what was there before");
            assertEquals(41, pair.b.memory.get(JAVA_LONG, 64), "what is there now");
        }
    }

    @Test
    void shouldFetchAndAdd() {
        LabDevices.assumeHas(hasAtomics, "atomics");
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.memory.set(JAVA_LONG, 64, Integer.MAX_VALUE);
            SendWorkRequest request =
                    pair.a.request(8, 8, 8).fetchAndAdd(pair.b.region.address() + 64, pair.b.region.rkey(), 10);
            pair.a.post(request);
            pair.a.await().is(CompletionOpcode.FETCH_ADD, 8);
            assertEquals(Integer.MAX_VALUE, pair.a.memory.get(JAVA_LONG, 8), "what was there before");

            pair.a.post(request);
            pair.a.await().is(CompletionOpcode.FETCH_ADD, 8);
            assertEquals(Integer.MAX_VALUE + 10L, pair.a.memory.get(JAVA_LONG, 8), "what was there in between");
            assertEquals(Integer.MAX_VALUE + 20L, pair.b.memory.get(JAVA_LONG, 64), "what is there now");
        }
    }

    @Test
    void shouldSendDatagrams() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD)) {
            FillPattern.fill(pair.a.memory, 5);
            pair.b.postReceive(9, 0, AddressHandle.GRH_BYTES + 500);
            pair.a.post(datagram(pair, 10, 500).send());

            pair.a.await().is(CompletionOpcode.SEND, 10);
            Completion received = pair.b.await().is(CompletionOpcode.RECV, 9);
            assertEquals(AddressHandle.GRH_BYTES + 500, received.byteLength());
            assertTrue(received.hasGlobalRoutingHeader());
            assertEquals(pair.a.queuePair.number(), received.sourceQueuePair());
            assertSameBytes(pair.a.memory.asSlice(0, 500), pair.b.memory.asSlice(AddressHandle.GRH_BYTES, 500));
        }
    }

    @Test
    void shouldSendDatagramsWithImmediate() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD)) {
            pair.b.postReceive(9, 0, AddressHandle.GRH_BYTES + 500);
            pair.a.post(datagram(pair, 10, 500).sendWithImmediate(0xABCD_EF01));

            pair.a.await().is(CompletionOpcode.SEND, 10);
            Completion received = pair.b.await().is(CompletionOpcode.RECV, 9);
            assertTrue(received.hasImmediate());
            assertEquals(0xABCD_EF01, received.immediate());
        }
    }

    @Test
    void shouldSendChainsOfDatagrams() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD)) {
            SendWorkRequest third = datagram(pair, 3, 30).send();
            SendWorkRequest second = datagram(pair, 2, 20).send().next(third);
            for (int i = 0; i < 3; i++) {
                pair.b.postReceive(i, i * 100L, 100);
            }
            pair.a.post(datagram(pair, 1, 10).send().next(second));

            pair.a.await(3);
            List<Completion> received = pair.b.await(3);
            assertEquals(
                    List.of(50, 60, 70),
                    received.stream().map(Completion::byteLength).toList());
        }
    }

    private static SendWorkRequest datagram(ConnectedPair pair, long id, long length) {
        Endpoint peer = pair.b.queuePair.localEndpoint();
        AddressHandle way = pair.a.domain.createAddressHandle(pair.a.queuePair.pathTo(peer));
        return pair.a.request(id, 0, length).to(way, peer.queuePairNumber(), 0x1111_1111);
    }

    @Test
    void shouldGatherAndScatter() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            FillPattern.fill(pair.a.memory, 6);
            SendWorkRequest gather = pair.a
                    .request(1, 100, 10)
                    .add(pair.a.region, 5000, 300)
                    .add(pair.a.region, pair.a.memory.asSlice(7, 1));
            ReceiveWorkRequest scatter = pair.b.receiveRequest(2, 50, 200).add(pair.b.region, 1000, 400);
            pair.b.post(scatter);
            pair.a.post(gather.send());

            pair.a.await().is(CompletionOpcode.SEND, 1);
            assertEquals(311, pair.b.await().is(CompletionOpcode.RECV, 2).byteLength());
            assertSameBytes(gathered(pair.a.memory), scattered(pair.b.memory));
        }
    }

    private static MemorySegment gathered(MemorySegment memory) {
        return concatenation(memory.asSlice(100, 10), memory.asSlice(5000, 300), memory.asSlice(7, 1));
    }

    private static MemorySegment scattered(MemorySegment memory) {
        return concatenation(memory.asSlice(50, 200), memory.asSlice(1000, 111));
    }

    private static MemorySegment concatenation(MemorySegment... parts) {
        MemorySegment whole = MemorySegment.ofArray(new byte[311]);
        long at = 0;
        for (MemorySegment part : parts) {
            whole.asSlice(at).copyFrom(part);
            at += part.byteSize();
        }
        assertEquals(whole.byteSize(), at);
        return whole;
    }

    @Test
    void shouldScatterReads() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            FillPattern.fill(pair.b.memory, 7);
            pair.a.post(pair.readFromB(1, 0, 100).add(pair.a.region, 8000, 200));

            pair.a.await().is(CompletionOpcode.RDMA_READ, 1);
            assertSameBytes(pair.b.memory.asSlice(0, 100), pair.a.memory.asSlice(0, 100));
            assertSameBytes(pair.b.memory.asSlice(100, 200), pair.a.memory.asSlice(8000, 200));
        }
    }

    @Test
    void shouldChangeSegmentsInPlace() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            FillPattern.fill(pair.a.memory, 8);
            SendWorkRequest write = pair.writeToB(1, 0, 100);
            pair.a.post(write);
            pair.a.await();
            write.set(0, pair.a.region, 200, 50).remoteAddress(pair.b.region.address() + 300);
            pair.a.post(write.id(2));

            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 2);
            assertSameBytes(pair.a.memory.asSlice(200, 50), pair.b.memory.asSlice(300, 50));
        }
    }

    @Test
    void shouldCompleteOnlySignaledRequestsVisibly() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            for (int i = 1; i <= 5; i++) {
                pair.a.post(pair.writeToB(i, 0, 8).signaled(i == 3 || i == 5));
            }

            List<Completion> completions = pair.a.await(2);
            assertEquals(
                    List.of(3L, 5L), completions.stream().map(Completion::id).toList());
        }
    }

    @Test
    void shouldCompleteEveryRequestVisiblyWhenAskedTo() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).signalAll().open()) {
            for (int i = 1; i <= 3; i++) {
                pair.a.post(pair.writeToB(i, 0, 8).signaled(false));
            }
            assertEquals(
                    List.of(1L, 2L, 3L),
                    pair.a.await(3).stream().map(Completion::id).toList());
        }
    }

    @Test
    void shouldFenceBehindReads() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.memory.set(JAVA_LONG, 0, 4711);
            // The read brings the number that the fenced write then sends on to another place.
            SendWorkRequest write = pair.a
                    .request(2, 0, 8)
                    .rdmaWrite(pair.b.region.address() + 4096, pair.b.region.rkey())
                    .fence(true);
            pair.a.post(pair.readFromB(1, 0, 8).next(write));

            pair.a.await(2);
            assertEquals(4711, pair.b.memory.get(JAVA_LONG, 4096));
        }
    }

    @Test
    void shouldCopyInlineDataWhenPosting() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).inline(64).open()) {
            assertTrue(pair.a.queuePair.capabilities().maxInlineData() >= 64);
            FillPattern.fill(pair.a.memory, 9);
            MemorySegment expected = MemorySegment.ofArray(new byte[64]).copyFrom(pair.a.memory.asSlice(0, 64));
            pair.b.postReceive(2, 0, 64);
            pair.a.post(
                    pair.a.request(1, 0, 30).add(pair.a.region, 30, 34).send().inline(true));
            pair.a.memory.fill((byte) 0x55);

            pair.a.await().is(CompletionOpcode.SEND, 1);
            pair.b.await().is(CompletionOpcode.RECV, 2);
            assertSameBytes(expected, pair.b.memory.asSlice(0, 64));
        }
    }

    @Test
    void shouldPostChains() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            ReceiveWorkRequest secondReceive = pair.b.receiveRequest(2, 100, 100);
            pair.b.post(pair.b.receiveRequest(1, 0, 100).next(secondReceive));
            SendWorkRequest chain = pair.a
                    .request(1, 0, 10)
                    .send()
                    .next(pair.writeToB(2, 500, 20)
                            .next(pair.a.request(3, 0, 30).send()));
            pair.a.post(chain);

            assertEquals(
                    List.of(1L, 2L, 3L),
                    pair.a.await(3).stream().map(Completion::id).toList());
            List<Completion> received = pair.b.await(2);
            assertEquals(10, received.get(0).is(CompletionOpcode.RECV, 1).byteLength());
            assertEquals(30, received.get(1).is(CompletionOpcode.RECV, 2).byteLength());
        }
    }

    @Test
    void shouldResumeAChainOfSendsFromTheFirstThatDidNotFit() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).queues(4, 4).open()) {
            // The peer has no receive, so that nothing leaves the queue while it is being filled.
            int total = 100;
            SendWorkRequest rest = null;
            for (int i = total; i > 0; i--) {
                rest = pair.a.request(i, 0, 8).send().next(rest);
            }
            List<Long> completed = new ArrayList<>();
            int rounds = 0;
            while (rest != null) {
                int result = pair.a.queuePair.tryPostSend(rest);
                SendWorkRequest before = rest;
                rest = result == QueuePair.QUEUE_FULL ? pair.a.queuePair.firstNotSent(before) : null;
                assertTrue(rest != before, "nothing was posted into an empty queue");
                int posted = (int) ((rest == null ? total + 1 : rest.id()) - before.id());
                serveReceives(pair, posted);
                pair.a.await(posted).forEach(completion -> completed.add(completion.id()));
                rounds++;
            }

            assertTrue(rounds > 1, "the chain was meant not to fit at once");
            assertEquals(LongStream.rangeClosed(1, total).boxed().toList(), completed);
        }
    }

    private static void serveReceives(ConnectedPair pair, int count) {
        for (int i = 0; i < count; i++) {
            pair.b.postReceive(i, 0, 8);
            pair.b.await();
        }
    }

    @Test
    void shouldTellWhereAChainOfReceivesStopped() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).queues(4, 4).open()) {
            ReceiveWorkRequest chain = null;
            for (int i = 100; i > 0; i--) {
                chain = pair.b.receiveRequest(i, 0, 8).next(chain);
            }
            assertEquals(QueuePair.QUEUE_FULL, pair.b.queuePair.tryPostReceive(chain));
            ReceiveWorkRequest rest = pair.b.queuePair.firstNotReceiving(chain);
            int posted = (int) rest.id() - 1;
            assertTrue(posted >= 4, () -> "only " + posted + " fit");

            for (int i = 1; i <= posted; i++) {
                pair.a.post(pair.a.request(i, 0, 8).send());
                pair.a.await();
                pair.b.await().is(CompletionOpcode.RECV, i);
            }
            ReceiveWorkRequest last = rest.next(null);
            pair.b.queuePair.postReceive(last);
            assertSame(last, rest);
        }
    }

    @Test
    void shouldNotFindAForeignRequestInAChain() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            assertNull(pair.a.queuePair.firstNotSent(pair.a.request(1, 0, 8)));
        }
    }

    // Sizes around the path MTU of 1024, and of many packets.
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1023, 1024, 1025, 65536, MEBIBYTE})
    void shouldMoveMessagesOfEverySize(int size) {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).bufferSize(2 * MEBIBYTE).open()) {
            MemorySegment sent = pair.a.memory.asSlice(MEBIBYTE, size);
            FillPattern.fill(sent, size);
            pair.b.postReceive(1, 0, MEBIBYTE);
            pair.a.post(pair.a.request(2, MEBIBYTE, size).send());
            pair.a.await().is(CompletionOpcode.SEND, 2);
            assertEquals(size, pair.b.await().is(CompletionOpcode.RECV, 1).byteLength());
            assertSameBytes(sent, pair.b.memory.asSlice(0, size));

            pair.a.post(pair.writeToB(3, MEBIBYTE, size));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 3);
            assertSameBytes(sent, pair.b.memory.asSlice(MEBIBYTE, size));

            pair.a.post(pair.a.request(4, 0, size).rdmaRead(pair.b.region.address(), pair.b.region.rkey()));
            pair.a.await().is(CompletionOpcode.RDMA_READ, 4);
            assertSameBytes(sent, pair.a.memory.asSlice(0, size));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1023, 1024, 1025, 65536})
    void shouldMoveUnreliableMessagesOfEverySize(int size) {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.UC).bufferSize(65536).open()) {
            FillPattern.fill(pair.a.memory, size);
            pair.b.postReceive(1, 0, 65536);
            pair.a.post(pair.a.request(2, 0, size).send());

            pair.a.await().is(CompletionOpcode.SEND, 2);
            assertEquals(size, pair.b.await().is(CompletionOpcode.RECV, 1).byteLength());
            assertSameBytes(pair.a.memory.asSlice(0, size), pair.b.memory.asSlice(0, size));
        }
    }

    /** Others may post to the queue pair before anybody asks. */
    @Test
    void shouldTellOfEachChainWhereItStopped() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).queues(4, 4).open()) {
            SendWorkRequest sends = null;
            ReceiveWorkRequest receives = null;
            for (int i = 100; i > 0; i--) {
                sends = pair.a.request(i, 0, 8).send().next(sends);
                receives = pair.a.receiveRequest(i, 0, 8).next(receives);
            }
            SendWorkRequest chain = sends;
            assertEquals(QueuePair.QUEUE_FULL, pair.a.queuePair.tryPostSend(chain));
            assertEquals(QueuePair.QUEUE_FULL, pair.a.queuePair.tryPostReceive(receives));
            SendWorkRequest last = pair.a.request(200, 0, 8).send();
            ReceiveWorkRequest lastReceive = pair.a.receiveRequest(200, 0, 8);
            assertEquals(QueuePair.QUEUE_FULL, pair.a.queuePair.tryPostSend(last));
            assertEquals(QueuePair.QUEUE_FULL, pair.a.queuePair.tryPostReceive(lastReceive));

            SendWorkRequest rest = pair.a.queuePair.firstNotSent(chain);
            assertTrue(rest.id() > 4, rest::toString);
            ReceiveWorkRequest restOfReceives = pair.a.queuePair.firstNotReceiving(receives);
            assertTrue(restOfReceives.id() > 4, restOfReceives::toString);
            assertSame(last, pair.a.queuePair.firstNotSent(last));
            assertSame(lastReceive, pair.a.queuePair.firstNotReceiving(lastReceive));

            // What is refused before the driver sees it is not posted either; what was posted is no longer named.
            serveReceives(pair, (int) rest.id() - 1);
            pair.a.await((int) rest.id() - 1);
            rest.next(pair.a.request(7, 0, 8).inline(true).set(0, pair.a.region, 0, 4096));
            assertThrows(IllegalArgumentException.class, () -> pair.a.queuePair.postSend(rest));
            assertSame(rest, pair.a.queuePair.firstNotSent(rest));
            pair.a.post(rest.next(null));
            assertNull(pair.a.queuePair.firstNotSent(rest));
            serveReceives(pair, 1);
        }
    }
}
