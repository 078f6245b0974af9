package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** What a server counts of its clients. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ServerCountsLabTest {
    private static final int PORT = 7579;
    private static final LabWire NETWORK = LabWire.ROCE;

    private static RdmaConnection connect(VerbsArena arena) throws InterruptedException {
        return new RdmaClient(arena)
                .connect(NETWORK.second(PORT), new RdmaConnectionOptions().localAddress(NETWORK.first(0)), Lab.SECONDS);
    }

    @Test
    void shouldCountItsClients() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        RdmaServerOptions choosy = new RdmaServerOptions()
                .connections(request ->
                        asked.incrementAndGet() == 2 ? Optional.empty() : Optional.of(new RdmaConnectionOptions()));
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, NETWORK.second(PORT), choosy);
                ExecutorService threads = Executors.newCachedThreadPool()) {
            assertEquals(new ServerCounts(0, 0, 0, 0, 0, 0), server.counts());
            Future<RdmaConnection> first =
                    threads.submit(() -> server.accept(Lab.SECONDS).orElseThrow());
            RdmaConnection left = connect(arena);
            RdmaConnection right = first.get();
            Future<RdmaConnection> third =
                    threads.submit(() -> server.accept(Lab.SECONDS).orElseThrow());
            assertThrows(RejectedException.class, () -> connect(arena));
            RdmaConnection otherLeft = connect(arena);
            RdmaConnection otherRight = third.get();
            assertEquals(new ServerCounts(2, 1, 0, 2, 0, 0), server.counts());
            left.close();
            Bound.of(Lab.SECONDS).await("the end did not come", () -> !right.isConnected());
            assertSame(right, server.nextEnded());
            assertEquals(new ServerCounts(2, 1, 0, 2, 1, 0), server.counts());
            right.close();
            right.close();
            assertEquals(new ServerCounts(2, 1, 0, 1, 1, 0), server.counts());
            otherRight.close();
            otherLeft.close();
            assertEquals(new ServerCounts(2, 1, 0, 0, 1, 0), server.counts());
        }
    }

    /** A connection whose queue pair has failed was not ended by its peer. */
    @Test
    void shouldTellLostOnesFromThoseThatThePeerEnded() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, NETWORK.second(PORT));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            Future<RdmaConnection> accepted =
                    threads.submit(() -> server.accept(Lab.SECONDS).orElseThrow());
            try (RdmaConnection left = connect(arena);
                    RdmaConnection right = accepted.get()) {
                right.queuePair()
                        .postSend(SendWorkRequest.allocate(arena, 1)
                                .rdmaWrite(1, 1)
                                .signaled(true)
                                .add(right.protectionDomain().register(arena.allocate(8)), 0, 8));
                WorkCompletions completions = new WorkCompletions(arena, 1);
                Bound.of(Lab.SECONDS)
                        .await("nothing completed", () -> right.sendQueue().poll(completions) > 0);
                assertSame(right, server.nextEnded());
                assertEquals(new ServerCounts(1, 0, 0, 1, 1, 1), server.counts());
                assertEquals(left.localAddress(), right.remoteAddress());
            }
        }
    }
}
