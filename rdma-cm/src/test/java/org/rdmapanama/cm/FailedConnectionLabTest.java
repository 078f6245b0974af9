package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.QueuePairFailure;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.LabDevices;

/** A connection whose queue pair has failed looks failed, and says why. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are only there
class FailedConnectionLabTest {
    private static final int PORT = 7581;

    private static SendWorkRequest badWrite(Pair.End from, Pair.End to) {
        return from.request(1, 0, 8).rdmaWrite(to.region.address(), to.region.rkey() ^ 0xff00);
    }

    @Test
    void shouldTellTheFirstCauseThoughAFlushedCompletionIsPolledFirst() throws Exception {
        try (Pair pair = new Pair(LabWire.ROCE, PORT, options -> {})) {
            RdmaConnection left = pair.left.connection;
            CompletableFuture<Boolean> waiting = Async.start(() -> left.awaitDisconnect(Lab.SECONDS));
            pair.left.post(pair.left.receiveRequest(7, 0, 8));
            pair.left.post(badWrite(pair.left, pair.right));
            assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.left.received(7));
            assertFalse(left.failure().orElseThrow().isCauseKnown());
            assertTrue(Async.get(waiting), "a thread that waits learns of it");
            assertFalse(left.isConnected());

            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.left.sent(1));
            QueuePairFailure failure = left.failure().orElseThrow();
            assertEquals(CompletionStatus.REM_ACCESS_ERR, failure.status());
            String peer = " to " + LabWire.ROCE.second(PORT).getHostString() + ":" + PORT + " (queue pair ";
            assertTrue(failure.toString().contains(peer), failure::toString);
            assertFalse(left.isConnected());
            assertTrue(left.awaitDisconnect(Duration.ZERO));
            assertEquals(QueuePairState.ERR, left.queuePair().state());

            // The peer has failed as well, which nothing has told it, and learns of the end.
            CompletableFuture<Boolean> answering =
                    Async.start(() -> pair.right.connection.awaitDisconnect(Lab.SECONDS));
            left.disconnect(Lab.SECONDS);
            assertTrue(Async.get(answering));
            assertEquals(
                    CompletionStatus.REM_ACCESS_ERR,
                    left.failure().orElseThrow().status());
        }
    }

    /** No completion tells this side, which has posted nothing: an asynchronous event does. */
    @Test
    void shouldFailByAnAsynchronousEvent() throws Exception {
        assumeFalse(LabDevices.areSoftRoce(), "Soft-RoCE has no event for it");
        try (Pair pair = new Pair(LabWire.ROCE, PORT + 2, options -> {})) {
            RdmaConnection right = pair.right.connection;
            CompletableFuture<Boolean> waiting = Async.start(() -> right.awaitDisconnect(Lab.SECONDS));
            pair.left.post(badWrite(pair.left, pair.right));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.left.sent(1));
            AsyncEvent event =
                    right.queuePair().context().awaitAsyncEvent(Lab.SECONDS).orElseThrow();
            assertEquals(AsyncEventType.QP_ACCESS_ERR, event.type());
            assertTrue(Async.get(waiting), "a thread that waits learns of it");
            assertFalse(right.isConnected());
            QueuePairFailure failure = right.failure().orElseThrow();
            assertEquals(AsyncEventType.QP_ACCESS_ERR, failure.event().orElseThrow());
            assertTrue(
                    failure.toString().contains(" to " + LabWire.ROCE.first(0).getHostString()), failure::toString);
        }
    }

    @Test
    void shouldTellTheServerOfAFailureOnce() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT + 1))) {
            CompletableFuture<RdmaConnection> accepting =
                    Async.start(() -> server.accept(Lab.SECONDS).orElseThrow());
            RdmaConnectionOptions from = new RdmaConnectionOptions().localAddress(Lab.first(0));
            try (RdmaConnection client = new RdmaClient(arena).connect(Lab.second(PORT + 1), from, Lab.SECONDS);
                    RdmaConnection accepted = Async.get(accepting)) {
                assertNull(server.nextEnded());
                accepted.queuePair()
                        .postSend(SendWorkRequest.allocate(arena, 1)
                                .rdmaWrite(0, 1)
                                .add(accepted.register(64), 0, 8)
                                .signaled(true));
                WorkCompletions completions = new WorkCompletions(arena, 1);
                Bound.usual().await("no completion", () -> accepted.sendQueue().poll(completions) > 0);
                assertEquals(CompletionStatus.REM_ACCESS_ERR, completions.status(0));
                assertSame(accepted, server.nextEnded());
                client.close();
                assertTrue(accepted.awaitDisconnect(Lab.SECONDS));
                assertTrue(server.accept(Duration.ZERO).isEmpty());
                assertNull(server.nextEnded(), "the end comes after the failure and is not told again");
            }
        }
    }
}
