package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.testing.Lab;

/**
 * Kills nodes at random moments, as often in all as {@code -Dlog.kills} says: their arenas are closed while their threads work,
 * which leaves the mapped files as SIGKILL would. No committed record may be lost, and the order must stay.
 */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class KillsLabTest {
    private static final int KILLS = Integer.getInteger("log.kills", Lab.isInLab() ? 50 : 300);
    private static final long CAPACITY = 16 << 20;

    /** How long those wait who append while there is no primary. */
    private static final long PAUSE_NANOS = 50_000;

    private static final Duration LIMIT = Cluster.LIMIT;

    @TempDir
    private Path folder;

    /** What was committed, by index. */
    private final Map<Long, String> committed = new ConcurrentSkipListMap<>();

    private final AtomicReference<Throwable> wrong = new AtomicReference<>();
    private volatile Primary primary;
    private volatile boolean over;

    /** Appends to whatever node is the primary, and remembers what was committed. */
    private void append(long seed) {
        Random random = new Random(seed);
        for (int i = 0; !over; i++) {
            Primary current = primary;
            if (current == null) {
                LockSupport.parkNanos(PAUSE_NANOS);
                continue;
            }
            String text = seed + " " + i + " " + "x".repeat(random.nextInt(60));
            try {
                long index = current.commit(text.getBytes(StandardCharsets.UTF_8), LIMIT);
                String before = committed.putIfAbsent(index, text);
                if (random.nextInt(4) > 0) { // or the files are full before the last kill
                    LockSupport.parkNanos(random.nextInt(1_000_000));
                }
                if (before != null) {
                    wrong.compareAndSet(
                            null,
                            new AssertionError("record " + index + " was committed twice: " + before + ", " + text));
                }
            } catch (RuntimeException | InterruptedException e) {
                // It was killed. Whether the record is committed is not known. The JVM also interrupts a thread that it
                // throws out of memory which another one closes.
                Thread.interrupted();
                while (primary == current && !over) {
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "RDMA, 3, 0.3, 1, MEMORY",
        "RDMA, 5, 0.3, 2, MEMORY",
        "RDMA, 3, 0.1, 3, DISK",
        "RDMA, 5, 0.3, 4, MEMORY",
        "TCP, 3, 0.15, 5, MEMORY",
        "TCP, 5, 0.1, 6, DISK"
    })
    void shouldLoseNothing(LogTransport transport, int nodes, double share, long seed, Durability durability)
            throws Exception {
        int kills = (int) Math.ceil(share * KILLS);
        Random random = new Random(seed);
        int takeovers = 0;
        List<Thread> appenders = new ArrayList<>();
        long start = System.nanoTime();
        try (Cluster cluster = new Cluster(transport, folder, nodes, CAPACITY, durability)) {
            for (int i = 1; i < nodes; i++) {
                cluster.startReplica(i);
            }
            int leader = 0;
            primary = cluster.takeOver(leader);
            for (long i = 0; i < 2; i++) {
                long number = 10 * seed + i;
                appenders.add(Thread.ofPlatform().daemon().name("appender").start(() -> append(number)));
            }
            for (int kill = 0; kill < kills; ) {
                Thread.sleep(0, random.nextInt(1_000_000));
                Thread.sleep(random.nextInt(8));
                if (random.nextInt(3) > 0) {
                    int victim = (leader + 1 + random.nextInt(nodes - 1)) % nodes;
                    if (cluster.replica(victim) != null) {
                        cluster.kill(victim);
                        kill++;
                    }
                } else {
                    primary.close();
                    kill++;
                    int next = (leader + random.nextInt(nodes)) % nodes;
                    restart(cluster, nodes, leader == next ? -1 : leader, next, random);
                    leader = next;
                    cluster.kill(leader);
                    int disturbed = (leader + 1 + random.nextInt(nodes - 1)) % nodes;
                    Thread disturber = null;
                    if (random.nextInt(3) == 0) {
                        int millis = random.nextInt(8);
                        disturber = Thread.ofPlatform().daemon().start(() -> {
                            try {
                                Thread.sleep(millis);
                                cluster.kill(disturbed);
                                cluster.startReplica(disturbed);
                            } catch (IOException | InterruptedException e) {
                                wrong.compareAndSet(null, e);
                            }
                        });
                        kill++;
                    }
                    Map<Long, String> before = new TreeMap<>(committed);
                    Primary following = takeOver(cluster, leader);
                    takeovers++;
                    Cluster.checkHas(following.file(), before);
                    if (disturber != null) {
                        assertTrue(disturber.join(LIMIT), "a replica neither ends nor starts");
                    }
                    primary = following;
                }
                restart(cluster, nodes, -1, leader, random);
                assertNull(wrong.get(), () -> wrong.get().toString());
            }
            // On a busy machine little is committed between two kills.
            Cluster.await(() -> committed.size() > kills, "fewer records are committed than processes were killed");
            over = true;
            for (Thread each : appenders) {
                each.join(LIMIT);
            }
            for (int i = 0; i < nodes; i++) {
                if (i != leader && cluster.replica(i) == null) {
                    cluster.startReplica(i);
                }
            }
            long last = primary.commit(new byte[0], LIMIT);
            for (int i = 0; i < nodes; i++) {
                Replica replica = cluster.replica(i);
                if (replica != null) {
                    Cluster.await(() -> replica.file().commitIndex() >= last, "not all replicas are told of " + last);
                }
            }
            Cluster.checkHas(primary.file(), committed);
            for (int i = 0; i < nodes; i++) {
                if (cluster.replica(i) != null) {
                    Cluster.checkHas(cluster.replica(i).file(), committed);
                }
            }
            System.out.printf(
                    "%s, %d nodes, %s: %d kills, %d takeovers, term %d, %d records committed, in %d ms%n",
                    transport,
                    nodes,
                    durability,
                    kills,
                    takeovers,
                    primary.term(),
                    committed.size(),
                    (System.nanoTime() - start) / 1_000_000);
        } finally {
            over = true;
        }
        new Cluster(transport, folder, nodes, CAPACITY, durability).checkAgreement();
        for (int node = 0; node < nodes; node++) {
            try (Arena arena = Arena.ofConfined();
                    LogFile file = LogFile.read(folder.resolve("node" + node), arena)) {
                Cluster.checkHas(file, committed);
            }
        }
        assertNull(wrong.get());
    }

    /** Starts dead nodes, so that a majority is there, and the others at random. */
    private static void restart(Cluster cluster, int nodes, int former, int leader, Random random) throws IOException {
        int dead = 0;
        for (int i = 0; i < nodes; i++) {
            if (i != leader && cluster.replica(i) == null) {
                dead++;
                if (dead > (nodes - 1) / 2 || i == former || random.nextBoolean()) {
                    cluster.startReplica(i);
                    dead--;
                }
            }
        }
    }

    /** Tries again when a replica was killed meanwhile. */
    private static Primary takeOver(Cluster cluster, int node) throws IOException, InterruptedException {
        for (int attempt = 0; ; attempt++) {
            try {
                return cluster.takeOver(node, Duration.ofSeconds(5));
            } catch (RuntimeException e) {
                if (attempt == 3) {
                    throw e;
                }
            }
        }
    }
}
