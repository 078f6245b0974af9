package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceivers;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;

/** The cases of SrqTestCase in rdma-core's test_srq.py that Soft-RoCE passes, under their names. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteSrqLabTest {
    private static final int ITERATIONS = 100;

    /** Two queue pairs on each side; each message is answered over the same one. */
    @Test
    @Shows({"ibv_create_srq", "ibv_post_srq_recv", "ibv_destroy_srq"})
    void test_rc_srq_traffic() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC, QueuePairType.RC)) {
            pair.a.post(0, 2);
            pair.b.post(0, 2);
            for (int i = 0; i < ITERATIONS; i++) {
                for (int queuePair = 0; queuePair < 2; queuePair++) {
                    exchange(pair.a, pair.b, queuePair, "question " + i);
                    exchange(pair.b, pair.a, queuePair, "answer " + i);
                }
            }
        }
    }

    private static void exchange(SharedReceivers.Peer from, SharedReceivers.Peer to, int queuePair, String text) {
        SendWorkRequest send = from.send(10, text);
        from.queuePairs.get(queuePair).postSend(send);
        from.await().is(CompletionOpcode.SEND, 10);
        Completion received = to.await();
        assertEquals(CompletionOpcode.RECV, received.opcode());
        assertEquals(to.queuePairs.get(queuePair).number(), received.queuePair());
        int slot = (int) received.id();
        assertEquals(text, to.slot(slot).getString(0));
        to.slot(slot).fill((byte) 0);
        to.post(slot, slot + 1);
    }

    @Test
    @Shows({"ibv_modify_srq", "ibv_query_srq"})
    void test_resize_srq() {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC)) {
            int before = pair.b.receives.query().maxWorkRequests();
            int wanted = Math.min(pair.b.context.queryDevice().maxSharedReceiveWorkRequests(), before * 2);
            assertTrue(wanted > before, "there is room for more");
            pair.b.receives.resize(wanted);
            assertTrue(pair.b.receives.query().maxWorkRequests() >= wanted);
            assertTrue(pair.b.receives.maxWorkRequests() >= wanted);
        }
    }

    @Test
    @Shows({"ibv_modify_srq", "ibv_query_srq", "ibv_get_async_event", "ibv_ack_async_event"})
    void test_modify_srq_limit() throws Exception {
        try (SharedReceivers pair = SharedReceivers.open(QueuePairType.RC, QueuePairType.RC)) {
            pair.b.post(0, 10);
            pair.b.receives.armLimit(7);
            assertEquals(7, pair.b.receives.query().limit());
            for (int i = 0; i < 4; i++) {
                pair.send(0, i, "message " + i);
                pair.receive(0, i, "message " + i);
            }
            AsyncEvent event =
                    pair.b.context.awaitAsyncEvent(Duration.ofSeconds(10)).orElseThrow();
            assertEquals(AsyncEventType.SRQ_LIMIT_REACHED, event.type());
            assertSame(pair.b.receives, event.source());
        }
    }
}
