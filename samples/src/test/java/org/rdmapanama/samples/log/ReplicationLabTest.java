package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RejectedException;

/** Primaries and replicas in one JVM. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReplicationLabTest {
    private static final long CAPACITY = 4 << 20;
    private static final Duration LIMIT = Cluster.LIMIT;
    private static final Duration SHORT = Duration.ofMillis(200);

    @TempDir
    private Path folder;

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @CsvSource({"RDMA, MEMORY", "RDMA, DISK", "TCP, MEMORY", "TCP, DISK"})
    void shouldCommitAndApply(LogTransport transport, Durability durability) throws Exception {
        List<String> applied = Collections.synchronizedList(new ArrayList<>());
        try (Cluster cluster = new Cluster(transport, folder, 3, CAPACITY, durability)) {
            cluster.startReplica(1, record -> applied.add(record.index() + " " + record.text()));
            cluster.startReplica(2);
            Primary primary = cluster.takeOver(0);
            assertEquals(1, primary.term());
            List<String> expected = new ArrayList<>(List.of("1 "));
            for (int i = 0; i < 300; i++) {
                assertEquals(i + 2, primary.commit(bytes("record " + i), LIMIT));
                expected.add(i + 2 + " record " + i);
            }
            Cluster.await(() -> applied.size() == expected.size(), "not everything is applied");
            assertEquals(expected, applied);
            Cluster.await(() -> cluster.replica(2).file().commitIndex() == 301, "the other one is not told");
        }
        new Cluster(transport, folder, 3, CAPACITY, durability).checkAgreement();
    }

    @ParameterizedTest
    @EnumSource(LogTransport.class)
    void shouldLetReplicasComeLateAndComeBack(LogTransport transport) throws Exception {
        try (Cluster cluster = new Cluster(transport, folder, 3, CAPACITY, Durability.MEMORY)) {
            cluster.startReplica(1);
            Primary primary = cluster.takeOver(0);
            byte[] large = new byte[300_000];
            new Random(1).nextBytes(large);
            for (int i = 0; i < 8; i++) {
                primary.commit(large, LIMIT);
            }
            cluster.startReplica(2);
            Cluster.await(() -> primary.inStep() == 3, "the late one has not caught up");
            cluster.kill(1);
            primary.commit(bytes("without 1"), LIMIT);
            cluster.startReplica(1);
            Cluster.await(() -> primary.inStep() == 3, "the killed one has not caught up");
            cluster.kill(2);
            long last = primary.commit(bytes("without 2"), LIMIT);
            assertArrayEquals(large, cluster.replica(1).file().record(2).payload());
            cluster.startReplica(2);
            Cluster.await(() -> cluster.replica(2).file().commitIndex() == last, "not told of the commit");
        }
        new Cluster(transport, folder, 3, CAPACITY, Durability.MEMORY).checkAgreement();
    }

    @ParameterizedTest
    @EnumSource(LogTransport.class)
    void shouldSayThatThereIsNoMajorityAndCommitOnceThereIs(LogTransport transport) throws Exception {
        try (Cluster cluster = new Cluster(transport, folder, 3, CAPACITY, Durability.MEMORY)) {
            LogException alone = assertThrows(LogException.class, () -> cluster.takeOver(0, SHORT));
            assertTrue(alone.getMessage().startsWith("1 of 3 nodes follow"), alone.getMessage());
            cluster.startReplica(1);
            Primary primary = cluster.takeOver(0);
            assertEquals(2, primary.term());
            cluster.kill(1);
            long index = primary.append(bytes("later"));
            LogException none = assertThrows(LogException.class, () -> primary.awaitCommitted(index, SHORT));
            assertTrue(none.getMessage().contains("1 of 3 nodes are in step, and 2 are needed"), none.getMessage());
            cluster.startReplica(2);
            primary.awaitCommitted(index, LIMIT);
        }
    }

    @ParameterizedTest
    @EnumSource(LogTransport.class)
    void shouldFenceTheFormerPrimary(LogTransport transport) throws Exception {
        try (Cluster cluster = new Cluster(transport, folder, 3, CAPACITY, Durability.MEMORY)) {
            cluster.startReplica(1);
            cluster.startReplica(2);
            Primary former = cluster.takeOver(0);
            former.commit(bytes("kept"), LIMIT);
            cluster.kill(2);
            Primary next = cluster.takeOver(2);
            assertEquals(2, next.term());
            assertEquals("kept", next.file().record(2).text());
            FencedException fenced = assertThrows(FencedException.class, () -> former.commit(bytes("too late"), LIMIT));
            assertTrue(fenced.getMessage().contains("has term 1, and a replica has promised term 2"));
            long index = next.commit(bytes("of the next"), LIMIT);
            former.close();
            // What only the former primary has goes away when it follows the next one.
            cluster.startReplica(0);
            Cluster.await(() -> next.inStep() == 3, "the former primary does not follow");
            next.commit(bytes("for all"), LIMIT);
            assertEquals("of the next", cluster.replica(0).file().record(index).text());
        }
        new Cluster(transport, folder, 3, CAPACITY, Durability.MEMORY).checkAgreement();
    }

    @ParameterizedTest
    @EnumSource(LogTransport.class)
    void shouldNotFollowAPrimaryOfAnotherLog(LogTransport transport) throws Exception {
        try (Cluster cluster = new Cluster(transport, folder, 3, CAPACITY, Durability.MEMORY)) {
            cluster.startReplica(1);
            try (Primary primary = cluster.takeOver(0)) {
                long last = primary.commit(bytes("precious"), LIMIT);
                Cluster.await(() -> cluster.replica(1).file().commitIndex() == last, "not told");
            }
            Primary other =
                    Primary.takeOver(transport, folder.resolve("other"), CAPACITY, List.of(), Durability.MEMORY, LIMIT);
            for (int i = 0; i < 5; i++) {
                other.append(bytes("of another log"));
            }
            other.file().promise(9, 5);
            other.close();
            LogException wrong = assertThrows(
                    LogException.class,
                    () -> Primary.takeOver(
                                    transport,
                                    folder.resolve("other"),
                                    CAPACITY,
                                    List.of(cluster.address(1)),
                                    Durability.MEMORY,
                                    Duration.ofSeconds(1))
                            .close());
            assertTrue(
                    wrong.getMessage().contains("is not that of")
                            || wrong.getMessage().contains("is not committed"),
                    wrong.getMessage());
            assertEquals("precious", cluster.replica(1).file().record(2).text());
        }
    }

    @Test
    void shouldTakeOverWithAFullFile() throws Exception {
        long small = LogFile.MIN_CAPACITY;
        try (Cluster cluster = new Cluster(LogTransport.TCP, folder, 2, small, Durability.MEMORY)) {
            cluster.startReplica(1);
            long kept;
            try (Primary primary = cluster.takeOver(0)) {
                LogException full = assertThrows(LogException.class, () -> {
                    while (true) {
                        primary.commit(bytes("fills it"), LIMIT);
                    }
                });
                assertTrue(full.getMessage().contains("is full: it has " + small + " bytes"), full.getMessage());
                kept = primary.committed();
            }
            // One takes over again and again, until what is reserved for that is used up, too.
            LogException full = assertThrows(LogException.class, () -> {
                for (int i = 0; i < 100; i++) {
                    try (Primary primary = cluster.takeOver(0)) {
                        assertEquals(kept + i + 1, primary.committed());
                    }
                }
            });
            assertTrue(full.getMessage().contains("larger files on all nodes (--size)"), full.getMessage());
            assertTrue(
                    cluster.replica(1).file().lastIndex() >= kept + 60,
                    cluster.replica(1).file()::toString);
            assertEquals("fills it", cluster.replica(1).file().record(kept).text());
        }
    }

    @Test
    void shouldRejectHostileGreetings() throws Exception {
        try (Cluster cluster = new Cluster(folder, 2, CAPACITY, Durability.MEMORY);
                VerbsArena arena = VerbsArena.ofShared()) {
            cluster.startReplica(1);
            byte[] good = new Greeting.Request(Durability.DISK, 1, 99, 4096, 1).bytes();
            Random random = new Random(20);
            for (int i = 0; i < 60; i++) {
                byte[] bad = i < 30 ? new byte[random.nextInt(57)] : good.clone();
                if (i < 30) {
                    random.nextBytes(bad);
                } else {
                    bad[i % 8] ^= (byte) 0x88;
                }
                RdmaConnectionOptions options = new RdmaConnectionOptions().privateData(bad);
                assertThrows(
                        RejectedException.class,
                        () -> new RdmaClient(arena).connect(cluster.address(1), options, LIMIT));
            }
            assertEquals(0, cluster.replica(1).file().promisedTerm());

            // One that is followed, and then says nonsense.
            byte[][] messages = {
                new CatchUp.Source(0, 0, 4095).bytes(),
                new CatchUp.Source(0, 0, CAPACITY).bytes(),
                new CatchUp.Source(0, 0, Long.MIN_VALUE).bytes(),
                new CatchUp.Source(12345, 6789, 8192).bytes()
            };
            for (int i = 0; i < messages.length; i++) {
                byte[] greeting = new Greeting.Request(Durability.DISK, i + 1, 99, 4096, 1).bytes();
                Wire[] wire = new Wire[1];
                RdmaConnectionOptions options = new RdmaConnectionOptions()
                        .singleCompletionQueue(true)
                        .prepare(connection -> wire[0] = new Wire(connection))
                        .privateData(greeting);
                RdmaConnection connection = new RdmaClient(arena).connect(cluster.address(1), options, LIMIT);
                wire[0].send(messages[i]);
                assertTrue(connection.awaitDisconnect(LIMIT), "the replica does not mind message " + i);
                connection.close();
            }
            Primary primary = cluster.takeOver(0);
            primary.commit(bytes("still works"), LIMIT);
        }
    }

    @Test
    void shouldCheckAnswers() {
        byte[] good = new Greeting.Answer(1, 2, 3, CAPACITY, 1, 1, 8192, 1).bytes();
        assertTrue(Greeting.Answer.of(good).isPresent());
        byte[][] bad = {
            {},
            new byte[64],
            new Greeting.Answer(0, 2, 3, CAPACITY, 1, 1, 8192, 1).bytes(),
            new Greeting.Answer(1, 2, 3, 1, 1, 1, 8192, 1).bytes(),
            new Greeting.Answer(1, 2, 3, CAPACITY, -1, 1, 8192, 1).bytes(),
            new Greeting.Answer(1, 2, 3, CAPACITY, 1, 1, 8193, 1).bytes(),
            new Greeting.Answer(1, 2, 3, CAPACITY, 1, 1, CAPACITY + 8, 1).bytes(),
            new Greeting.Answer(1, 2, 3, CAPACITY, 1, 1 << 20, 8192, 1).bytes(),
            new Greeting.Answer(1, 2, 3, CAPACITY, 1, -1, 8192, 1).bytes(),
            new Greeting.Answer(1, 2, 3, CAPACITY, 1, 1, 8192, -1).bytes()
        };
        for (byte[] each : bad) {
            assertTrue(Greeting.Answer.of(each).isEmpty());
        }
    }
}
