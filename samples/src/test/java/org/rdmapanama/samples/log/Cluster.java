package org.rdmapanama.samples.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** The nodes of a log in this JVM: at most one is a primary, the others are replicas or dead. */
final class Cluster implements AutoCloseable {
    static final Duration LIMIT = Duration.ofSeconds(20);

    private final LogTransport transport;
    private final Path folder;
    private final long capacity;
    private final List<InetSocketAddress> addresses;
    private final Replica[] replicas;
    private final List<Primary> primaries = new ArrayList<>();
    final Durability durability;

    Cluster(Path folder, int nodes, long capacity, Durability durability) {
        this(LogTransport.RDMA, folder, nodes, capacity, durability);
    }

    Cluster(LogTransport transport, Path folder, int nodes, long capacity, Durability durability) {
        this.transport = transport;
        this.folder = folder;
        this.capacity = capacity;
        this.durability = durability;
        replicas = new Replica[nodes];
        addresses = IntStream.range(0, nodes)
                .mapToObj(_ -> new InetSocketAddress(Lab.SECOND_HOST, Lab.port()))
                .toList();
    }

    Path path(int node) {
        return folder.resolve("node" + node);
    }

    InetSocketAddress address(int node) {
        return addresses.get(node);
    }

    Replica replica(int node) {
        return replicas[node];
    }

    Replica startReplica(int node) throws IOException {
        return startReplica(node, _ -> {});
    }

    Replica startReplica(int node, Consumer<LogRecord> consumer) throws IOException {
        replicas[node] = Replica.start(transport, path(node), capacity, addresses.get(node), consumer);
        return replicas[node];
    }

    void kill(int node) {
        Replica replica = replicas[node];
        replicas[node] = null;
        if (replica != null) {
            replica.close();
        }
    }

    Primary takeOver(int node) throws IOException, InterruptedException {
        return takeOver(node, LIMIT);
    }

    Primary takeOver(int node, Duration timeout) throws IOException, InterruptedException {
        return takeOver(node, timeout, transport::connector);
    }

    /** The same, with connections that are made in another way. */
    Primary takeOver(int node, Duration timeout, BiFunction<VerbsArena, LogFile, Connector> connecting)
            throws IOException, InterruptedException {
        List<InetSocketAddress> others = new ArrayList<>(addresses);
        others.remove(node);
        Primary primary = Primary.takeOver(connecting, path(node), capacity, others, durability, timeout);
        primaries.add(primary);
        return primary;
    }

    static void await(BooleanSupplier condition, String what) throws InterruptedException {
        Bound bound = Bound.of(LIMIT);
        while (!condition.getAsBoolean()) {
            bound.check(() -> what);
            Thread.sleep(1);
        }
    }

    /** Checks that a log has certain records. */
    static void checkHas(LogFile file, Map<Long, String> expected) {
        expected.forEach((index, text) -> {
            assertTrue(index <= file.lastIndex(), () -> "record " + index + " is lost: " + file);
            assertEquals(text, file.record(index).text(), () -> "record " + index + " of " + file);
        });
    }

    /** Checks that each node has the log of the first one, up to what both know to be committed. */
    void checkAgreement() throws IOException {
        try (Arena arena = Arena.ofConfined();
                LogFile one = LogFile.read(path(0), arena)) {
            for (int node = 0; node < replicas.length; node++) {
                try (LogFile other = LogFile.read(path(node), arena)) {
                    long commit = Math.min(one.commitIndex(), other.commitIndex());
                    assertTrue(one.lastIndex() >= one.commitIndex(), one::toString);
                    assertTrue(other.lastIndex() >= other.commitIndex(), other::toString);
                    for (long i = 1; i <= commit; i++) {
                        assertEquals(one.term(i), other.term(i), "term of record " + i + " of node " + node);
                        assertArrayEquals(
                                one.record(i).payload(), other.record(i).payload());
                    }
                }
            }
        }
    }

    @Override
    public void close() {
        primaries.forEach(Primary::close);
        for (int node = 0; node < replicas.length; node++) {
            kill(node);
        }
    }
}
