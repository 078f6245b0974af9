package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.Side;

/** The cases of CqEventsTestCase of rdma-core's own suite: traffic whose completions are slept for. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteCqEventsLabTest {
    @Test
    @Shows({"ibv_req_notify_cq", "ibv_get_cq_event", "ibv_ack_cq_events"})
    void test_cq_events_ud() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD)) {
            SuiteTraffic.run(pair, SuiteCqEventsLabTest::sleepFor);
        }
    }

    @Test
    @Shows({"ibv_req_notify_cq", "ibv_get_cq_event", "ibv_ack_cq_events"})
    void test_cq_events_rc() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            SuiteTraffic.run(pair, SuiteCqEventsLabTest::sleepFor);
        }
    }

    /** Asks, looks, and sleeps when there is nothing yet. */
    private static Completion sleepFor(Side side) throws InterruptedException {
        side.queue.requestNotification(false);
        List<Completion> found = side.poll();
        while (found.isEmpty()) {
            assertSame(side.queue, side.channel.await(Duration.ofSeconds(10)), "no event came");
            // Asked again before looking: what came in between is told.
            side.queue.requestNotification(false);
            found = side.poll();
        }
        assertEquals(1, found.size(), found::toString);
        return found.get(0);
    }
}
