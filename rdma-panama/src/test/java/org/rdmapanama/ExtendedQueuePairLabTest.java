package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.internal.WaitLimits;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.FlushLevel;
import org.rdmapanama.memory.FlushType;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCreateFlag;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;

/** Batches on extended queue pairs: what they post, and how they stand wrong use. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ExtendedQueuePairLabTest {
    private static final int QKEY = 0x1111_1111;

    private static ConnectedPair open(SendOperation... operations) {
        return ConnectedPair.of(QueuePairType.RC)
                .inline(64)
                .extended(operations)
                .open();
    }

    private static WorkRequestBuilder write(ConnectedPair pair, WorkRequestBuilder batch, long offset) {
        return batch.rdmaWrite(pair.b.region.address() + offset, pair.b.region.rkey());
    }

    private static MemorySegment text(String text) {
        return MemorySegment.ofArray(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static String textAt(MemorySegment memory, long offset, int length) {
        return new String(memory.asSlice(offset, length).toArray(JAVA_BYTE), StandardCharsets.US_ASCII);
    }

    @Test
    @Shows({"ibv_wr_start", "ibv_wr_complete", "ibv_wr_rdma_write", "ibv_wr_send_imm"})
    void shouldPostSeveralWorkRequestsAtOnce() {
        try (ConnectedPair pair = open(SendOperation.RDMA_WRITE, SendOperation.SEND_WITH_IMM)) {
            FillPattern.fill(pair.a.memory, 1);
            pair.b.postReceive(9, 1000, 100);
            try (WorkRequestBuilder batch = ((ExtendedQueuePair) pair.a.queuePair).startWorkRequests()) {
                write(pair, batch.id(1), 0).add(pair.a.region, 0, 100);
                write(pair, batch.id(2).signaled(true), 200).add(pair.a.region, pair.a.memory.asSlice(200, 50));
                batch.id(3).sendWithImmediate(-7).add(pair.a.region, 300, 10);
                batch.complete();
            }
            List<Completion> sent = pair.a.await(2);
            sent.get(0).is(CompletionOpcode.RDMA_WRITE, 2);
            sent.get(1).is(CompletionOpcode.SEND, 3);
            assertEquals(-7, pair.b.await().is(CompletionOpcode.RECV, 9).immediate());
            assertTrue(pair.a.memory.asSlice(0, 100).mismatch(pair.b.memory.asSlice(0, 100)) < 0);
            assertTrue(pair.a.memory.asSlice(200, 50).mismatch(pair.b.memory.asSlice(200, 50)) < 0);
            assertTrue(pair.a.memory.asSlice(300, 10).mismatch(pair.b.memory.asSlice(1000, 10)) < 0);
            assertEquals(0, pair.b.memory.get(JAVA_BYTE, 150));
        }
    }

    @Test
    @Shows({"ibv_wr_set_inline_data", "ibv_wr_set_inline_data_list"})
    void shouldCopyInlineData() {
        try (ConnectedPair pair = open(SendOperation.SEND, SendOperation.RDMA_WRITE)) {
            pair.b.postReceive(1, 0, 64);
            pair.b.postReceive(2, 100, 64);
            pair.b.postReceive(3, 300, 64);
            MemorySegment hello = pair.a.arena.allocateFrom("hello, ");
            try (WorkRequestBuilder batch = pair.a.batch()) {
                batch.id(1).send().inlineData(text("one piece"));
                batch.id(2)
                        .send()
                        .inlineData(hello.asSlice(0, 7))
                        .inlineData(text(""))
                        .inlineData(text("world"));
                write(pair, batch.id(3), 200).inlineData(text("written"));
                // More pieces than the list has places, and as much as the queue pair takes.
                batch.id(4).send();
                for (int i = 0; i < 32; i++) {
                    batch.inlineData(text(i % 10 + "."));
                }
                hello.fill((byte) 'x');
                batch.complete();
            }
            pair.a.await(4);
            List<Completion> received = pair.b.await(3);
            assertEquals(
                    List.of(9, 12, 64),
                    received.stream().map(Completion::byteLength).toList());
            assertEquals("one piece", textAt(pair.b.memory, 0, 9));
            assertEquals("hello, world", textAt(pair.b.memory, 100, 12));
            assertEquals("written", textAt(pair.b.memory, 200, 7));
            assertEquals("0.1.2.3.4.5.6.7.8.9.0.1.", textAt(pair.b.memory, 300, 24));
        }
    }

    @Test
    @Shows("ibv_wr_set_sge_list")
    void shouldGatherSegmentsOfOneLength() {
        try (ConnectedPair pair = open(SendOperation.SEND)) {
            FillPattern.fill(pair.a.memory, 4);
            pair.b.postReceive(1, 0, 1000);
            try (WorkRequestBuilder batch = pair.a.batch()) {
                batch.send()
                        .add(pair.a.region, 0, 100)
                        .add(pair.a.region, 5000, 100)
                        .add(pair.a.region, 300, 100);
                batch.complete();
            }
            pair.a.await();
            assertEquals(300, pair.b.await().byteLength());
            assertTrue(pair.a.memory.asSlice(0, 100).mismatch(pair.b.memory.asSlice(0, 100)) < 0);
            assertTrue(pair.a.memory.asSlice(5000, 100).mismatch(pair.b.memory.asSlice(100, 100)) < 0);
            assertTrue(pair.a.memory.asSlice(300, 100).mismatch(pair.b.memory.asSlice(200, 100)) < 0);
        }
    }

    /** Soft-RoCE before version 64 takes the first length for that of all. */
    @Test
    void shouldGatherSegmentsOfDifferentLengthOrRefuseTo() {
        boolean faulty = LabDevices.areSoftRoce()
                && NativeLibrary.IBVERBS.version().map(Integer::parseInt).orElse(44) < 64;
        try (ConnectedPair pair = open(SendOperation.SEND)) {
            FillPattern.fill(pair.a.memory, 4);
            pair.b.postReceive(1, 0, 1000);
            try (WorkRequestBuilder batch = pair.a.batch()) {
                batch.id(5).send().add(pair.a.region, 0, 100).add(pair.a.region, 100, 200);
                if (faulty) {
                    UnsupportedVerbException refused = assertThrows(UnsupportedVerbException.class, batch::complete);
                    assertEquals("ibv_wr_set_sge_list", refused.verb());
                    assertTrue(refused.getMessage().contains("rdma-core 64"), refused::getMessage);
                    batch.abort();
                    pair.a.post(pair.a.request(5, 0, 100).add(pair.a.region, 100, 200));
                } else {
                    batch.complete();
                }
            }
            pair.a.await().is(CompletionOpcode.SEND, 5);
            assertEquals(300, pair.b.await().byteLength());
            assertTrue(pair.a.memory.asSlice(0, 300).mismatch(pair.b.memory.asSlice(0, 300)) < 0);
        }
    }

    @Test
    @Shows({"ibv_wr_bind_mw", "ibv_wr_send_inv", "ibv_wr_local_inv"})
    void shouldBindAndInvalidateWindows() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .extended(
                        SendOperation.RDMA_WRITE,
                        SendOperation.BIND_MW,
                        SendOperation.SEND_WITH_INV,
                        SendOperation.LOCAL_INV)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                .open()) {
            MemoryWindow window = pair.b.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            int rkey = bind(pair, window);
            pair.a.memory.set(JAVA_LONG, 0, 77);
            try (WorkRequestBuilder batch = pair.a.batch().id(1)) {
                batch.rdmaWrite(pair.b.region.address() + 64, rkey).add(pair.a.region, 0, 8);
                batch.complete();
            }
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
            assertEquals(77, pair.b.memory.get(JAVA_LONG, 64));

            // By the peer: the receive says so, and the key is gone.
            pair.b.postReceive(9, 0, 8);
            try (WorkRequestBuilder batch = pair.a.batch().id(2)) {
                batch.sendWithInvalidate(rkey);
                batch.complete();
            }
            pair.a.await().is(CompletionOpcode.SEND, 2);
            pair.b.await().is(CompletionOpcode.RECV, 9);

            // By this side.
            int second = bind(pair, window);
            assertNotEquals(rkey, second);
            try (WorkRequestBuilder batch = pair.b.batch().id(3)) {
                batch.localInvalidate(second);
                batch.complete();
            }
            pair.b.await().is(CompletionOpcode.LOCAL_INV, 3);
            try (WorkRequestBuilder batch = pair.a.batch().id(4)) {
                batch.rdmaWrite(pair.b.region.address() + 64, second).add(pair.a.region, 0, 8);
                batch.complete();
            }
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.a.await().status());
        }
    }

    private static int bind(ConnectedPair pair, MemoryWindow window) {
        int before = window.rkey();
        int rkey = window.nextRkey();
        try (WorkRequestBuilder batch = pair.b.batch().id(100)) {
            batch.bindMemoryWindow(
                    window, rkey, new MemoryWindowBinding(pair.b.region, 64, 64, AccessFlag.REMOTE_WRITE));
            assertEquals(before, window.rkey());
            batch.complete();
        }
        assertEquals(rkey, window.rkey());
        pair.b.await().is(CompletionOpcode.BIND_MW, 100);
        return rkey;
    }

    @Test
    void shouldNotFollowPointersToWhatIsClosed() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .extended(SendOperation.BIND_MW)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                .open()) {
            MemoryWindow window = pair.a.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            WorkRequestBuilder batch = pair.a.batch();
            batch.bindMemoryWindow(window, window.nextRkey(), new MemoryWindowBinding(pair.a.region, 0, 8));
            window.close();
            assertThrows(IllegalStateException.class, batch::complete);
            batch.abort();

            MemoryWindow other = pair.a.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            batch = pair.a.batch();
            batch.bindMemoryWindow(other, other.nextRkey(), new MemoryWindowBinding(pair.a.region, 0, 8));
            pair.a.region.close();
            assertThrows(IllegalStateException.class, batch::complete);
            batch.abort();
        }
    }

    @Test
    @Shows("ibv_wr_abort")
    void shouldPostNothingOfAnAbortedBatch() {
        try (ConnectedPair pair = open(SendOperation.RDMA_WRITE)) {
            pair.a.memory.set(JAVA_LONG, 0, 1);
            WorkRequestBuilder batch = pair.a.batch();
            write(pair, batch, 0).add(pair.a.region, 0, 8);
            write(pair, batch, 8).add(pair.a.region, 0, 8);
            batch.abort();
            // Closing aborts, too.
            try (WorkRequestBuilder forgotten = pair.a.batch()) {
                write(pair, forgotten, 16).add(pair.a.region, 0, 8);
            }
            try (WorkRequestBuilder last = pair.a.batch()) {
                assertSame(batch, last);
                write(pair, last.id(4), 24).add(pair.a.region, 0, 8);
                last.complete();
            }
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 4);
            assertEquals(0, pair.b.memory.get(JAVA_LONG, 0));
            assertEquals(0, pair.b.memory.get(JAVA_LONG, 8));
            assertEquals(0, pair.b.memory.get(JAVA_LONG, 16));
            assertEquals(1, pair.b.memory.get(JAVA_LONG, 24));
        }
    }

    @Test
    void shouldPostNothingOfABatchThatDoesNotFit() {
        try (ConnectedPair pair = open(SendOperation.RDMA_WRITE)) {
            int places = pair.a
                    .queuePair
                    .query(QueuePairAttribute.CAP)
                    .capabilities()
                    .maxSendWorkRequests();
            pair.a.memory.set(JAVA_LONG, 0, 1);
            WorkRequestBuilder batch = pair.a.batch();
            for (int i = 0; i <= places; i++) {
                write(pair, batch, i * 8L).add(pair.a.region, 0, 8);
            }
            assertEquals(QueuePair.QUEUE_FULL, batch.tryComplete());
            batch = pair.a.batch();
            write(pair, batch.id(3), 8000).add(pair.a.region, 0, 8);
            batch.complete();
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 3);
            assertEquals(0, pair.b.memory.get(JAVA_LONG, 0));
            assertEquals(1, pair.b.memory.get(JAVA_LONG, 8000));
        }
    }

    private static IllegalStateException refused(Executable use) {
        return assertThrows(IllegalStateException.class, use);
    }

    @Test
    void shouldKeepTheOrderOfThings() {
        try (ConnectedPair pair = open(SendOperation.SEND, SendOperation.RDMA_READ, SendOperation.LOCAL_INV)) {
            ExtendedQueuePair queuePair = (ExtendedQueuePair) pair.a.queuePair;
            WorkRequestBuilder batch = queuePair.startWorkRequests();
            assertTrue(
                    refused(() -> batch.add(pair.a.region, 0, 8)).getMessage().contains("no operation has begun"));
            refused(() -> batch.inlineData(text("x")));
            // The driver has no function for these: calling it would end the process.
            String message = refused(() -> batch.rdmaWrite(0, 0)).getMessage();
            assertTrue(message.contains("RDMA_WRITE") && message.contains("sendOperations"), message);
            refused(() -> batch.tso(text(""), 1));
            refused(() -> batch.flush(0, 0, 8, Set.of(FlushType.GLOBAL), FlushLevel.MR));
            refused(() -> batch.atomicWrite(0, 0, 1));
            // Data of one kind, on what has data.
            batch.send().add(pair.a.region, 0, 8);
            refused(() -> batch.inlineData(text("x")));
            batch.send().inlineData(text("x"));
            refused(() -> batch.add(pair.a.region, 0, 8));
            batch.rdmaRead(0, 0);
            refused(() -> batch.inlineData(text("x")));
            batch.localInvalidate(1);
            refused(() -> batch.add(pair.a.region, 0, 8));
            // No second batch, and nothing else that touches the queue.
            assertTrue(refused(queuePair::startWorkRequests).getMessage().contains("complete() or abort()"));
            refused(() -> queuePair.postSend(pair.a.request(1, 0, 8)));
            refused(() -> queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR)));
            MemoryWindow window = pair.a.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            MemoryRegion bindable = pair.a.domain.register(pair.a.memory, AccessFlag.MW_BIND);
            refused(() ->
                    queuePair.bind(window, new MemoryWindowBinding(bindable, 0, 8, AccessFlag.REMOTE_READ), 1, true));
            batch.abort();
            assertTrue(refused(batch::complete).getMessage().contains("startWorkRequests"));
            refused(batch::abort);
            refused(batch::send);
            batch.close();
            pair.b.postReceive(1, 0, 8);
            pair.a.post(pair.a.request(1, 0, 8));
            pair.a.await().is(CompletionOpcode.SEND, 1);
        }
    }

    @Test
    void shouldRefuseWhatTheQueuePairCannotTake() {
        try (ConnectedPair pair = open(SendOperation.SEND, SendOperation.ATOMIC_FETCH_AND_ADD)) {
            int segments = pair.a.queuePair.capabilities().maxSendSegments();
            int inline = pair.a.queuePair.capabilities().maxInlineData();
            WorkRequestBuilder batch = pair.a.batch();
            batch.send();
            for (int i = 0; i < segments; i++) {
                batch.add(pair.a.region, i, 1);
            }
            assertThrows(IllegalArgumentException.class, () -> batch.add(pair.a.region, 0, 1));
            batch.send().inlineData(MemorySegment.ofArray(new byte[inline]));
            assertThrows(IllegalArgumentException.class, () -> batch.inlineData(text("x")));
            batch.send();
            assertThrows(IndexOutOfBoundsException.class, () -> batch.add(pair.a.region, 1, pair.a.region.byteSize()));
            assertThrows(IndexOutOfBoundsException.class, () -> batch.add(pair.a.region, 0, 1L << 32));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> batch.to(null, 0, 0),
                    "this queue pair has a peer: it needs no address");
            assertThrows(IllegalArgumentException.class, () -> batch.toSharedReceiveQueue(1));
            batch.fetchAndAdd(pair.b.region.address(), pair.b.region.rkey(), 1).add(pair.a.region, 0, 16);
            assertTrue(refused(batch::complete).getMessage().contains("eight bytes"));
            batch.abort();
        }
    }

    @Test
    @Shows("ibv_wr_set_ud_addr")
    void shouldNotSendDatagramsNowhere() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.UD).extended(SendOperation.SEND).open()) {
            Endpoint peer = pair.b.queuePair.localEndpoint();
            AddressVector way = pair.a.queuePair.pathTo(peer);
            AddressHandle handle = pair.a.domain.createAddressHandle(way);
            AddressHandle closed = pair.a.domain.createAddressHandle(way);
            AddressHandle foreign = pair.a.context.allocateProtectionDomain().createAddressHandle(way);
            pair.b.postReceive(9, 0, 100);
            WorkRequestBuilder batch = pair.a.batch().id(3);
            batch.send().add(pair.a.region, 0, 10);
            assertTrue(refused(batch::send).getMessage().contains("to(...)"));
            assertTrue(refused(batch::complete).getMessage().contains("to(...)"));
            assertThrows(IllegalArgumentException.class, () -> batch.to(foreign, peer.queuePairNumber(), QKEY));
            // Driver and device look at the handle later than this call.
            batch.to(closed, peer.queuePairNumber(), QKEY);
            closed.close();
            refused(batch::complete);
            refused(() -> batch.to(closed, peer.queuePairNumber(), QKEY));
            batch.to(handle, peer.queuePairNumber(), QKEY);
            batch.complete();
            pair.a.await().is(CompletionOpcode.SEND, 3);
            assertEquals(AddressHandle.GRH_BYTES + 10, pair.b.await().byteLength());
        }
    }

    @Test
    void shouldRefuseARegionThatIsClosedOrOfAnotherArena() {
        try (ConnectedPair pair = open(SendOperation.SEND);
                VerbsArena other = VerbsArena.ofConfined()) {
            MemoryRegion foreign = Context.open(other, LabDevices.first())
                    .allocateProtectionDomain()
                    .register(other.allocate(64), AccessFlag.LOCAL_WRITE);
            WorkRequestBuilder batch = pair.a.batch().send();
            assertThrows(IllegalArgumentException.class, () -> batch.add(foreign, 0, 8));
            pair.a.region.close();
            refused(() -> batch.add(pair.a.region, 0, 8));
            batch.abort();
        }
    }

    @Test
    void shouldAbortItsOwnBatchWhenItCloses() {
        for (VerbsArena arena : List.of(VerbsArena.ofConfined(), VerbsArena.ofShared())) {
            try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                    .in(arena)
                    .extended(SendOperation.SEND)
                    .open()) {
                WorkRequestBuilder batch = pair.a.batch().send();
                pair.a.queuePair.close();
                assertFalse(pair.a.queuePair.isOpen());
                refused(batch::complete);
                refused(() -> batch.add(pair.a.region, 0, 8));
                // And with its arena, by the end of this block.
                pair.b.batch().send();
            }
        }
    }

    @Test
    void shouldWaitForTheBatchOfAnotherThread() throws InterruptedException {
        VerbsArena arena = VerbsArena.ofShared();
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(arena)
                .extended(SendOperation.SEND)
                .open()) {
            CountDownLatch open = new CountDownLatch(1);
            CountDownLatch refused = new CountDownLatch(1);
            AtomicReference<Throwable> failure = new AtomicReference<>();
            AtomicReference<WorkRequestBuilder> foreign = new AtomicReference<>();
            Thread other = new Thread(() -> {
                try (WorkRequestBuilder batch = pair.a.batch()) {
                    batch.send();
                    foreign.set(batch);
                    open.countDown();
                    refused.await(30, TimeUnit.SECONDS);
                } catch (InterruptedException | RuntimeException e) {
                    failure.set(e);
                }
            });
            other.start();
            assertTrue(open.await(10, TimeUnit.SECONDS));
            WorkRequestBuilder builder = foreign.get();
            refused(builder::send);
            refused(builder::abort);
            refused(() -> pair.a.queuePair.postSend(pair.a.request(1, 0, 8)));
            arena.waitLimits(WaitLimits.USUAL.withBatch(Duration.ofMillis(200)));
            String message = refused(pair.a.queuePair::close).getMessage();
            assertTrue(message.contains("another thread has a batch open"), message);
            assertTrue(pair.a.queuePair.isOpen());
            refused(pair.a.context::close);
            assertTrue(pair.a.context.isOpen());
            arena.waitLimits(WaitLimits.USUAL);
            // While it waits, the batch ends.
            CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS).execute(refused::countDown);
            pair.a.queuePair.close();
            other.join(10_000);
            assertNull(failure.get());
        }
    }

    @Test
    void shouldLetThreadsTakeTurns() throws InterruptedException {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(VerbsArena.ofShared())
                .queues(400, 16)
                .queueEntries(1000)
                .extended(SendOperation.RDMA_WRITE)
                .open()) {
            Object turn = new Object();
            List<Thread> threads = List.of(writer(pair, turn), writer(pair, turn));
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join(60_000);
            }
            for (Completion completion : pair.a.await(200)) {
                completion.is(CompletionOpcode.RDMA_WRITE, 5);
            }
        }
    }

    private static Thread writer(ConnectedPair pair, Object turn) {
        return new Thread(() -> {
            for (int i = 0; i < 100; i++) {
                synchronized (turn) {
                    WorkRequestBuilder batch = pair.a.batch().id(5);
                    write(pair, batch, 0).add(pair.a.region, 0, 8);
                    batch.complete();
                }
            }
        });
    }

    @Test
    void shouldNeedSendOperations() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            CompletionQueue queue = context.createCompletionQueue(16);
            ProtectionDomain domain = context.allocateProtectionDomain();
            QueuePairOptions without = new QueuePairOptions(QueuePairType.RC, queue);
            assertThrows(IllegalArgumentException.class, () -> domain.createExtendedQueuePair(without));
            QueuePairOptions with = new QueuePairOptions(QueuePairType.RC, queue)
                    .sendOperations(SendOperation.SEND, SendOperation.RDMA_READ);
            assertThrows(IllegalArgumentException.class, () -> domain.createQueuePair(with));
            assertEquals(
                    Set.of(SendOperation.SEND, SendOperation.RDMA_READ),
                    domain.createExtendedQueuePair(with).sendOperations());
        }
    }

    /** What C code would make, with the provider's own calls. */
    private static long nativeQueuePair(ProtectionDomain domain, QueuePairOptions options) {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_init_attr_ex.layout());
            options.write(attributes, domain.address, temporary);
            long made = options.needsExtendedCall()
                    ? domain.provider.createExtendedQueuePair(attributes.address())
                    : domain.provider.createQueuePair(domain.address, attributes.address());
            assertTrue(made > 0);
            return made;
        }
    }

    @Test
    void shouldWrapWhatOtherCodeMade() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            CompletionQueue queue = context.createCompletionQueue(16);
            CompletionQueue other = context.createCompletionQueue(16);
            ProtectionDomain domain = context.allocateProtectionDomain();
            ProtectionDomain otherDomain = context.allocateProtectionDomain();
            long plain = nativeQueuePair(domain, new QueuePairOptions(QueuePairType.UD, queue).maxSegments(3, 2));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> QueuePair.ofNativeAddress(domain, queue, other, plain, Ownership.OWNED));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> QueuePair.ofNativeAddress(otherDomain, queue, queue, plain, Ownership.OWNED));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> QueuePair.ofNativeAddress(domain, queue, queue, 0, Ownership.OWNED));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> ExtendedQueuePair.ofNativeAddress(
                            domain, queue, queue, Set.of(SendOperation.SEND), plain, Ownership.OWNED));
            QueuePair wrapped = QueuePair.ofNativeAddress(domain, queue, queue, plain, Ownership.OWNED);
            assertEquals(QueuePairType.UD, wrapped.type());
            assertTrue(wrapped.capabilities().maxSendSegments() >= 3);
            assertEquals(plain, wrapped.nativeAddress());

            long made = nativeQueuePair(
                    domain,
                    new QueuePairOptions(QueuePairType.RC, queue)
                            .maxInlineData(64)
                            .sendOperations(SendOperation.SEND));
            ExtendedQueuePair extended = ExtendedQueuePair.ofNativeAddress(
                    domain, queue, queue, Set.of(SendOperation.SEND), made, Ownership.OWNED);
            MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            extended.connect(extended.localEndpoint(LabDevices.connectOptions()));
            extended.postReceive(ReceiveWorkRequest.allocate(arena, 1).add(region, 0, 64));
            WorkRequestBuilder batch = extended.startWorkRequests().send().inlineData(text("to itself"));
            batch.complete();
            WorkCompletions completions = new WorkCompletions(arena, 4);
            Completions.awaitAny(queue, completions);
            assertEquals(CompletionOpcode.RECV, completions.opcode(0), () -> completions.describe(0));
            assertEquals("to itself", textAt(region.memory(), 0, 9));
        }
    }

    @Test
    void shouldRefuseOperationsThatTheDriverDoesNotHave() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            CompletionQueue queue = context.createCompletionQueue(16);
            ProtectionDomain domain = context.allocateProtectionDomain();
            for (SendOperation operation : List.of(SendOperation.TSO, SendOperation.RDMA_READ)) {
                Unsupported.verb(
                        "ibv_create_qp_ex",
                        () -> domain.createExtendedQueuePair(
                                new QueuePairOptions(QueuePairType.UD, queue).sendOperations(operation)));
            }
            Unsupported.verb(
                    "ibv_create_qp_ex",
                    () -> domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, queue)
                            .createFlags(QueuePairCreateFlag.BLOCK_SELF_MCAST_LB)));
            Unsupported.verb(
                    "ibv_create_qp_ex",
                    () -> domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, queue).sourceQueuePair(5)));
            UnsupportedVerbException header = Unsupported.verb(
                    "ibv_create_qp_ex",
                    () -> domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue).maxTsoHeader(64)));
            assertTrue(header.capability().contains("tsoCapabilities"), header::capability);
        }
    }

    /** A region may have another address for work requests than its memory has for this process. */
    @Test
    void shouldTakeSlicesOfARegionWithAnAddressOfItsOwn() {
        try (ConnectedPair pair = open(SendOperation.SEND)) {
            FillPattern.fill(pair.a.memory, 5);
            MemorySegment memory = pair.a.memory.asSlice(0, 8192);
            MemoryRegion region = pair.a.domain.register(memory, memory.address() - 4096);
            assertNotEquals(memory.address(), region.address());
            pair.b.postReceive(1, 0, 100);
            try (WorkRequestBuilder batch = pair.a.batch()) {
                batch.send().add(region, memory.asSlice(4000, 100));
                assertThrows(IndexOutOfBoundsException.class, () -> batch.add(region, pair.a.memory.asSlice(8192, 8)));
                batch.complete();
            }
            pair.a.await();
            pair.b.await();
            assertTrue(memory.asSlice(4000, 100).mismatch(pair.b.memory.asSlice(0, 100)) < 0);
        }
    }

    /** The driver refuses what is posted before connecting, and sends it later all the same. */
    @Test
    void shouldKeepNothingOfWhatWasRefusedBeforeConnecting() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            CompletionQueue queue = context.createCompletionQueue(16);
            ProtectionDomain domain = context.allocateProtectionDomain();
            ExtendedQueuePair queuePair = domain.createExtendedQueuePair(new QueuePairOptions(QueuePairType.RC, queue)
                    .sendOperations(SendOperation.SEND, SendOperation.BIND_MW));
            queuePair.localEndpoint(LabDevices.connectOptions());
            queuePair.initialize();
            MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            MemoryWindowBinding part = new MemoryWindowBinding(region, 0, 8, AccessFlag.REMOTE_READ);
            MemoryWindow first = domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            MemoryWindow second = domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            int firstKey = first.rkey();
            int secondKey = second.rkey();
            SendWorkRequest send =
                    SendWorkRequest.allocate(arena, 0).id(1).signaled(true).send();
            SendWorkRequest bind = SendWorkRequest.allocate(arena, 0)
                    .id(2)
                    .signaled(true)
                    .bindMemoryWindow(second, second.nextRkey(), part);

            refusedBeforeConnecting(() -> queuePair.postSend(send.next(bind)));
            assertSame(send, queuePair.firstNotSent(send));
            refusedBeforeConnecting(() -> queuePair.bind(first, part, 3, true));
            refusedBeforeConnecting(() ->
                    queuePair.startWorkRequests().id(4).signaled(true).send().complete());
            refusedBeforeConnecting(() -> queuePair
                    .startWorkRequests()
                    .signaled(true)
                    .bindMemoryWindow(second, second.nextRkey(), part)
                    .complete());
            assertEquals(firstKey, first.rkey());
            assertEquals(secondKey, second.rkey());

            queuePair.connect(queuePair.localEndpoint());
            queuePair.postReceive(ReceiveWorkRequest.allocate(arena, 0).id(5));
            queuePair.postSend(send.id(6).next(null));
            Set<Long> completed = new HashSet<>();
            for (Completion each : Completions.await(queue, new WorkCompletions(arena, 1), 2, Bound.USUAL)) {
                assertEquals(CompletionStatus.SUCCESS, each.status(), each::text);
                completed.add(each.id());
            }
            assertEquals(Set.of(5L, 6L), completed);
            // The window was never bound through this queue pair: it stays.
            queuePair.close();
            assertTrue(second.isOpen());
        }
    }

    private static void refusedBeforeConnecting(Executable post) {
        String message = refused(post).getMessage();
        assertTrue(message.contains("connect"), message);
    }

    @Test
    void shouldCloseWithABatchOfAThreadThatIsNoMore() throws InterruptedException {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(VerbsArena.ofShared())
                .extended(SendOperation.SEND)
                .open()) {
            Thread forgetful = new Thread(() -> pair.a.batch().send());
            forgetful.start();
            forgetful.join();
            pair.a.queuePair.close();
            assertFalse(pair.a.queuePair.isOpen());
        }
    }

    @Test
    void shouldPostAfterAThreadThatIsNoMoreLeftItsBatchOpen() throws InterruptedException {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(VerbsArena.ofShared())
                .extended(SendOperation.SEND, SendOperation.RDMA_WRITE)
                .open()) {
            Thread forgetful = new Thread(() -> pair.a.batch().send());
            forgetful.start();
            forgetful.join();
            pair.a.post(pair.writeToB(1, 0, 8));
            assertEquals(1, pair.a.await().id(), "the other thread's SEND was not posted");
        }
    }
}
