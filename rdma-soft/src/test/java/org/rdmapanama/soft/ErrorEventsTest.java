package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/** The asynchronous events of a queue pair that fails, each of which comes once. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ErrorEventsTest {
    private static final Duration SHORT = Duration.ofMillis(100);

    private static SoftPair pair() {
        return new SoftPair(QueuePairType.RC, new ConnectOptions());
    }

    /** The next event must be this one. */
    private static void assertNext(Context context, AsyncEventType type, QueuePair source) throws InterruptedException {
        AsyncEvent event = context.awaitAsyncEvent(SoftPair.LIMIT).orElseThrow();
        assertEquals(type, event.type());
        assertSame(source, event.source());
    }

    private static void assertNoMore(Context context) throws InterruptedException {
        assertEquals(Optional.empty(), context.awaitAsyncEvent(SHORT));
    }

    @Test
    void shouldTellOnceThatTheLastReceiveIsTaken() throws InterruptedException {
        try (SoftPair pair = pair()) {
            QueuePair sharing = pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.queue)
                    .sharedReceiveQueue(
                            pair.domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(4))));
            sharing.connect(sharing.localEndpoint());
            SoftDevice device =
                    SoftDevice.contextAt(pair.context.nativeAddress()).device();
            sharing.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            sharing.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            device.lock();
            try {
                // As for a fault that is found twice.
                device.queuePairs.get(sharing.number()).fail();
            } finally {
                device.unlock();
            }
            assertNext(pair.context, AsyncEventType.QP_LAST_WQE_REACHED, sharing);
            assertNoMore(pair.context);
        }
    }
}
