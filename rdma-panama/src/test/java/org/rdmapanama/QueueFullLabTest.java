package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** What posting says of a full queue: an exception that names queue, size and cure, or a constant. */
@Tag("lab")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class QueueFullLabTest {
    private VerbsArena arena;
    private Context context;
    private ProtectionDomain domain;
    private CompletionQueue queue;

    /** All of its queues are full. */
    private static final class Full extends RecordingProvider {
        Full() {
            super(RecordingProvider.of(LabDevices.first()));
        }

        private static int full(long request, long bad) {
            Native.struct(bad, ValueLayout.JAVA_LONG).set(ValueLayout.JAVA_LONG, 0, request);
            return QueuePair.QUEUE_FULL;
        }

        @Override
        public int postSharedReceive(long queue, long request, long bad) {
            return full(request, bad);
        }

        @Override
        public int postWorkQueueReceive(long queue, long request, long bad) {
            return full(request, bad);
        }

        @Override
        public int postSharedOperations(long queue, long operation, long bad) {
            return full(operation, bad);
        }

        @Override
        public int bindMemoryWindow(long queuePair, long window, long binding) {
            return QueuePair.QUEUE_FULL;
        }
    }

    @BeforeEach
    void open() {
        LabDevices.assumeOurs("it may have what this calls with memory that is no object");
        arena = VerbsArena.ofShared();
        context = Context.open(arena, LabDevices.first(), Full::new);
        domain = context.allocateProtectionDomain();
        queue = context.createCompletionQueue(16);
    }

    @AfterEach
    void close() {
        if (arena != null) {
            arena.close();
        }
    }

    private static QueueFullException full(String verb, int capacity, Executable posting) {
        QueueFullException thrown = assertThrows(QueueFullException.class, posting);
        assertEquals(verb, thrown.verb());
        assertEquals("ENOMEM", thrown.errnoName());
        assertEquals(capacity, thrown.capacity());
        assertNotNull(thrown.cure());
        assertEquals(
                verb + " failed (ENOMEM): the " + thrown.arguments() + " is full: it holds " + capacity
                        + " work requests",
                thrown.getMessage().replaceFirst("( and \\d+ tags)?; .*", ""));
        return thrown;
    }

    private static void assertSays(QueueFullException thrown, Object queue, String cure) {
        assertEquals(queue, thrown.arguments());
        assertTrue(thrown.getMessage().endsWith(cure), thrown::getMessage);
    }

    @Test
    void shouldSayThatAQueuePairIsFull() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).queues(4, 4).open()) {
            QueuePair queuePair = pair.a.queuePair;
            SendWorkRequest sends = null;
            ReceiveWorkRequest receives = null;
            for (int i = 100; i > 0; i--) {
                sends = pair.a.request(i, 0, 8).send().next(sends);
                receives = pair.a.receiveRequest(i, 0, 8).next(receives);
            }
            SendWorkRequest send = sends;
            ReceiveWorkRequest receive = receives;
            assertSays(
                    full(
                            "ibv_post_send",
                            queuePair.capabilities().maxSendWorkRequests(),
                            () -> queuePair.postSend(send)),
                    "send queue of " + queuePair,
                    "; poll for completions, then post again, or use QueuePair.tryPostSend");
            assertTrue(queuePair.firstNotSent(send).id() > 4);
            assertSays(
                    full(
                            "ibv_post_recv",
                            queuePair.capabilities().maxReceiveWorkRequests(),
                            () -> queuePair.postReceive(receive)),
                    "receive queue of " + queuePair,
                    "; wait for messages, then post again, or use QueuePair.tryPostReceive");
            assertTrue(queuePair.firstNotReceiving(receive).id() > 4);
        }
    }

    @Test
    void shouldSayThatABatchDoesNotFit() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .queues(4, 4)
                .extended(SendOperation.SEND)
                .open()) {
            WorkRequestBuilder batch = pair.a.batch();
            for (int i = 0; i <= 100; i++) {
                batch.send().add(pair.a.region, 0, 8);
            }
            assertSays(
                    full("ibv_wr_complete", pair.a.queuePair.capabilities().maxSendWorkRequests(), batch::complete),
                    "send queue of " + pair.a.queuePair,
                    "; poll for completions, then post again, or use WorkRequestBuilder.tryComplete");
            // The batch has ended.
            pair.a.batch().abort();
        }
    }

    @Test
    void shouldSayThatASharedReceiveQueueIsFull() {
        SharedReceiveQueue receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
        ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 0);
        assertEquals(QueuePair.QUEUE_FULL, receives.tryPostReceive(receive));
        assertSays(
                full("ibv_post_srq_recv", receives.maxWorkRequests(), () -> receives.postReceive(receive)),
                receives.toString(),
                "; wait for messages, then post again, or use SharedReceiveQueue.tryPostReceive");
        assertEquals(receive, receives.firstNotReceiving(receive));

        TagOperation operation = TagOperation.allocate(arena, 0).deleteTag(1);
        assertEquals(QueuePair.QUEUE_FULL, receives.tryPostTagOperation(operation));
        assertSays(
                full("ibv_post_srq_ops", receives.maxWorkRequests(), () -> receives.postTagOperation(operation)),
                receives.toString(),
                " or delete tags, then post again, or use SharedReceiveQueue.tryPostTagOperation");
        assertEquals(operation, receives.firstNotOperated(operation));
    }

    @Test
    void shouldSayThatAWorkQueueIsFull() {
        long address = arena.allocate(1024, 8).address();
        WorkQueue receives = WorkQueue.ofNativeAddress(
                domain, new WorkQueueOptions(queue).maxWorkRequests(7), address, Ownership.BORROWED);
        ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 0);
        assertEquals(QueuePair.QUEUE_FULL, receives.tryPostReceive(receive));
        assertSays(
                full("ibv_post_wq_recv", 7, () -> receives.postReceive(receive)),
                receives.toString(),
                "; wait for messages, then post again, or use WorkQueue.tryPostReceive");
        assertEquals(receive, receives.firstNotReceiving(receive));
    }

    @Test
    void shouldSayThatABindingDoesNotFit() {
        MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
        MemoryWindow window = domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
        MemoryWindowBinding part = new MemoryWindowBinding(region, 0, 8, AccessFlag.REMOTE_READ);
        QueuePair queuePair = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
        queuePair.localEndpoint(LabDevices.connectOptions());
        queuePair.connect(queuePair.localEndpoint());
        int rkey = window.rkey();
        assertEquals(QueuePair.QUEUE_FULL, queuePair.tryBind(window, part, 1, true));
        assertSays(
                full(
                        "ibv_bind_mw",
                        queuePair.capabilities().maxSendWorkRequests(),
                        () -> queuePair.bind(window, part, 1, true)),
                "send queue of " + queuePair,
                "; poll for completions, then post again, or use QueuePair.tryBind");
        assertEquals(rkey, window.rkey());
    }
}
