package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** What was posted arrives when a connection ends gracefully, within a bound, and is lost when it does not. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are only there
class GracefulEndLabTest {
    private static final int PORT = 7585;
    private static final int CLIENTS = 8;
    private static final int MESSAGES = 32;
    private static final int BYTES = 32 * 1024;

    /** Ends a connection whose send queue is full. */
    @ParameterizedTest
    @EnumSource
    void shouldDeliverWhatIsPosted(LabWire network) throws Exception {
        try (Pair pair = new Pair(
                network, PORT, options -> options.sendWorkRequests(MESSAGES).receiveWorkRequests(MESSAGES))) {
            SendWorkRequest send = pair.left.request(1, 0, BYTES).send();
            ReceiveWorkRequest receive = pair.right.receiveRequest(2, BYTES, BYTES);
            pair.left.fill(0, BYTES, 5);
            for (int i = 0; i < MESSAGES; i++) {
                pair.right.post(receive);
            }
            for (int i = 0; i < MESSAGES; i++) {
                pair.left.post(send);
            }
            RdmaConnection left = pair.left.connection;
            assertTrue(left.finish(Lab.SECONDS));
            assertThrows(IllegalStateException.class, () -> left.finish(Duration.ZERO));
            left.close();
            assertTrue(pair.right.connection.awaitDisconnect(Lab.SECONDS));
            for (int i = 0; i < MESSAGES; i++) {
                assertEquals(CompletionStatus.SUCCESS, pair.right.received(2));
            }
            pair.right.assertFilled(BYTES, BYTES, 5);
        }
    }

    @Test
    void shouldGiveUpAfterTheBoundWhenThePeerTakesNothing() throws Exception {
        try (Pair pair = new Pair(LabWire.ROCE, PORT, options -> {})) {
            pair.left.post(pair.left.request(1, 0, 8).send());
            Bound bound = Bound.usual();
            assertFalse(pair.left.connection.finish(Duration.ofMillis(200)));
            bound.check("it waited longer than it was to");
            assertTrue(pair.right.connection.awaitDisconnect(Lab.SECONDS), "the peer learns of it");
        }
    }

    @Test
    void shouldTellThatSomethingFailed() throws Exception {
        try (Pair pair = new Pair(LabWire.ROCE, PORT, options -> {})) {
            int wrong = pair.right.region.rkey() ^ 0xff00;
            pair.left.post(pair.left.request(1, 0, 8).rdmaWrite(pair.right.region.address(), wrong));
            assertFalse(pair.left.connection.finish(Lab.SECONDS));
            assertEquals(
                    CompletionStatus.REM_ACCESS_ERR,
                    pair.left.connection.failure().orElseThrow().status());
        }
    }

    @Test
    void shouldTellThatThePeerHasGone() throws Exception {
        try (Pair pair = new Pair(LabWire.ROCE, PORT, options -> {})) {
            pair.right.connection.close();
            assertTrue(pair.left.connection.awaitDisconnect(Lab.SECONDS));
            assertFalse(pair.left.connection.finish(Lab.SECONDS));
        }
    }

    @Test
    void shouldLeaveCompletionsOfAGivenQueueToTheProgram() throws Exception {
        try (Pair pair = new Pair(LabWire.ROCE, PORT, options -> {})) {
            CompletionQueue shared =
                    pair.left.connection.protectionDomain().context().createCompletionQueue(64);
            try (Pair other = new Pair(
                    pair.arena, LabWire.ROCE, PORT + 1, options -> options.completionQueue(shared), options -> {})) {
                RdmaConnection left = other.left.connection;
                String message = assertThrows(IllegalStateException.class, () -> left.finish(Lab.SECONDS))
                        .getMessage();
                assertTrue(message.contains("wait for the completion of the last send"), message);
                assertTrue(left.isConnected());
            }
        }
    }

    @Test
    void shouldEndTheConnectionsOfAServer() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
            List<RdmaConnection> clients = new ArrayList<>();
            List<RdmaConnection> accepted = new ArrayList<>();
            RdmaConnectionOptions options = new RdmaConnectionOptions()
                    .localAddress(Lab.first(0))
                    .prepare(client -> {
                        MemoryRegion memory = client.register(8, AccessFlag.LOCAL_WRITE);
                        client.queuePair()
                                .postReceive(ReceiveWorkRequest.allocate(client.queuePair(), 1)
                                        .add(memory, 0, 8));
                    });
            CompletableFuture<Void> accepting = Async.start(() -> {
                for (int i = 0; i < CLIENTS; i++) {
                    accepted.add(server.accept(Lab.SECONDS).orElseThrow());
                }
                return null;
            });
            for (int i = 0; i < CLIENTS; i++) {
                clients.add(new RdmaClient(arena).connect(server.localAddress(), options, Lab.SECONDS));
            }
            Async.get(accepting);
            for (RdmaConnection each : accepted) {
                each.queuePair()
                        .postSend(SendWorkRequest.allocate(each.queuePair(), 1)
                                .send()
                                .add(each.register(8), 0, 8));
            }
            assertTrue(server.finish(Lab.SECONDS));
            for (RdmaConnection each : accepted) {
                assertFalse(each.queuePair().isOpen());
            }
            for (RdmaConnection each : clients) {
                WorkCompletions completions = new WorkCompletions(each.receiveQueue(), 1);
                Bound.usual().await("no message", () -> each.receiveQueue().poll(completions) > 0);
                completions.check(0);
                assertTrue(each.awaitDisconnect(Lab.SECONDS));
                each.close();
            }
        }
    }

    /** The first one is done at once, and what runs after closing it throws; the second one still waits for its peer. */
    @Test
    void shouldWaitForOthersWhenAnActionAfterClosingThrows() throws Exception {
        List<RdmaConnection> accepted = new ArrayList<>();
        CountDownLatch thrown = new CountDownLatch(1);
        RdmaConnectionOptions throwing = new RdmaConnectionOptions().afterClose(connection -> {
            if (connection == accepted.getFirst()) {
                thrown.countDown();
                throw new IllegalStateException("nothing to give back");
            }
        });
        try (VerbsArena arena = VerbsArena.ofShared()) {
            RdmaServer server =
                    RdmaServer.listen(arena, Lab.second(PORT), new RdmaServerOptions().connections(throwing));
            List<RdmaConnection> clients = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                CompletableFuture<RdmaConnection> accepting =
                        Async.start(() -> server.accept(Lab.SECONDS).orElseThrow());
                clients.add(new RdmaClient(arena)
                        .connect(
                                server.localAddress(),
                                new RdmaConnectionOptions().localAddress(Lab.first(0)),
                                Lab.SECONDS));
                accepted.add(Async.get(accepting));
            }
            QueuePair sender = accepted.getLast().queuePair();
            sender.postSend(SendWorkRequest.allocate(sender, 1)
                    .send()
                    .add(accepted.getLast().register(8), 0, 8));
            RdmaConnection late = clients.getLast();
            CompletableFuture<WorkCompletions> receiving = Async.start(() -> {
                assertTrue(thrown.await(Lab.SECONDS.toSeconds(), TimeUnit.SECONDS), "the first one was not closed");
                MemoryRegion memory = late.register(8, AccessFlag.LOCAL_WRITE);
                late.queuePair()
                        .postReceive(
                                ReceiveWorkRequest.allocate(late.queuePair(), 1).add(memory, 0, 8));
                WorkCompletions completions = new WorkCompletions(late.receiveQueue(), 1);
                Bound.usual().await("no message", () -> late.receiveQueue().poll(completions) > 0);
                return completions;
            });
            String message = assertThrows(IllegalStateException.class, () -> server.finish(Lab.SECONDS))
                    .getMessage();
            assertEquals("nothing to give back", message);
            Async.get(receiving).check(0);
            for (RdmaConnection each : accepted) {
                assertFalse(each.queuePair().isOpen());
            }
        }
    }
}
