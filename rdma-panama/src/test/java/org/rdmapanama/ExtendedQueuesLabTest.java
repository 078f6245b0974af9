package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionFlag;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.ibv_cq_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_mw;
import org.rdmapanama.ffm.verbs.ibv_mw_bind_info;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_wc_tm_info;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.WaitLimits;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** Extended completion queues: what is read in place, who may read when, and how they end. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class ExtendedQueuesLabTest {
    /** What Soft-RoCE can tell. */
    private static final CompletionField[] STANDARD = EnumSet.range(
                    CompletionField.BYTE_LEN, CompletionField.DLID_PATH_BITS)
            .toArray(CompletionField[]::new);

    private static ConnectedPair.Setup extended(QueuePairType type) {
        return ConnectedPair.of(type).extended(STANDARD);
    }

    /** So many receives that fail at once, on side a, when its queue pair goes to the error state. */
    private static void flush(ConnectedPair pair, int count) {
        for (int i = 0; i < count; i++) {
            pair.a.postReceive(i, 0, 8);
        }
        pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
    }

    @Test
    @Shows({
        "ibv_create_cq_ex",
        "ibv_cq_ex_to_cq",
        "ibv_start_poll",
        "ibv_end_poll",
        "ibv_wc_read_opcode",
        "ibv_wc_read_vendor_err",
        "ibv_wc_read_byte_len",
        "ibv_wc_read_imm_data",
        "ibv_wc_read_qp_num",
        "ibv_wc_read_wc_flags"
    })
    void shouldReadACompletionInPlace() {
        try (ConnectedPair pair = extended(QueuePairType.RC).open()) {
            pair.b.postReceive(0x1122_3344_5566_7788L, 0, 100);
            pair.a.post(pair.a.request(7, 0, 42).sendWithImmediate(0x0102_0304));
            PollCursor received = pair.b.awaitBatch();
            assertEquals(0x1122_3344_5566_7788L, received.id());
            assertEquals(CompletionStatus.SUCCESS, received.status());
            assertTrue(received.succeeded());
            assertEquals(CompletionOpcode.RECV, received.opcode());
            assertEquals(0, received.vendorError());
            assertEquals(42, received.byteLength());
            assertTrue(received.hasImmediate());
            assertTrue(received.has(CompletionFlag.WITH_IMM));
            assertEquals(0x0102_0304, received.immediate());
            assertFalse(received.hasInvalidatedRkey());
            assertFalse(received.checksumOk());
            assertEquals(pair.b.queuePair.number(), received.queuePairNumber());
            assertEquals(
                    "SUCCESS on queue pair 0x%06x, work request %d"
                            .formatted(pair.b.queuePair.number(), 0x1122_3344_5566_7788L),
                    received.describe());
            received.close();
            assertFalse(pair.b.extended().poll().next(), "it was taken off");

            PollCursor sent = pair.a.awaitBatch();
            assertEquals(7, sent.id());
            assertEquals(CompletionOpcode.SEND, sent.opcode());
            sent.close();
        }
    }

    @Test
    @Shows({
        "ibv_wc_read_src_qp",
        "ibv_wc_read_slid",
        "ibv_wc_read_sl",
        "ibv_wc_read_dlid_path_bits",
        "ibv_wc_read_byte_len"
    })
    void shouldReadWhereADatagramCameFrom() {
        try (ConnectedPair pair = extended(QueuePairType.UD).open()) {
            GidEntry own = pair.a.context.preferredGid(1).orElseThrow();
            Gid peer = pair.b.context.preferredGid(1).orElseThrow().gid();
            AddressHandle way = pair.a.domain.createAddressHandle(AddressVector.toGid(1, own.index(), peer));
            pair.b.postReceive(1, 0, 200);
            pair.a.post(pair.a
                    .request(2, 0, 60)
                    .send()
                    .to(
                            way,
                            pair.b.queuePair.number(),
                            LabDevices.connectOptions().qkey()));
            PollCursor received = pair.b.awaitBatch();
            assertEquals(pair.a.queuePair.number(), received.sourceQueuePair());
            assertEquals(100, received.byteLength());
            assertTrue(received.hasGlobalRoutingHeader());
            assertEquals(0, received.sourceLid());
            assertEquals(0, received.serviceLevel());
            assertEquals(0, received.destinationPathBits());
            received.close();
        }
    }

    @Test
    @Shows("ibv_wc_read_invalidated_rkey")
    void shouldTellWhichKeyBecameInvalid() {
        try (ConnectedPair pair = extended(QueuePairType.RC)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                .open()) {
            int rkey = invalidateWindowOfB(pair);
            PollCursor received = pair.b.awaitBatch();
            assertEquals(CompletionStatus.SUCCESS, received.status());
            assertTrue(saysInvalidated(received.flags()));
            assertFalse(received.hasImmediate());
            assertEquals(rkey, received.invalidatedRkey());
            received.close();
        }
    }

    @Test
    @Shows("ibv_poll_cq")
    void shouldTellWhichKeyBecameInvalidInAPlainQueue() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .access(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
                .open()) {
            WorkCompletions completions = new WorkCompletions(pair.b.arena, 1);
            int rkey = invalidateWindowOfB(pair);
            assertEquals(1, pair.b.queue.poll(completions));
            assertTrue(completions.succeeded(0), completions::toString);
            assertTrue(saysInvalidated(completions.flags(0)));
            assertEquals(completions.has(0, CompletionFlag.WITH_INV), completions.hasInvalidatedRkey(0));
            assertEquals(completions.has(0, CompletionFlag.IP_CSUM_OK), completions.checksumOk(0));
            assertFalse(completions.hasImmediate(0));
            assertEquals(rkey, completions.invalidatedRkey(0));
        }
    }

    /** Soft-RoCE passes the kernel's flag on, which has the number that the checksum's has here. */
    private static boolean saysInvalidated(int flags) {
        CompletionFlag expected = LabDevices.areSoftRoce() ? CompletionFlag.IP_CSUM_OK : CompletionFlag.WITH_INV;
        return (flags & expected.code()) != 0;
    }

    /**
     * Binds a memory window of type 2 to the buffer of side b, with what the provider line has, and makes its key
     * invalid by a send of side a. The receive of it is in the queue then.
     */
    private static int invalidateWindowOfB(ConnectedPair pair) {
        Side side = pair.b;
        ProviderContext provider = side.context.provider();
        long window = provider.allocateMemoryWindow(side.domain.address, rdma_h.IBV_MW_TYPE_2());
        assertTrue(window > 0);
        int first = ibv_mw.rkey(Native.struct(window, ibv_mw.layout()));
        int rkey = (first & ~0xff) | ((first + 1) & 0xff);
        postRaw(side, request -> {
            ibv_send_wr.wr_id(request, 99);
            ibv_send_wr.opcode(request, rdma_h.IBV_WR_BIND_MW());
            MemorySegment bind = ibv_send_wr.bind_mw(request);
            ibv_send_wr.bind_mw.mw(bind, MemorySegment.ofAddress(window));
            ibv_send_wr.bind_mw.rkey(bind, rkey);
            MemorySegment info = ibv_send_wr.bind_mw.bind_info(bind);
            ibv_mw_bind_info.mr(info, MemorySegment.ofAddress(side.region.address));
            ibv_mw_bind_info.addr(info, side.region.address());
            ibv_mw_bind_info.length(info, 64);
        });
        side.await().is(CompletionOpcode.BIND_MW, 99);
        side.postReceive(1, 0, 8);
        postRaw(pair.a, request -> {
            ibv_send_wr.opcode(request, rdma_h.IBV_WR_SEND_WITH_INV());
            request.set(ValueLayout.JAVA_INT, ibv_send_wr.invalidate_rkey$offset(), rkey);
        });
        // The sender's completion comes after the receive of a reliable connection.
        assertEquals(CompletionStatus.SUCCESS, pair.a.await().status());
        assertEquals(0, provider.deallocateMemoryWindow(window));
        return rkey;
    }

    private static void postRaw(Side side, Consumer<MemorySegment> filling) {
        MemorySegment request = side.arena.allocate(ibv_send_wr.layout());
        MemorySegment bad = side.arena.allocate(8, 8);
        ibv_send_wr.send_flags(request, rdma_h.IBV_SEND_SIGNALED());
        filling.accept(request);
        assertEquals(0, side.context.provider().postSend(side.queuePair.address, request.address(), bad.address()));
    }

    @Test
    @Shows({"ibv_next_poll", "ibv_wc_status_str"})
    void shouldGoThroughManyInOrder() {
        try (ConnectedPair pair = extended(QueuePairType.RC).open()) {
            flush(pair, 10);
            PollCursor queue = pair.a.awaitBatch();
            for (int i = 0; i < 10; i++) {
                assertEquals(i, queue.id());
                assertEquals(CompletionStatus.WR_FLUSH_ERR, queue.status());
                assertTrue(queue.status().description().contains("flushed"));
                assertFalse(queue.succeeded());
                assertEquals(pair.a.queuePair.number(), queue.queuePairNumber());
                if (i < 9) {
                    pair.a.awaitNext();
                }
            }
            assertFalse(queue.next());
            queue.close();
        }
    }

    /** Soft-RoCE of version 44 gives old completions again, after a batch that went to its end: see its driver. */
    @Test
    void shouldComeToAnEndOnce() {
        try (ConnectedPair pair = extended(QueuePairType.RC).queueEntries(16).open()) {
            ExtendedCompletionQueue queue = pair.a.extended();
            for (int round = 0; round < 50; round++) {
                pair.a.post(pair.writeToB(2L * round, 0, 8));
                pair.a.post(pair.writeToB(2L * round + 1, 0, 8));
                pair.a.awaitBatch();
                assertEquals(2L * round, queue.cursor.id());
                pair.a.awaitNext();
                assertEquals(2L * round + 1, queue.cursor.id());
                assertFalse(queue.nextPoll());
                assertFalse(queue.nextPoll());
                queue.endPoll();
                assertFalse(queue.startPoll(), "a completion that never came");
                assertTrue(pair.a.poll().isEmpty());
            }
        }
    }

    @Test
    void shouldGoOnWithWhatComesAfterTheEnd() {
        try (ConnectedPair pair = extended(QueuePairType.RC).open()) {
            pair.a.post(pair.writeToB(1, 0, 8));
            PollCursor queue = pair.a.awaitBatch();
            assertFalse(queue.next());
            pair.a.post(pair.writeToB(2, 0, 8));
            pair.a.awaitNext();
            assertEquals(2, queue.id());
            queue.close();
        }
    }

    @Test
    void shouldBePolledAsAPlainQueueToo() throws Exception {
        try (ConnectedPair pair = extended(QueuePairType.RC).open()) {
            pair.a.queue.requestNotification(false);
            pair.a.post(pair.writeToB(5, 0, 8));
            assertSame(pair.a.queue, pair.a.channel.await(Duration.ofSeconds(10)));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 5);
            int before = pair.a.queue.entries();
            pair.a.queue.resize(before * 2);
            assertTrue(pair.a.queue.entries() >= before * 2);
        }
    }

    @Test
    void shouldRefuseToReadWithoutACompletion() {
        try (ConnectedPair pair = extended(QueuePairType.RC).open()) {
            ExtendedCompletionQueue queue = pair.a.extended();
            assertFalse(queue.startPoll());
            for (Callable<?> read : List.<Callable<?>>of(
                    queue.cursor::id, queue.cursor::status, queue.cursor::opcode, queue.cursor::byteLength)) {
                assertThrows(IllegalStateException.class, read::call);
            }
            assertThrows(IllegalStateException.class, queue::nextPoll);
            assertThrows(IllegalStateException.class, queue::endPoll);
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.awaitBatch();
            assertFalse(queue.nextPoll());
            IllegalStateException thrown = assertThrows(IllegalStateException.class, queue.cursor::id);
            assertTrue(thrown.getMessage().contains("PollCursor.next"), thrown::getMessage);
            queue.endPoll();
            assertThrows(IllegalStateException.class, queue::endPoll);
        }
    }

    @Test
    void shouldRefuseToReadWhatWasNotAskedFor() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .extended(CompletionField.BYTE_LEN)
                .open()) {
            pair.a.post(pair.readFromB(1, 0, 8));
            PollCursor queue = pair.a.awaitBatch();
            assertEquals(Set.of(CompletionField.BYTE_LEN), pair.a.extended().fields());
            assertEquals(8, queue.byteLength());
            assertEquals("SUCCESS, work request 1", queue.describe());
            assertRefuses(CompletionField.IMM, queue::immediate);
            assertRefuses(CompletionField.IMM, queue::invalidatedRkey);
            assertRefuses(CompletionField.QP_NUM, queue::queuePairNumber);
            assertRefuses(CompletionField.SRC_QP, queue::sourceQueuePair);
            assertRefuses(CompletionField.SLID, queue::sourceLid);
            assertRefuses(CompletionField.SL, queue::serviceLevel);
            assertRefuses(CompletionField.DLID_PATH_BITS, queue::destinationPathBits);
            assertRefuses(CompletionField.COMPLETION_TIMESTAMP, queue::timestamp);
            assertRefuses(CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK, queue::wallClockNanos);
            assertRefuses(CompletionField.CVLAN, queue::vlan);
            assertRefuses(CompletionField.FLOW_TAG, queue::flowTag);
            assertRefuses(CompletionField.TM_INFO, queue::tag);
            assertRefuses(CompletionField.TM_INFO, queue::tagPrivateData);
            queue.close();
        }
    }

    private static void assertRefuses(CompletionField field, Callable<?> read) {
        IllegalStateException thrown = assertThrows(IllegalStateException.class, read::call);
        assertTrue(thrown.getMessage().contains("CompletionField." + field + ";"), thrown::getMessage);
    }

    @Test
    void shouldReadByACursor() {
        try (ConnectedPair pair = extended(QueuePairType.RC).open()) {
            ExtendedCompletionQueue queue = pair.a.extended();
            try (PollCursor cursor = queue.poll()) {
                assertFalse(cursor.next());
                assertThrows(IllegalStateException.class, cursor::id, "there is no batch");
                assertTrue(pair.a.poll().isEmpty(), "nothing is locked");
                assertSame(cursor, queue.poll());
            }
            Bound bound = Bound.usual();
            List<Long> read = new ArrayList<>();
            for (int i = 1; i <= 3; i++) {
                pair.a.post(pair.writeToB(i, 0, 8));
            }
            while (read.size() < 3) {
                bound.check("completions are missing");
                try (PollCursor cursor = queue.poll()) {
                    while (cursor.next()) {
                        assertTrue(cursor.succeeded(), cursor::describe);
                        read.add(cursor.id());
                    }
                }
            }
            assertEquals(List.of(1L, 2L, 3L), read);
            assertTrue(pair.a.poll().isEmpty(), "the batch has ended");

            // An exception ends the batch too.
            pair.a.post(pair.writeToB(4, 0, 8));
            assertThrows(ArithmeticException.class, () -> {
                pair.a.awaitBatch();
                try (PollCursor cursor = queue.cursor) {
                    assertEquals(4, cursor.id());
                    throw new ArithmeticException();
                }
            });
            assertTrue(pair.a.poll().isEmpty());
        }
    }

    @Test
    void shouldKeepEverythingElseOutOfABatch() {
        try (ConnectedPair pair = extended(QueuePairType.RC).open()) {
            pair.a.post(pair.writeToB(1, 0, 8));
            PollCursor cursor = pair.a.awaitBatch();
            ExtendedCompletionQueue queue = pair.a.extended();
            for (Executable second : new Executable[] {queue::startPoll, queue::poll}) {
                IllegalStateException open = assertThrows(IllegalStateException.class, second);
                assertTrue(open.getMessage().contains("PollCursor"), open::getMessage);
            }
            assertThrows(IllegalStateException.class, pair.a::poll);
            assertThrows(IllegalStateException.class, () -> queue.resize(500));
            assertThrows(IllegalStateException.class, () -> queue.requestNotification(false));
            assertThrows(IllegalStateException.class, () -> queue.moderate(1, Duration.ZERO));
            assertEquals(1, cursor.id(), "the batch goes on");
            cursor.close();
            assertTrue(pair.a.poll().isEmpty());
        }
    }

    @Test
    void shouldKeepOtherThreadsOutOfABatch() throws Exception {
        try (ConnectedPair pair =
                        extended(QueuePairType.RC).in(VerbsArena.ofShared()).open();
                ExecutorService other = Executors.newSingleThreadExecutor()) {
            pair.a.post(pair.writeToB(1, 0, 8));
            PollCursor cursor = pair.a.awaitBatch();
            ExtendedCompletionQueue queue = pair.a.extended();
            other.submit(() -> {
                        assertThrows(IllegalStateException.class, cursor::next);
                        assertThrows(IllegalStateException.class, queue::nextPoll);
                        assertThrows(IllegalStateException.class, queue::endPoll);
                        assertThrows(IllegalStateException.class, cursor::id);
                        assertThrows(IllegalStateException.class, pair.a::poll);
                        cursor.close();
                    })
                    .get(10, TimeUnit.SECONDS);
            assertEquals(1, cursor.id(), "only its own thread ends the batch");
            cursor.close();
            cursor.close();
            other.submit(() -> assertFalse(cursor.next())).get(10, TimeUnit.SECONDS);
        }
    }

    @Test
    void shouldCloseInTheMiddleOfABatch() {
        for (boolean shared : new boolean[] {false, true}) {
            for (int what = 0; what < 4; what++) {
                VerbsArena arena = shared ? VerbsArena.ofShared() : VerbsArena.ofConfined();
                try (ConnectedPair pair = extended(QueuePairType.RC).in(arena).open()) {
                    for (int i = 0; i < 4; i++) {
                        pair.a.postReceive(i, 0, 8);
                    }
                    pair.a.post(pair.writeToB(1, 0, 8));
                    pair.a.post(pair.writeToB(2, 0, 8));
                    PollCursor cursor = pair.a.awaitBatch();
                    ExtendedCompletionQueue queue = pair.a.extended();
                    switch (what) {
                        case 0 -> queue.close();
                        case 1 -> pair.a.channel.close();
                        case 2 -> pair.a.context.close();
                        default -> arena.close();
                    }
                    assertFalse(queue.isOpen());
                    assertFalse(pair.a.queuePair.isOpen());
                    assertThrows(IllegalStateException.class, cursor::id);
                    assertThrows(IllegalStateException.class, queue::nextPoll);
                    assertThrows(IllegalStateException.class, queue::endPoll);
                    assertThrows(IllegalStateException.class, queue::startPoll);
                    assertThrows(IllegalStateException.class, queue::poll);
                    assertThrows(IllegalStateException.class, cursor::next);
                    cursor.close();
                }
            }
        }
    }

    @Test
    void shouldGoOnWithABatchAfterAQueuePairIsClosedInIt() {
        try (ConnectedPair pair = extended(QueuePairType.RC).open()) {
            QueuePair other = pair.a.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.a.queue));
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.post(pair.writeToB(2, 0, 8));
            PollCursor queue = pair.a.awaitBatch();
            assertEquals(1, queue.id());
            other.close();
            assertThrows(IllegalStateException.class, queue::id, "its completion is over");
            pair.a.awaitNext();
            assertEquals(2, queue.id());
            pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            assertThrows(IllegalStateException.class, queue::id, "its completion is over");
            assertFalse(queue.next());
            queue.close();
            assertFalse(queue.next());
        }
    }

    @Test
    void shouldStayOpenWhileAnotherThreadIsInABatch() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        try (ConnectedPair pair = extended(QueuePairType.RC).in(arena).open();
                ExecutorService other = Executors.newSingleThreadExecutor()) {
            pair.a.post(pair.writeToB(1, 0, 8));
            other.submit(pair.a::awaitBatch).get(10, TimeUnit.SECONDS);
            ExtendedCompletionQueue queue = pair.a.extended();
            arena.waitLimits(WaitLimits.USUAL.withBatch(Duration.ofMillis(200)));
            for (AutoCloseable what : List.of(queue, pair.a.queuePair, pair.a.context, arena)) {
                assertThrows(IllegalStateException.class, what::close);
            }
            assertThrows(
                    IllegalStateException.class,
                    () -> pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR)));
            arena.waitLimits(WaitLimits.USUAL);
            assertTrue(queue.isOpen());
            assertTrue(pair.a.queuePair.isOpen());
            assertEquals(1L, other.submit(queue.cursor::id).get(10, TimeUnit.SECONDS), "the batch goes on");
            other.submit(queue::endPoll).get(10, TimeUnit.SECONDS);
            assertFalse(queue.startPoll(), "batches begin again");
            pair.a.post(pair.writeToB(2, 0, 8));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 2);
            pair.a.queuePair.close();
            assertFalse(queue.startPoll());
            arena.close();
            assertFalse(queue.isOpen());
        }
    }

    @Test
    void shouldWaitForAShortBatchOfAnotherThread() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        try (ConnectedPair pair = extended(QueuePairType.RC).in(arena).open();
                ExecutorService other = Executors.newSingleThreadExecutor()) {
            pair.a.post(pair.writeToB(1, 0, 8));
            other.submit(pair.a::awaitBatch).get(10, TimeUnit.SECONDS);
            var ending = other.submit(() -> {
                Thread.sleep(300);
                pair.a.extended().endPoll();
                return null;
            });
            pair.a.queue.close();
            ending.get(10, TimeUnit.SECONDS);
            assertFalse(pair.a.queue.isOpen());
        }
    }

    @Test
    void shouldEndTheBatchOfAThreadThatIsNoMore() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        try (ConnectedPair pair = extended(QueuePairType.RC).in(arena).open()) {
            pair.a.post(pair.writeToB(1, 0, 8));
            Thread thread = new Thread(pair.a::awaitBatch);
            thread.start();
            thread.join(10_000);
            pair.a.queuePair.close();
            assertFalse(pair.a.extended().startPoll());
            arena.close();
        }
    }

    @Test
    void shouldGoOnAfterAThreadThatIsNoMoreLeftItsBatchOpen() throws Exception {
        List<Consumer<ConnectedPair>> uses = List.of(
                pair -> assertTrue(pair.a.extended().startPoll(), "what was not read is still there"),
                pair -> pair.a.poll(),
                pair -> pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR)),
                pair -> pair.a
                        .domain
                        .createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.a.queue, pair.a.queue))
                        .close(),
                pair -> pair.a.queue.resize(100));
        for (Consumer<ConnectedPair> use : uses) {
            try (ConnectedPair pair =
                    extended(QueuePairType.RC).in(VerbsArena.ofShared()).open()) {
                pair.a.post(pair.writeToB(1, 0, 8));
                pair.a.post(pair.writeToB(2, 0, 8));
                Thread thread = new Thread(pair.a::awaitBatch);
                thread.start();
                thread.join(10_000);
                use.accept(pair);
                if (pair.a.extended().batch().isMine()) {
                    pair.a.extended().endPoll();
                }
            }
        }
    }

    @Test
    void shouldLetManyThreadsTakeTurns() throws Exception {
        int total = 400;
        try (ConnectedPair pair = extended(QueuePairType.RC)
                        .in(VerbsArena.ofShared())
                        .queueEntries(total)
                        .open();
                ExecutorService threads = Executors.newFixedThreadPool(3)) {
            var seen = ConcurrentHashMap.<Long>newKeySet();
            Callable<Void> reader = () -> {
                Bound bound = Bound.ofSeconds(60);
                ExtendedCompletionQueue queue = pair.a.extended();
                while (seen.size() < total && !bound.isOver()) {
                    try {
                        if (queue.startPoll()) {
                            do {
                                assertTrue(queue.cursor.succeeded());
                                assertTrue(seen.add(queue.cursor.id()), "each comes once");
                            } while (queue.nextPoll());
                            queue.endPoll();
                        }
                    } catch (IllegalStateException anotherHasIt) {
                        Thread.onSpinWait();
                    }
                }
                return null;
            };
            var readers = List.of(threads.submit(reader), threads.submit(reader), threads.submit(reader));
            for (int i = 0; i < total; i++) {
                SendWorkRequest write = pair.writeToB(i, 0, 8);
                while (pair.a.queuePair.tryPostSend(write) != QueuePair.POSTED) {
                    Thread.onSpinWait();
                }
            }
            for (var each : readers) {
                each.get(60, TimeUnit.SECONDS);
            }
            assertEquals(total, seen.size());
        }
    }

    @Test
    void shouldDrainWhatIsOutstanding() {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        VerbsArena arena = VerbsArena.ofConfined();
        try (ConnectedPair pair = extended(QueuePairType.RC)
                .in(arena, VerbsArena.ofConfined())
                .through(own -> Context.open(own, LabDevices.first(), () -> recording))
                .open()) {
            for (int i = 0; i < 8; i++) {
                pair.a.postReceive(i, 0, 8);
            }
            arena.close();
            assertEquals(recording.posted(), recording.completed());
            assertTrue(recording.flushed() >= 8);
        }
    }

    @Test
    void shouldTakeBothFlagsOrSayThatItDoesNot() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            for (CompletionQueueOptions options : List.of(
                    new CompletionQueueOptions(10).singleThreaded(true),
                    new CompletionQueueOptions(10).ignoreOverrun(true))) {
                try {
                    assertTrue(context.createCompletionQueue(options).entries() >= 10);
                } catch (UnsupportedVerbException e) {
                    assertEquals("ibv_create_cq_ex", e.verb());
                }
            }
        }
    }

    @Test
    void shouldSayThatThereAreNoTimestamps() {
        LabDevices.assumeOurs("it may have timestamps");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            for (CompletionField field :
                    List.of(CompletionField.COMPLETION_TIMESTAMP, CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK)) {
                UnsupportedVerbException thrown = assertThrows(
                        UnsupportedVerbException.class,
                        () -> context.createCompletionQueue(new CompletionQueueOptions(10).fields(field)));
                assertEquals("ibv_create_cq_ex", thrown.verb());
                assertEquals(Errno.EOPNOTSUPP, thrown.errno());
                assertEquals("DeviceAttributes.completionTimestampMask", thrown.capability());
                assertTrue(thrown.getMessage().contains(field.name()), thrown::getMessage);
            }
            for (CompletionField field :
                    List.of(CompletionField.CVLAN, CompletionField.FLOW_TAG, CompletionField.TM_INFO)) {
                assertThrows(
                        UnsupportedVerbException.class,
                        () -> context.createCompletionQueue(new CompletionQueueOptions(10).fields(field)));
            }
        }
    }

    @Test
    void shouldBuildWhatCBuilds() throws Exception {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        recording.keepBytes("createExtendedCompletionQueue", ibv_cq_init_attr_ex.sizeof());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), () -> recording);
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionChannel channel = context.createCompletionChannel();
            CompletionQueueOptions options = new CompletionQueueOptions(77)
                    .channel(channel)
                    .completionVector(1)
                    .fields(CompletionField.TM_INFO, CompletionField.BYTE_LEN, CompletionField.FLOW_TAG)
                    .singleThreaded(true)
                    .ignoreOverrun(true)
                    .parentDomain(domain);
            assertThrows(UnsupportedVerbException.class, () -> context.createCompletionQueue(options));
            CStructs.assertSame(
                    """
                    struct ibv_cq_init_attr_ex x;
                    memset(&x, 0, sizeof x);
                    x.cqe = 77;
                    x.channel = (void *) %dL;
                    x.comp_vector = 1;
                    x.wc_flags = IBV_WC_EX_WITH_TM_INFO | IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_FLOW_TAG;
                    x.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
                    x.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
                    x.parent_domain = (void *) %dL;
                    """.formatted(channel.nativeAddress(), domain.nativeAddress()),
                    recording.bytesOf("createExtendedCompletionQueue"));
            context.createCompletionQueue(new CompletionQueueOptions(5));
            CStructs.assertSame(
                    "struct ibv_cq_init_attr_ex x; memset(&x, 0, sizeof x); x.cqe = 5;",
                    recording.bytesOf("createExtendedCompletionQueue"));
        }
    }

    @Test
    void shouldRefuseBadOptions() {
        assertThrows(IllegalArgumentException.class, () -> new CompletionQueueOptions(0));
        CompletionQueueOptions options = new CompletionQueueOptions(1);
        assertThrows(IllegalArgumentException.class, () -> options.completionVector(-1));
        assertThrows(NullPointerException.class, () -> options.fields((CompletionField) null));
        try (VerbsArena arena = VerbsArena.ofConfined();
                VerbsArena otherArena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            Context other = Context.open(otherArena, LabDevices.first());
            CompletionChannel channel = other.createCompletionChannel();
            ProtectionDomain domain = other.allocateProtectionDomain();
            assertThrows(IllegalArgumentException.class, () -> context.createCompletionQueue(options.channel(channel)));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> context.createCompletionQueue(options.channel(null).parentDomain(domain)));
            CompletionChannel closed = context.createCompletionChannel();
            closed.close();
            assertThrows(
                    IllegalStateException.class,
                    () -> context.createCompletionQueue(new CompletionQueueOptions(1).channel(closed)));
        }
    }

    @Test
    void shouldWrapAQueueOfOtherCode() {
        try (ConnectedPair pair = extended(QueuePairType.RC).open()) {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = Context.ofNativeAddress(arena, pair.a.context.nativeAddress(), Ownership.BORROWED);
                ExtendedCompletionQueue queue = ExtendedCompletionQueue.ofNativeAddress(
                        context, pair.a.queue.nativeAddress(), Ownership.BORROWED);
                assertEquals(Set.of(STANDARD), queue.fields());
                assertEquals(pair.a.queue.entries(), queue.entries());
                pair.a.post(pair.readFromB(1, 0, 8));
                Bound.usual().spin("nothing came", queue::startPoll);
                assertEquals(1, queue.cursor.id());
                assertEquals(8, queue.cursor.byteLength());
                queue.endPoll();
                assertThrows(
                        IllegalArgumentException.class,
                        () -> CompletionQueue.ofNativeAddress(context, queue.nativeAddress(), Ownership.BORROWED));
            }
            assertNull(pair.a.poll().stream().findAny().orElse(null), "the queue is there and empty");
        }
    }

    @Test
    @Shows(
            value = {
                "ibv_wc_read_completion_ts",
                "ibv_wc_read_completion_wallclock_ns",
                "ibv_wc_read_cvlan",
                "ibv_wc_read_flow_tag",
                "ibv_wc_read_tm_info"
            },
            standIn = true)
    void shouldReadWhatADriverHasAFunctionFor() {
        LabDevices.assumeHasDriver();
        try (ConnectedPair pair = extended(QueuePairType.RC).open();
                VerbsArena arena = VerbsArena.ofConfined()) {
            MemorySegment struct =
                    Native.struct(pair.a.queue.nativeAddress() + Pthread.MUTEX_GROWTH, ibv_cq_ex.layout());
            Arena stubs = pair.a.arena;
            ibv_cq_ex.read_completion_ts(
                    struct, ibv_cq_ex.read_completion_ts.allocate(cq -> 0x1122_3344_5566_7788L, stubs));
            ibv_cq_ex.read_completion_wallclock_ns(
                    struct, ibv_cq_ex.read_completion_wallclock_ns.allocate(cq -> -2L, stubs));
            ibv_cq_ex.read_cvlan(
                    struct, ibv_cq_ex.read_cvlan.allocate(cq -> Short.reverseBytes((short) 0x8123), stubs));
            ibv_cq_ex.read_flow_tag(struct, ibv_cq_ex.read_flow_tag.allocate(cq -> 0xfedcba, stubs));
            ibv_cq_ex.read_tm_info(
                    struct,
                    ibv_cq_ex.read_tm_info.allocate(
                            (cq, info) -> {
                                MemorySegment filled = Native.struct(info.address(), ibv_wc_tm_info.layout());
                                ibv_wc_tm_info.tag(filled, -3L);
                                ibv_wc_tm_info.priv(filled, 0x8000_0001);
                            },
                            stubs));
            Context context = Context.ofNativeAddress(arena, pair.a.context.nativeAddress(), Ownership.BORROWED);
            ExtendedCompletionQueue queue =
                    ExtendedCompletionQueue.ofNativeAddress(context, pair.a.queue.nativeAddress(), Ownership.BORROWED);
            assertEquals(EnumSet.allOf(CompletionField.class), queue.fields());
            pair.a.post(pair.writeToB(1, 0, 8));
            Bound.usual().spin("nothing came", queue::startPoll);
            assertEquals(0x1122_3344_5566_7788L, queue.cursor.timestamp());
            assertEquals(-2L, queue.cursor.wallClockNanos());
            assertEquals(0x8123, queue.cursor.vlan());
            assertEquals(0xfedcba, queue.cursor.flowTag());
            assertEquals(-3L, queue.cursor.tag());
            assertEquals(0x8000_0001, queue.cursor.tagPrivateData());
            queue.endPoll();
        }
    }

    @Test
    void shouldTellWhenItOverruns() throws Exception {
        LabDevices.assumeOurs("drivers differ in what they do with a queue that overruns");
        try (ConnectedPair pair = extended(QueuePairType.RC).queueEntries(1).open()) {
            for (int i = 0; i < 10; i++) {
                pair.a.queuePair.postSend(pair.writeToB(i, 0, 8));
            }
            Bound bound = Bound.usual();
            Optional<AsyncEvent> event = Optional.empty();
            while (event.map(AsyncEvent::type).orElse(null) != AsyncEventType.CQ_ERR) {
                bound.check("no event came");
                event = pair.a.context.awaitAsyncEvent(Duration.ofSeconds(1));
            }
            assertSame(pair.a.queue, event.orElseThrow().source());
            // What did fit can be read.
            assertEquals(0, pair.a.awaitBatch().id());
            pair.a.extended().endPoll();
        }
    }

    @Test
    void shouldSayWhenTheQueueIsBroken() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Device device = LabDevices.first();
            Context context = Context.open(
                    arena,
                    device,
                    () -> new RecordingProvider(
                            device.providerDevice().provider().open(device.providerDevice())) {
                        @Override
                        public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
                            return -Errno.EIO;
                        }
                    });
            CompletionQueue queue = context.createCompletionQueue(1);
            WorkCompletions completions = new WorkCompletions(arena, 1);
            VerbsException thrown = assertThrows(VerbsException.class, () -> queue.poll(completions));
            assertEquals("ibv_poll_cq", thrown.verb());
            assertTrue(thrown.getMessage().contains("overrun"), thrown::getMessage);
        }
    }
}
