package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.samples.log.StoppingConnector.Step;
import org.rdmapanama.testing.Async;

/**
 * A candidate is killed at each step of a takeover, as {@link KillsLabTest} kills. Another one then takes over with the smallest
 * majority there can be. No committed record may be lost.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class KilledCandidatesLabTest {
    private static final int NODES = 5;
    private static final int MAJORITY = 3;
    private static final long CAPACITY = 4 << 20;

    @TempDir
    private Path folder;

    /** What was committed, by index. */
    private final Map<Long, String> committed = new TreeMap<>();

    private long commit(Primary primary, String text) throws InterruptedException {
        long index = primary.commit(text.getBytes(StandardCharsets.UTF_8), Cluster.LIMIT);
        committed.put(index, text);
        return index;
    }

    static Stream<Arguments> steps() {
        return Stream.of(LogTransport.values())
                .flatMap(transport -> Stream.of(Step.values()).map(step -> Arguments.of(transport, step)));
    }

    /** Lets a node take over, and kills it at a step; returns whether it has become the primary. */
    private static boolean killAt(Step step, LogTransport transport, Cluster cluster, int node) throws Exception {
        CountDownLatch reached = new CountDownLatch(1);
        CompletableFuture<Boolean> ended = new CompletableFuture<>();
        Thread candidate = Thread.ofPlatform().daemon().name("candidate").start(() -> {
            try {
                cluster.takeOver(
                                node,
                                Cluster.LIMIT,
                                (arena, file) -> new StoppingConnector(
                                        transport.connector(arena, file), arena, file, step, MAJORITY, reached))
                        .close();
                ended.complete(true);
            } catch (LogException | InterruptedException e) {
                ended.complete(false);
            } catch (Throwable e) {
                ended.completeExceptionally(e);
            } finally {
                reached.countDown(); // a primary may end before it looks at its links again
            }
        });
        assertTrue(
                reached.await(Cluster.LIMIT.toSeconds(), TimeUnit.SECONDS), () -> step + " is not reached: " + ended);
        candidate.interrupt();
        return Async.get(ended);
    }

    @ParameterizedTest
    @MethodSource("steps")
    void shouldLoseNothing(LogTransport transport, Step step) throws Exception {
        try (Cluster cluster = new Cluster(transport, folder, NODES, CAPACITY, Durability.MEMORY)) {
            for (int i = 1; i < NODES; i++) {
                cluster.startReplica(i);
            }
            Primary former = cluster.takeOver(0);
            commit(former, "for all");
            // The candidate falls behind by more than one part that it reads, and the one after it by a record.
            cluster.kill(1);
            for (int i = 0; i < 6; i++) {
                commit(former, i + " " + "x".repeat(CatchUp.CHUNK / 4));
            }
            cluster.kill(4);
            long last = commit(former, "last");

            boolean became = killAt(step, transport, cluster, 1);
            assertEquals(step == Step.COMMITTED, became);
            // The former primary cannot go on, though the candidate is dead.
            assertThrows(FencedException.class, () -> commit(former, "too late"));
            former.close();
            cluster.kill(3);
            cluster.startReplica(1);
            Primary next = cluster.takeOver(4);
            Cluster.checkHas(next.file(), committed);
            if (became) {
                assertEquals(2, next.file().term(last + 1), "the record that the candidate has committed is lost");
            }
            commit(next, "with three");

            cluster.startReplica(0);
            cluster.startReplica(3);
            Cluster.await(() -> next.inStep() == NODES, "not all follow");
            long end = commit(next, "for all again");
            for (int i = 0; i < 4; i++) {
                LogFile file = cluster.replica(i).file();
                Cluster.await(() -> file.commitIndex() == end, "a replica is not told");
            }
        }
        new Cluster(transport, folder, NODES, CAPACITY, Durability.MEMORY).checkAgreement();
        for (int node = 0; node < NODES; node++) {
            try (Arena arena = Arena.ofConfined();
                    LogFile file = LogFile.read(folder.resolve("node" + node), arena)) {
                Cluster.checkHas(file, committed);
            }
        }
    }
}
