package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** A queue pair that has failed says so, and why, however many completions are flushed afterwards. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FirstFailureLabTest {
    private static void assertContains(String text, String part) {
        assertTrue(text.contains(part), () -> "no '" + part + "' in: " + text);
    }

    /** A write with a wrong key, and two requests behind it that are flushed. */
    private static SendWorkRequest bad(ConnectedPair pair) {
        SendWorkRequest flushed =
                pair.writeToB(2, 0, 8).next(pair.a.request(3, 0, 8).send());
        return pair.a
                .request(1, 0, 8)
                .rdmaWrite(pair.b.region.address(), pair.b.region.rkey() ^ 0xff00)
                .next(flushed);
    }

    private static void assertFailed(ConnectedPair pair) {
        QueuePair queuePair = pair.a.queuePair;
        assertEquals(QueuePairState.ERR, queuePair.state());
        QueuePairFailure failure = queuePair.failure().orElseThrow();
        assertTrue(failure.isCauseKnown());
        assertEquals(CompletionStatus.REM_ACCESS_ERR, failure.status());
        assertEquals(1, failure.workRequestId());
        assertTrue(failure.event().isEmpty());
        String text = failure.toString();
        assertContains(text, "REM_ACCESS_ERR (");
        assertContains(text, "of an RDMA write, read or atomic on queue pair 0x%06x".formatted(queuePair.number()));
        assertContains(text, " to queue pair 0x%06x at ".formatted(pair.b.queuePair.number()));
        assertContains(text, "check the address, the length and the rkey");
    }

    @Test
    void shouldTellTheFirstCause() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            assertTrue(pair.a.queuePair.failure().isEmpty());
            pair.a.post(bad(pair));
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 1);
            for (int i = 1; i <= 3; i++) {
                Bound.usual().spin("no completion", () -> pair.a.queue.poll(completions) > 0);
                assertEquals(i, completions.id(0));
                assertFailed(pair);
                FailedCompletionException failed =
                        assertThrows(FailedCompletionException.class, () -> completions.check(0));
                assertEquals(completions.status(0), failed.status());
                assertEquals(i, failed.workRequestId());
                assertEquals(completions.describe(0), failed.getMessage());
                // Those that are flushed name what failed.
                assertContains(failed.getMessage(), "work request 1; check the address");
            }
            assertContains(completions.toString(), "the first failure was: REM_ACCESS_ERR");
            pair.a.queuePair.close();
            assertEquals(
                    CompletionStatus.REM_ACCESS_ERR,
                    pair.a.queuePair.failure().orElseThrow().status(),
                    "also afterwards");
        }
    }

    @Test
    void shouldSaySoWhenNoCompletionTellsTheCause() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.postReceive(5, 0, 8);
            pair.a.post(bad(pair));
            pair.a.await(3);
            assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.b.await().status());
            QueuePairFailure failure = pair.b.queuePair.failure().orElseThrow();
            assertFalse(failure.isCauseKnown());
            assertEquals(CompletionStatus.WR_FLUSH_ERR, failure.status());
            assertEquals(5, failure.workRequestId());
            assertContains(failure.toString(), "the peer made a request that is not allowed");
            assertEquals(QueuePairState.ERR, pair.b.queuePair.state());
        }
    }

    /** When the completion that is flushed is polled. */
    private enum Flushed {
        NONE,
        BEFORE_THE_EVENT,
        AFTER_THE_EVENT
    }

    private static AsyncEvent nextEvent(Context context) throws InterruptedException {
        return context.awaitAsyncEvent(Duration.ofSeconds(10)).orElseThrow();
    }

    private static void assertFailedBy(AsyncEventType type, QueuePair queuePair, QueuePair peer, String cause) {
        assertEquals(QueuePairState.ERR, queuePair.state());
        QueuePairFailure failure = queuePair.failure().orElseThrow();
        assertTrue(failure.isCauseKnown());
        assertEquals(type, failure.event().orElseThrow());
        String text = failure.toString();
        assertContains(text, type + " on " + queuePair);
        assertContains(text, " to queue pair 0x%06x at ".formatted(peer.number()));
        assertContains(text, cause);
    }

    @ParameterizedTest
    @EnumSource
    void shouldTellOfAnAsynchronousErrorAsTheFirstCause(Flushed flushed) throws InterruptedException {
        assumeFalse(LabDevices.areSoftRoce(), "Soft-RoCE has no event for it");
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            QueuePair queuePair = pair.b.queuePair;
            if (flushed != Flushed.NONE) {
                pair.b.postReceive(5, 0, 8);
            }
            pair.a.post(bad(pair));
            pair.a.await(3);
            if (flushed == Flushed.BEFORE_THE_EVENT) {
                assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.b.await().status());
                assertFalse(queuePair.failure().orElseThrow().isCauseKnown(), "so far");
            }
            AsyncEvent event = nextEvent(pair.b.context);
            assertEquals(AsyncEventType.QP_ACCESS_ERR, event.type());
            assertSame(queuePair, event.source());
            if (flushed == Flushed.AFTER_THE_EVENT) {
                assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.b.await().status());
            }
            String cause = "the peer made a request that violates access rights";
            assertFailedBy(AsyncEventType.QP_ACCESS_ERR, queuePair, pair.a.queuePair, cause);
        }
    }

    @Test
    void shouldTellOfAnInvalidRequestAsTheFirstCause() throws InterruptedException {
        assumeFalse(LabDevices.areSoftRoce(), "Soft-RoCE has no event for it");
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.queuePair.modify(new QueuePairAttributes().accessFlags(Set.of()));
            pair.a.post(pair.writeToB(1, 0, 8));
            assertEquals(CompletionStatus.REM_INV_REQ_ERR, pair.a.await().status());
            AsyncEvent event = nextEvent(pair.b.context);
            assertEquals(AsyncEventType.QP_REQ_ERR, event.type());
            String cause = "the peer made an invalid request";
            assertFailedBy(AsyncEventType.QP_REQ_ERR, pair.b.queuePair, pair.a.queuePair, cause);
        }
    }

    /** A queue that is too small for what completes there. */
    @Test
    void shouldTellOfAnOverrunAsTheFirstCause() throws InterruptedException {
        assumeFalse(LabDevices.areSoftRoce(), "Soft-RoCE has no event for the queue pair");
        int many = 64;
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .queueEntries(1)
                .queues(many, 1)
                .open()) {
            int entries = pair.a.queue.entries();
            assertTrue(entries < many / 2, () -> "the queue has room for " + entries);
            for (int i = 0; i < many; i++) {
                pair.a.post(pair.writeToB(i, 0, 8));
            }
            AsyncEventType type = nextEvent(pair.a.context).type();
            if (type == AsyncEventType.CQ_ERR) {
                type = nextEvent(pair.a.context).type();
            }
            assertEquals(AsyncEventType.QP_FATAL, type);
            String cause = "it does so when a completion queue overruns";
            assertFailedBy(AsyncEventType.QP_FATAL, pair.a.queuePair, pair.b.queuePair, cause);
        }
    }

    @Test
    void shouldTellTheFirstCauseFromAnExtendedQueue() {
        // Without the number it must be the queue's only queue pair.
        for (CompletionField[] fields : new CompletionField[][] {{CompletionField.QP_NUM}, {}}) {
            try (ConnectedPair pair =
                    ConnectedPair.of(QueuePairType.RC).extended(fields).open()) {
                pair.a.post(bad(pair));
                try (PollCursor cursor = pair.a.awaitBatch()) {
                    assertFailed(pair);
                    FailedCompletionException failed = assertThrows(FailedCompletionException.class, cursor::check);
                    assertEquals(cursor.describe(), failed.getMessage());
                    assertEquals(pair.a.queuePair.failure().orElseThrow().toString(), failed.getMessage());
                    pair.a.awaitNext();
                    assertEquals(CompletionStatus.WR_FLUSH_ERR, cursor.status());
                    assertContains(cursor.describe(), "the first failure was: REM_ACCESS_ERR");
                    pair.a.awaitNext();
                }
                assertFailed(pair);
            }
        }
    }

    @Test
    void shouldNotCallItAFailureWhenThisSideEnds() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.postReceive(5, 0, 8);
            pair.b.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.b.await().status());
            assertTrue(pair.b.queuePair.failure().isEmpty());
            assertEquals(QueuePairState.ERR, pair.b.queuePair.state());
        }
    }

    /** The queue pair is in state ERR before the verb returns. */
    @Test
    void shouldNotCallItAFailureWhenAnotherThreadPollsDuringTheEnd() {
        List<Runnable> during = new ArrayList<>();
        RecordingProvider provider = new RecordingProvider(RecordingProvider.of(LabDevices.first())) {
            @Override
            public int modifyQueuePair(long queuePair, long attributes, int mask) {
                int result = super.modifyQueuePair(queuePair, attributes, mask);
                during.forEach(Runnable::run);
                return result;
            }
        };
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .through(arena -> Context.open(arena, LabDevices.first(), () -> provider))
                .open()) {
            QueuePairAttributes error = new QueuePairAttributes().state(QueuePairState.ERR);
            pair.a.postReceive(5, 0, 8);
            during.add(() ->
                    assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.a.await().status()));
            pair.a.queuePair.modify(error);
            during.clear();
            assertTrue(pair.a.queuePair.failure().isEmpty());
        }
    }

    /** A verb that failed has ended nothing: what fails afterwards is a failure. */
    @Test
    void shouldCallItAFailureAfterAnEndThatFailed() {
        RecordingProvider provider = new RecordingProvider(RecordingProvider.of(LabDevices.first()));
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .through(arena -> Context.open(arena, LabDevices.first(), () -> provider))
                .open()) {
            provider.failOnce("modify_qp", Errno.EBUSY);
            QueuePairAttributes error = new QueuePairAttributes().state(QueuePairState.ERR);
            assertThrows(VerbsException.class, () -> pair.a.queuePair.modify(error));
            pair.a.post(bad(pair));
            pair.a.await(3);
            assertFailed(pair);
        }
    }

    @Test
    void shouldForgetTheFailureWithAReset() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.a.post(bad(pair));
            pair.a.await(3);
            assertFailed(pair);
            pair.a.awaitState(QueuePairState.ERR);
            pair.a.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
            assertEquals(QueuePairState.RESET, pair.a.queuePair.state());
            assertTrue(pair.a.queuePair.failure().isEmpty());
        }
    }

    @Test
    void shouldPassACheckOfSuccess() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .extended(CompletionField.QP_NUM)
                .open()) {
            pair.a.post(pair.writeToB(1, 0, 8));
            try (PollCursor cursor = pair.a.awaitBatch()) {
                cursor.check();
            }
            pair.a.post(pair.writeToB(2, 0, 8));
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 1);
            Bound.usual().spin("no completion", () -> pair.a.queue.poll(completions) > 0);
            completions.check(0);
            assertTrue(pair.a.queuePair.failure().isEmpty());
        }
    }
}
