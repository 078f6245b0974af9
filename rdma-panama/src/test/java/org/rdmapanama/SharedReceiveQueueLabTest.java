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
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.LabDevices;

/** Shared receive queues: who takes which receive, limits and sizes, wrong use, and every way for them to end. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class SharedReceiveQueueLabTest {
    private static final Duration LONG = Duration.ofSeconds(10);
    private static final Duration SHORT = Duration.ofMillis(200);

    @Test
    @Shows({"ibv_create_srq", "ibv_post_srq_recv", "ibv_destroy_srq"})
    void shouldServeSeveralQueuePairs() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC, QueuePairType.RC, QueuePairType.RC)) {
            pair.b.post(0, 9);
            for (int i = 0; i < 9; i++) {
                // Not in turn: 0, 2, 1, 0, 2, 1 ...
                int queuePair = i * 2 % 3;
                pair.send(queuePair, i, "message " + i + " on " + queuePair);
                pair.receive(queuePair, i, "message " + i + " on " + queuePair);
            }
        }
    }

    @Test
    void shouldServeDatagrams() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.UD, QueuePairType.UD)) {
            pair.b.post(0, 4);
            for (int i = 0; i < 4; i++) {
                pair.send(i % 2, i, "datagram " + i);
                pair.receive(i % 2, i, "datagram " + i);
            }
        }
    }

    @Test
    void shouldServeQueuePairsOfDifferentTypes() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC, QueuePairType.UC, QueuePairType.UD)) {
            pair.b.post(0, 6);
            for (int i = 0; i < 6; i++) {
                pair.send(i % 3, i, "message " + i);
                pair.receive(i % 3, i, "message " + i);
            }
        }
    }

    @Test
    void shouldTakeAChainOfReceives() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC)) {
            ReceiveWorkRequest first = pair.b.receive(5).next(pair.b.receive(6).next(pair.b.receive(7)));
            pair.b.receives.postReceive(first);
            for (int i = 5; i < 8; i++) {
                pair.send(0, i, "message " + i);
                pair.receive(0, i, "message " + i);
            }
        }
    }

    @Test
    @Shows({"ibv_modify_srq", "ibv_query_srq", "ibv_get_async_event"})
    void shouldTellOnceWhenFewReceivesAreLeft() throws Exception {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC)) {
            pair.b.post(0, 6);
            pair.b.receives.armLimit(5);
            assertEquals(5, pair.b.receives.query().limit());
            pair.send(0, 0, "one");
            pair.receive(0, 0, "one");
            assertTrue(pair.b.context.awaitAsyncEvent(SHORT).isEmpty(), "five are left, which is not fewer than five");
            pair.send(0, 1, "two");
            pair.receive(0, 1, "two");
            assertLimitReached(pair.b);
            pair.send(0, 2, "three");
            pair.receive(0, 2, "three");
            assertTrue(pair.b.context.awaitAsyncEvent(SHORT).isEmpty(), "it tells once");

            pair.b.post(6, 10);
            pair.b.receives.armLimit(7);
            pair.send(0, 3, "four");
            pair.receive(0, 3, "four");
            assertLimitReached(pair.b);

            pair.b.receives.armLimit(3);
            pair.b.receives.armLimit(0);
            for (int i = 4; i < 9; i++) {
                pair.send(0, i, "more");
                pair.receive(0, i, "more");
            }
            assertTrue(pair.b.context.awaitAsyncEvent(SHORT).isEmpty(), "the limit was taken back");
        }
    }

    private static void assertLimitReached(SharedReceivers.Peer peer) throws InterruptedException {
        AsyncEvent event = peer.context.awaitAsyncEvent(LONG).orElseThrow();
        assertEquals(AsyncEventType.SRQ_LIMIT_REACHED, event.type());
        assertSame(peer.receives, event.source());
        assertEquals(0, event.port());
        assertEquals(0, peer.receives.query().limit(), "it has to be armed again");
    }

    @Test
    @Shows("ibv_modify_srq")
    void shouldResizeWhileReceivesArePosted() {
        try (SharedReceivers pair = SharedReceivers.of(QueuePairType.RC)
                .options(new SharedReceiveQueueOptions().maxWorkRequests(16))
                .open()) {
            pair.b.post(0, 10);
            pair.send(0, 0, "before");
            pair.receive(0, 0, "before");
            pair.b.receives.resize(200);
            assertTrue(pair.b.receives.maxWorkRequests() >= 200);
            assertTrue(pair.b.receives.query().maxWorkRequests() >= 200);
            pair.b.post(10, 200);
            for (int i = 1; i < 200; i++) {
                pair.send(0, i, "message " + i);
                pair.receive(0, i, "message " + i);
            }
        }
    }

    @Test
    void shouldNotShrinkAQueueThatTheKernelWouldLose() {
        LabDevices.assumeSoftRoce("others can shrink");
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC)) {
            pair.b.post(0, 20);
            SharedReceiveQueue queue = pair.b.receives;
            int size = queue.query().maxWorkRequests();
            assertThrows(IllegalArgumentException.class, () -> queue.resize(size - 1));
            queue.resize(size);
            pair.send(0, 0, "still there");
            pair.receive(0, 0, "still there");
        }
    }

    @Test
    void shouldSayWhenItCannotGrow() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC)) {
            SharedReceiveQueue queue = pair.b.receives;
            int max = pair.b.context.queryDevice().maxSharedReceiveWorkRequests();
            VerbsException thrown = assertThrows(VerbsException.class, () -> queue.resize(max + 1));
            assertEquals("ibv_modify_srq", thrown.verb());
            assertTrue(thrown.cure().contains(max + " work requests"), thrown::getMessage);
            int tooMany = queue.query().maxWorkRequests() + 1;
            assertThrows(VerbsException.class, () -> queue.armLimit(tooMany));
            pair.b.post(0, 1);
            pair.send(0, 0, "still there");
            pair.receive(0, 0, "still there");
        }
    }

    @Test
    void shouldReportAFullQueue() {
        try (SharedReceivers pair = SharedReceivers.of(QueuePairType.RC)
                .options(new SharedReceiveQueueOptions().maxWorkRequests(16))
                .open()) {
            int size = pair.b.receives.query().maxWorkRequests();
            pair.b.post(0, size - 2);
            ReceiveWorkRequest third = pair.b.receive(size);
            ReceiveWorkRequest first =
                    pair.b.receive(size - 2).next(pair.b.receive(size - 1).next(third));
            assertEquals(QueuePair.QUEUE_FULL, pair.b.receives.tryPostReceive(first));
            assertSame(third, pair.b.receives.firstNotReceiving(first));
            assertNull(pair.b.receives.firstNotReceiving(pair.b.receive(1)));
            pair.send(0, 0, "makes room");
            pair.receive(0, 0, "makes room");
            pair.b.receives.postReceive(third);
            for (int i = 1; i <= size; i++) {
                pair.send(0, i, "message " + i);
                pair.receive(0, i, "message " + i);
            }
        }
    }

    @Test
    void shouldRefuseWhatDoesNotFit() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC);
                VerbsArena other = VerbsArena.ofConfined()) {
            SharedReceiveQueue queue = pair.b.receives;
            ReceiveWorkRequest large = ReceiveWorkRequest.allocate(pair.arena, 64);
            for (int i = 0; i <= queue.maxSegments(); i++) {
                large.add(pair.b.region, i, 1);
            }
            IllegalArgumentException thrown =
                    assertThrows(IllegalArgumentException.class, () -> queue.postReceive(large));
            assertTrue(thrown.getMessage().contains("SharedReceiveQueueOptions.maxSegments"), thrown::getMessage);
            ReceiveWorkRequest chain = pair.b.receive(0).next(large);
            assertThrows(IllegalArgumentException.class, () -> queue.postReceive(chain));
            ReceiveWorkRequest foreign = ReceiveWorkRequest.allocate(other, 1);
            assertThrows(IllegalArgumentException.class, () -> queue.postReceive(foreign));
            assertThrows(NullPointerException.class, () -> queue.postReceive(null));
            assertThrows(IllegalArgumentException.class, () -> queue.resize(0));
            assertThrows(IllegalArgumentException.class, () -> queue.armLimit(-1));
        }
    }

    @Test
    void shouldTakeAsManySegmentsAsGranted() {
        try (SharedReceivers pair = SharedReceivers.of(QueuePairType.RC)
                .options(new SharedReceiveQueueOptions().maxSegments(4))
                .open()) {
            assertTrue(pair.b.receives.maxSegments() >= 4);
            assertTrue(pair.b.receives.query().maxSegments() >= 4);
            ReceiveWorkRequest scattered =
                    ReceiveWorkRequest.allocate(pair.arena, 4).id(3);
            for (int i = 0; i < 4; i++) {
                scattered.add(pair.b.region, i * 100L, 2);
            }
            pair.b.receives.postReceive(scattered);
            pair.send(0, 0, "scatter");
            pair.b.await().is(CompletionOpcode.RECV, 3);
            MemorySegment memory = pair.b.region.memory();
            assertEquals('s', memory.get(ValueLayout.JAVA_BYTE, 0));
            assertEquals('c', memory.get(ValueLayout.JAVA_BYTE, 1));
            assertEquals('a', memory.get(ValueLayout.JAVA_BYTE, 100));
            assertEquals('r', memory.get(ValueLayout.JAVA_BYTE, 300));
        }
    }

    @Test
    void shouldRefuseReceivesOnItsQueuePairs() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC)) {
            QueuePair queuePair = pair.b.queuePairs.get(0);
            assertSame(pair.b.receives, queuePair.sharedReceiveQueue());
            ReceiveWorkRequest receive = pair.b.receive(0);
            IllegalStateException thrown =
                    assertThrows(IllegalStateException.class, () -> queuePair.postReceive(receive));
            assertTrue(thrown.getMessage().contains("SharedReceiveQueue.postReceive"), thrown::getMessage);
        }
    }

    @Test
    void shouldRefuseQueuesOfOtherContexts() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC)) {
            QueuePairOptions options =
                    new QueuePairOptions(QueuePairType.RC, pair.a.queue).sharedReceiveQueue(pair.b.receives);
            assertThrows(IllegalArgumentException.class, () -> pair.a.domain.createQueuePair(options));
            SharedReceiveQueueOptions tags = new SharedReceiveQueueOptions().tagMatching(1, 1, pair.b.queue);
            assertThrows(IllegalArgumentException.class, () -> pair.a.domain.createSharedReceiveQueue(tags));
            pair.b.receives.close();
            QueuePairOptions closed =
                    new QueuePairOptions(QueuePairType.RC, pair.b.queue).sharedReceiveQueue(pair.b.receives);
            assertThrows(IllegalStateException.class, () -> pair.b.domain.createQueuePair(closed));
        }
    }

    /** Soft-RoCE looks for regions in the protection domain of the queue pair, other devices in that of the queue. */
    @Test
    void shouldServeAQueuePairOfAnotherProtectionDomain() {
        LabDevices.assumeOurs("others look for the region in the protection domain of the shared receive queue");
        for (boolean ofQueuePair : new boolean[] {true, false}) {
            try (SharedReceivers pair = SharedReceivers.open()) {
                ProtectionDomain other = pair.b.context.allocateProtectionDomain();
                QueuePair sender = pair.a.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.a.queue));
                QueuePair receiver = other.createQueuePair(
                        new QueuePairOptions(QueuePairType.RC, pair.b.queue).sharedReceiveQueue(pair.b.receives));
                SharedReceivers.connect(sender, receiver, LabDevices.connectOptions());
                MemoryRegion region =
                        (ofQueuePair ? other : pair.b.domain).register(pair.arena.allocate(64), AccessFlag.LOCAL_WRITE);
                pair.b.receives.postReceive(
                        ReceiveWorkRequest.allocate(pair.arena, 1).add(region, 0, 64));
                sender.postSend(pair.a.send(0, "message"));
                CompletionStatus refused =
                        LabDevices.areSoftRoce() ? CompletionStatus.LOC_QP_OP_ERR : CompletionStatus.LOC_PROT_ERR;
                assertEquals(
                        ofQueuePair == LabDevices.areSoftRoce() ? CompletionStatus.SUCCESS : refused,
                        pair.b.await().status());
                pair.b.domain.close();
                assertFalse(receiver.isOpen(), "it uses a queue of that domain");
                assertTrue(other.isOpen());
            }
        }
    }

    @Test
    void shouldSayWhatTheDeviceAllows() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            int max = context.queryDevice().maxSharedReceiveWorkRequests();
            SharedReceiveQueueOptions options = new SharedReceiveQueueOptions().maxWorkRequests(max + 1);
            VerbsException thrown = assertThrows(VerbsException.class, () -> domain.createSharedReceiveQueue(options));
            assertEquals("ibv_create_srq", thrown.verb());
            assertTrue(thrown.getMessage().contains(max + " work requests"), thrown::getMessage);
        }
    }

    @Test
    void shouldBuildTheSameStructureAsC() throws Exception {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), () -> recording);
            recording.keepBytes("createSharedReceiveQueue", ibv_srq_init_attr.sizeof());
            ProtectionDomain domain = context.allocateProtectionDomain();
            SharedReceiveQueue queue = domain.createSharedReceiveQueue(
                    new SharedReceiveQueueOptions().maxWorkRequests(77).maxSegments(3));
            CStructs.assertSame("""
                    struct ibv_srq_init_attr x; memset(&x, 0, sizeof x);
                    x.attr.max_wr = 77; x.attr.max_sge = 3;
                    """, recording.bytesOf("createSharedReceiveQueue"));
            recording.keepBytes("modifySharedReceiveQueue", ibv_srq_attr.sizeof());
            queue.armLimit(5);
            CStructs.assertSame(
                    "struct ibv_srq_attr x; memset(&x, 0, sizeof x); x.srq_limit = 5;",
                    recording.bytesOf("modifySharedReceiveQueue"));
            queue.resize(300);
            CStructs.assertSame(
                    "struct ibv_srq_attr x; memset(&x, 0, sizeof x); x.max_wr = 300;",
                    recording.bytesOf("modifySharedReceiveQueue"));
        }
    }

    @Test
    void shouldWrapAQueueThatOthersMade() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC);
                Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_srq_init_attr.layout());
            ibv_srq_attr.max_wr(ibv_srq_init_attr.attr(attributes), 40);
            ibv_srq_attr.max_sge(ibv_srq_init_attr.attr(attributes), 2);
            long address =
                    pair.b.context.provider().createSharedReceiveQueue(pair.b.domain.address, attributes.address());
            assertTrue(address > 0);
            SharedReceiveQueue queue = SharedReceiveQueue.ofNativeAddress(pair.b.domain, address, Ownership.OWNED);
            assertEquals(address, queue.nativeAddress());
            assertTrue(queue.maxWorkRequests() >= 40);
            assertTrue(queue.maxSegments() >= 2);
            queue.postReceive(pair.b.receive(1));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> SharedReceiveQueue.ofNativeAddress(pair.b.domain, address, Ownership.OWNED));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> SharedReceiveQueue.ofNativeAddress(pair.b.domain, 0, Ownership.OWNED));
            queue.close();
        }
    }

    @Test
    void shouldKeepItsReceivesWhenAQueuePairFails() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC, QueuePairType.RC)) {
            pair.b.post(0, 4);
            pair.send(0, 0, "first");
            pair.receive(0, 0, "first");
            pair.b.queuePairs.get(0).modify(new QueuePairAttributes().state(QueuePairState.ERR));
            pair.b.queuePairs.get(0).close();
            assertTrue(pair.b.receives.isOpen());
            for (int i = 1; i < 4; i++) {
                pair.send(1, i, "message " + i);
                pair.receive(1, i, "message " + i);
            }
        }
    }

    @Test
    void shouldWaitWithoutReceivesUntilOneIsPosted() {
        try (SharedReceivers pair = SharedReceivers.of(QueuePairType.RC)
                .connect(LabDevices.connectOptions().rnrRetry(7))
                .open()) {
            QueuePair sender = pair.a.queuePairs.get(0);
            sender.postSend(pair.a.send(0, "patience"));
            pair.b.post(0, 1);
            pair.receive(0, 0, "patience");
            pair.a.await().is(CompletionOpcode.SEND, 0);
        }
    }

    /** Every order of closing these, with receives outstanding; what was closed with another is closed already. */
    @Test
    void shouldCloseInEveryOrderWithReceivesOutstanding() {
        List<List<Integer>> orders = new ArrayList<>();
        permute(new ArrayList<>(), Set.of(0, 1, 2, 3, 4), orders);
        assertEquals(120, orders.size());
        for (List<Integer> order : orders) {
            RecordingProvider recording = RecordingProvider.of(LabDevices.first());
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = Context.open(arena, LabDevices.first(), () -> recording);
                ProtectionDomain domain = context.allocateProtectionDomain();
                CompletionQueue queue = context.createCompletionQueue(16);
                SharedReceiveQueue receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
                QueuePair queuePair = domain.createQueuePair(
                        new QueuePairOptions(QueuePairType.UD, queue).sharedReceiveQueue(receives));
                MemoryRegion region = domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE);
                queuePair.localEndpoint(LabDevices.connectOptions());
                queuePair.activate();
                for (int i = 0; i < 5; i++) {
                    receives.postReceive(ReceiveWorkRequest.allocate(arena, 1).add(region, 0, 4096));
                }
                List<VerbsObject> objects = List.of(domain, queue, receives, queuePair, region);
                for (int index : order) {
                    objects.get(index).close();
                    assertFalse(objects.get(index).isOpen());
                }
                List<String> ended = recording.verbs().stream()
                        .filter(verb -> verb.startsWith("destroy") || verb.startsWith("de"))
                        .toList();
                assertEquals(5, ended.size(), () -> order + " gave " + ended);
                assertTrue(ended.indexOf("destroy_qp") < ended.indexOf("destroy_srq"), () -> order + " gave " + ended);
                assertFalse(recording.verbs().contains("post_recv"), "the queue pair has no receive queue");
            }
        }
    }

    private static void permute(List<Integer> begun, Set<Integer> rest, List<List<Integer>> all) {
        if (rest.isEmpty()) {
            all.add(List.copyOf(begun));
        }
        for (Integer next : rest) {
            List<Integer> longer = new ArrayList<>(begun);
            longer.add(next);
            Set<Integer> remaining = new HashSet<>(rest);
            remaining.remove(next);
            permute(longer, remaining, all);
        }
    }

    @Test
    void shouldEndAfterItsQueuePairsAndBeforeItsRegions() {
        RecordingProvider recording = RecordingProvider.of(LabDevices.second());
        SharedReceivers pair = SharedReceivers.of(QueuePairType.RC, QueuePairType.UD, QueuePairType.RC)
                .through(() -> recording)
                .open();
        pair.b.post(0, 20);
        Bound bound = Bound.ofSeconds(2);
        pair.close();
        bound.check("there is nothing to wait for");
        List<String> verbs = recording.verbs();
        assertFalse(verbs.contains("post_recv"), "no marker can be posted where there is no receive queue");
        assertTrue(verbs.lastIndexOf("destroy_qp") < verbs.indexOf("destroy_srq"), verbs::toString);
        assertTrue(verbs.lastIndexOf("destroy_srq") < verbs.indexOf("dereg_mr"), verbs::toString);
    }

    @Test
    void shouldCloseWhilePeersSend() throws Exception {
        for (boolean whole : new boolean[] {false, true}) {
            try (SharedReceivers pair = SharedReceivers.of(QueuePairType.RC, QueuePairType.RC)
                    .in(VerbsArena.ofShared())
                    .open()) {
                pair.b.post(0, 100);
                AtomicReference<Throwable> failure = new AtomicReference<>();
                SendWorkRequest first = pair.a.send(200, "message");
                SendWorkRequest second = pair.a.send(201, "message");
                Thread sender = new Thread(() -> {
                    try {
                        for (int i = 0; i < 50; i++) {
                            pair.a.queuePairs.get(0).tryPostSend(first);
                            pair.a.queuePairs.get(1).tryPostSend(second);
                            pair.a.poll();
                        }
                    } catch (Throwable e) {
                        failure.set(e);
                    }
                });
                sender.start();
                Bound.usual().spin("nothing arrives", () -> !pair.b.poll().isEmpty());
                if (whole) {
                    pair.b.context.close();
                } else {
                    pair.b.receives.close();
                    pair.b.queuePairs.forEach(queuePair -> assertFalse(queuePair.isOpen()));
                }
                byte[] seen = pair.b.region.memory().toArray(ValueLayout.JAVA_BYTE);
                sender.join();
                assertNull(failure.get());
                assertEquals(
                        -1,
                        MemorySegment.ofArray(seen).mismatch(pair.b.region.memory()),
                        "nothing is written to memory once the queue is closed");
            }
        }
    }

    @Test
    void shouldBePostedToByManyThreads() throws Exception {
        try (SharedReceivers pair = SharedReceivers.of(QueuePairType.RC, QueuePairType.RC)
                .in(VerbsArena.ofShared())
                .options(new SharedReceiveQueueOptions().maxWorkRequests(400))
                .open()) {
            List<Thread> threads = new ArrayList<>();
            AtomicReference<Throwable> failure = new AtomicReference<>();
            for (int i = 0; i < 4; i++) {
                int from = i * 50;
                Thread thread = new Thread(() -> {
                    try {
                        pair.b.post(from, from + 50);
                    } catch (Throwable e) {
                        failure.set(e);
                    }
                });
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertNull(failure.get());
            Set<Long> slots = new HashSet<>();
            for (int i = 0; i < 200; i++) {
                pair.send(i % 2, 300, "message " + i);
                Completion received = pair.b.await();
                assertEquals(CompletionStatus.SUCCESS, received.status(), received.text());
                assertEquals("message " + i, pair.b.slot((int) received.id()).getString(0));
                slots.add(received.id());
            }
            assertEquals(200, slots.size(), "every receive was used once");
        }
    }

    /** Events that Soft-RoCE does not send: they are told as the driver tells them. */
    @Test
    void shouldNameTheSourceOfAnEvent() throws Exception {
        EventProvider events = new EventProvider(RecordingProvider.of(LabDevices.second()));
        try (SharedReceivers pair =
                SharedReceivers.of(QueuePairType.RC).through(() -> events).open()) {
            events.next(AsyncEventType.SRQ_ERR, pair.b.receives.nativeAddress());
            AsyncEvent error = pair.b.context.awaitAsyncEvent(LONG).orElseThrow();
            assertEquals(AsyncEventType.SRQ_ERR, error.type());
            assertSame(pair.b.receives, error.source());
            assertEquals(1, events.acknowledged);

            events.next(
                    AsyncEventType.QP_LAST_WQE_REACHED, pair.b.queuePairs.get(0).nativeAddress());
            AsyncEvent last = pair.b.context.awaitAsyncEvent(LONG).orElseThrow();
            assertEquals(AsyncEventType.QP_LAST_WQE_REACHED, last.type());
            assertSame(pair.b.queuePairs.get(0), last.source());

            WorkQueue workQueue = WorkQueue.ofNativeAddress(
                    pair.b.domain,
                    new WorkQueueOptions(pair.b.queue),
                    pair.arena.allocate(1024, 8).address(),
                    Ownership.BORROWED);
            events.next(AsyncEventType.WQ_FATAL, workQueue.nativeAddress());
            AsyncEvent fatal = pair.b.context.awaitAsyncEvent(LONG).orElseThrow();
            assertEquals(AsyncEventType.WQ_FATAL, fatal.type());
            assertSame(workQueue, fatal.source());
            assertEquals(3, events.acknowledged);

            // An object that other code has made.
            events.next(AsyncEventType.QP_FATAL, pair.arena.allocate(1024, 8).address());
            AsyncEvent foreign = pair.b.context.awaitAsyncEvent(LONG).orElseThrow();
            assertEquals(new AsyncEvent(AsyncEventType.QP_FATAL, 0, pair.b.context), foreign);
        }
    }

    /** Makes up events. */
    private static final class EventProvider extends RecordingProvider {
        private AsyncEventType type;
        private long source;
        private int acknowledged;

        EventProvider(RecordingProvider real) {
            super(real);
        }

        void next(AsyncEventType nextType, long nextSource) {
            type = nextType;
            source = nextSource;
        }

        @Override
        public int getAsyncEvent(long event) {
            MemorySegment struct = Native.struct(event, ibv_async_event.layout());
            ibv_async_event.event_type(struct, type.code());
            ibv_async_event.element.srq(ibv_async_event.element(struct), MemorySegment.ofAddress(source));
            return 1;
        }

        @Override
        public void ackAsyncEvent(long event) {
            acknowledged++;
        }
    }
}
