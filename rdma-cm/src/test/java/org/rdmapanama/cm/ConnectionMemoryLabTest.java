package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.lang.foreign.ValueLayout;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** Memory that lives as long as a connection. */
@Tag("lab")
@Timeout(value = 400, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConnectionMemoryLabTest {
    private static final int PORT = 7551;
    private static final int BYTES = 4 << 20;
    private static final int ROUNDS = 8;
    private static final int IN_A_ROW = Integer.getInteger("cm.in.a.row", Lab.isInLab() ? 300 : 4_000);

    /** The compilers of the JVM use malloc(3) as well: less than the regions of all rounds. */
    private static final int MOST_OF_COMPILERS = 32 << 20;

    private static BufferPoolMXBean directMemory() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void shouldGoWithItsConnection() throws Exception {
        List<MemoryRegion> all = new ArrayList<>();
        long before = Malloc.used();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT))) {
            RdmaClient client = new RdmaClient(arena);
            SendWorkRequest write = SendWorkRequest.allocate(arena, 1).signaled(true);
            WorkCompletions completions = new WorkCompletions(arena, 1);
            for (int round = 0; round < ROUNDS; round++) {
                List<String> resources = Lab.resources();
                FutureTask<RdmaConnection> accepting =
                        new FutureTask<>(() -> server.accept(Lab.SECONDS).orElseThrow());
                Thread.ofPlatform().start(accepting);
                RdmaConnection left = client.connect(
                        Lab.second(PORT), new RdmaConnectionOptions().localAddress(Lab.first(0)), Lab.SECONDS);
                RdmaConnection right = accepting.get(30, TimeUnit.SECONDS);
                MemoryRegion source = left.register(BYTES, LOCAL_WRITE);
                MemoryRegion target = right.register(BYTES, LOCAL_WRITE, REMOTE_WRITE);
                right.register(1).close();
                source.memory().setAtIndex(ValueLayout.JAVA_INT, 1, 77 + round);
                write.clear().rdmaWrite(target.address(), target.rkey()).add(source, 0, BYTES);
                left.queuePair().postSend(write);
                Bound.ofSeconds(30)
                        .await("no completion", () -> left.sendQueue().poll(completions) > 0);
                assertEquals(CompletionStatus.SUCCESS, completions.status(0), () -> completions.describe(0));
                assertEquals(77 + round, target.memory().getAtIndex(ValueLayout.JAVA_INT, 1));
                left.close();
                right.close();
                assertFalse(source.isOpen());
                assertFalse(target.isOpen());
                assertThrows(IllegalStateException.class, () -> target.memory().getAtIndex(ValueLayout.JAVA_INT, 1));
                assertThrows(IllegalStateException.class, () -> left.register(1, LOCAL_WRITE));
                assertThrows(IllegalStateException.class, () -> left.queuePair().postSend(write));
                if (round > 0) {
                    Lab.assertNothingLeft(resources);
                }
                all.add(source);
                all.add(target);
            }
            // All regions are still reachable.
            long left = Malloc.used() - before;
            assertTrue(left < MOST_OF_COMPILERS, () -> left + " bytes are left of " + all);
        }
    }

    @Test
    void shouldGoWhenPreparationFails() throws Exception {
        List<MemoryRegion> made = new ArrayList<>();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT))) {
            RdmaClient client = new RdmaClient(arena);
            RdmaConnectionOptions options = new RdmaConnectionOptions()
                    .localAddress(Lab.first(0))
                    .prepare(connection -> {
                        made.add(connection.register(BYTES, LOCAL_WRITE));
                        throw new UnsupportedOperationException("no more");
                    });
            assertThrows(
                    UnsupportedOperationException.class,
                    () -> client.connect(server.localAddress(), options, Lab.SECONDS));
            assertFalse(made.getFirst().isOpen());
        }
    }

    /** What an application allocates for a connection goes with it, and nothing of the connection itself stays. */
    @Test
    void shouldLeaveNativeMemoryWhereItWas() throws Exception {
        BufferPoolMXBean memory = directMemory();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT))) {
            server.connections(new RdmaConnectionOptions().prepare(ConnectionMemoryLabTest::receiveOne));
            RdmaClient client = new RdmaClient(arena);
            connectOften(server, client, IN_A_ROW / 10);
            long before = memory.getMemoryUsed();
            long allocatedBefore = Malloc.used();
            connectOften(server, client, IN_A_ROW);
            long grown = memory.getMemoryUsed() - before;
            long allocated = Malloc.used() - allocatedBefore;
            System.out.printf(
                    "%,d connections one after the other: %,d bytes more for segments, %,d for all of malloc(3)%n",
                    IN_A_ROW, grown, allocated);
            // Each allocates more than 10,000 bytes, so that one in a hundred would be seen.
            assertTrue(grown < 100L * IN_A_ROW, () -> grown + " bytes of segments are left");
            assertTrue(allocated < MOST_OF_COMPILERS, () -> allocated + " bytes of malloc(3) are left");
        }
    }

    /** The server ends each connection, once the client has its answer, so that neither leaves before the other is ready. */
    private static void connectOften(RdmaServer server, RdmaClient client, int times) throws Exception {
        CompletableFuture<Void> serving = Async.start(() -> {
            for (int i = 0; i < times; i++) {
                RdmaConnection connection = server.accept(Lab.SECONDS).orElseThrow();
                await(connection.receiveQueue());
                connection
                        .queuePair()
                        .postSend(SendWorkRequest.allocate(connection.queuePair(), 1)
                                .send());
                assertTrue(connection.finish(Lab.SECONDS));
            }
            return null;
        });
        RdmaConnectionOptions options =
                new RdmaConnectionOptions().localAddress(Lab.first(0)).prepare(ConnectionMemoryLabTest::receiveOne);
        for (int i = 0; i < times && !serving.isCompletedExceptionally(); i++) {
            try (RdmaConnection connection = client.connect(server.localAddress(), options, Lab.SECONDS)) {
                SendWorkRequest[] sends = new SendWorkRequest[32];
                for (int j = 0; j < sends.length; j++) {
                    sends[j] = SendWorkRequest.allocate(connection.queuePair(), 4);
                }
                connection.queuePair().postSend(sends[0].send());
                await(connection.receiveQueue());
                assertTrue(connection.awaitDisconnect(Lab.SECONDS));
            }
        }
        serving.get(Lab.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    private static void receiveOne(RdmaConnection connection) {
        for (int i = 0; i < 16; i++) {
            connection.queuePair().postReceive(ReceiveWorkRequest.allocate(connection.queuePair(), 8));
        }
    }

    private static void await(CompletionQueue queue) throws InterruptedException {
        WorkCompletions completions = new WorkCompletions(queue, 16);
        Bound.of(Lab.SECONDS).await("no completion", () -> queue.poll(completions) > 0);
        completions.check(0);
    }
}
