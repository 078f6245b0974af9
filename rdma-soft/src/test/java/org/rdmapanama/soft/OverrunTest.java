package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.EventSource;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;

/** A completion queue that is too small: the program learns that completions are lost, and nothing goes on without them. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OverrunTest {
    private static final int HALF = SoftPair.BYTES / 2;
    private static final int SMALL = 2;

    /** More than a queue of this size holds. */
    private static final int MANY = 16;

    /** Two connected queue pairs, of which one completes in a small queue, and another one that shares this queue. */
    private static final class Small implements AutoCloseable {
        private final SoftPair pair;
        private final CompletionQueue queue;
        private final QueuePair one;
        private final QueuePair other;
        private final QueuePair peer;

        Small(boolean wire) {
            pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", Boolean.toString(wire));
            queue = pair.context.createCompletionQueue(SMALL);
            one = queuePair(queue);
            other = queuePair(queue);
            peer = queuePair(pair.context.createCompletionQueue(MANY));
            connect();
            other.connect(other.localEndpoint());
        }

        private QueuePair queuePair(CompletionQueue completions) {
            return pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, completions)
                    .maxSendWorkRequests(MANY)
                    .maxReceiveWorkRequests(MANY));
        }

        private void connect() {
            one.connect(peer.localEndpoint());
            peer.connect(one.localEndpoint());
        }

        SendWorkRequest write(int id) {
            return pair.request()
                    .id(id)
                    .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                    .add(pair.region, 0, 8);
        }

        void postMany() {
            for (int i = 0; i < MANY; i++) {
                one.postSend(write(i));
            }
        }

        /** Waits for the events of an overrun, in any order. */
        void awaitEvents() throws InterruptedException {
            Set<EventSource> failed = new HashSet<>();
            boolean told = false;
            while (!told || failed.size() < 2) {
                AsyncEvent event = pair.context.awaitAsyncEvent(SoftPair.LIMIT).orElseThrow();
                if (event.type() == AsyncEventType.CQ_ERR) {
                    assertEquals(queue, event.source());
                    told = true;
                } else {
                    assertEquals(AsyncEventType.QP_FATAL, event.type());
                    failed.add(event.source());
                }
            }
            assertEquals(Set.of(one, other), failed);
        }

        @Override
        public void close() {
            pair.close();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndWhatCompletesThere(boolean wire) throws InterruptedException {
        try (Small small = new Small(wire)) {
            small.postMany();
            small.awaitEvents();
            assertEquals(QueuePairState.ERR, small.one.query().state());
            assertEquals(QueuePairState.ERR, small.other.query().state());
            assertEquals(
                    AsyncEventType.QP_FATAL,
                    small.one.failure().orElseThrow().event().orElseThrow());
            // Others do not notice.
            small.pair.complete(small.write(1));
        }
    }

    @Test
    void shouldKeepWhatFitted() throws InterruptedException {
        try (Small small = new Small(false)) {
            small.postMany();
            small.awaitEvents();
            WorkCompletions completions = new WorkCompletions(small.pair.arena, MANY);
            int count = small.queue.poll(completions);
            assertTrue(count >= SMALL && count < MANY, () -> count + " completions");
            for (int i = 0; i < count; i++) {
                assertEquals(i, completions.id(i));
                assertEquals(CompletionStatus.SUCCESS, completions.status(i));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndAReceiverThatDoesNotPoll(boolean wire) throws InterruptedException {
        try (Small small = new Small(wire)) {
            for (int i = 0; i < MANY; i++) {
                small.one.postReceive(
                        ReceiveWorkRequest.allocate(small.pair.arena, 1).add(small.pair.region, HALF, 8));
            }
            for (int i = 0; i < MANY; i++) {
                small.peer.postSend(small.pair.request().send().add(small.pair.region, 0, 8));
            }
            small.awaitEvents();
            assertEquals(QueuePairState.ERR, small.one.query().state());
        }
    }

    /** The queue of a queue pair that has been reset serves it again. */
    @Test
    void shouldBeginAnewAfterAReset() throws InterruptedException {
        try (Small small = new Small(false)) {
            small.postMany();
            small.awaitEvents();
            WorkCompletions completions = new WorkCompletions(small.pair.arena, MANY);
            assertTrue(small.queue.poll(completions) > 0);
            for (QueuePair each : new QueuePair[] {small.one, small.peer}) {
                each.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            }
            small.connect();
            small.one.postSend(small.write(77));
            Bound.usual().spin("no completion came", () -> small.queue.poll(completions) > 0);
            assertEquals(77, completions.id(0));
            assertEquals(CompletionStatus.SUCCESS, completions.status(0));
        }
    }
}
