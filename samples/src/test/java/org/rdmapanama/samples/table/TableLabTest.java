package org.rdmapanama.samples.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.samples.Rdma;
import org.rdmapanama.samples.calls.CallClient;
import org.rdmapanama.samples.calls.CallMessage;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** A server and its clients in one JVM. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TableLabTest {
    private static final Duration LIMIT = Lab.SECONDS;

    /** How long a client may be silent before the server asks its device. */
    private static final Duration SILENCE = Duration.ofSeconds(1);

    private static final int SLOT = 4096;
    private static final int MOST = 4000;
    private static final int KEYS = 4;

    /** How many values of each key a writer has, so that it only writes. */
    private static final int PREPARED = 50;

    /** How many times each reader gets a value while writers change it. */
    private static final int GETS = 3000;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final List<AutoCloseable> closed = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable each : closed.reversed()) {
            each.close();
        }
        arena.close();
    }

    private TableServer server(int slots, int maxSlots, int slotBytes, Duration grace) {
        return server(Lab.freeAddress(Lab.SECOND_HOST), new TableOptions(slots, maxSlots, slotBytes, 4, 8, grace));
    }

    /** Starts a server that soon asks the devices of silent clients whether they are there. */
    private TableServer serverThatAsks(int maxSlots) {
        TableServer server = TableServer.start(
                Lab.freeAddress(Lab.SECOND_HOST), new TableOptions(64, maxSlots, 128, 4, 8, LIMIT), SILENCE);
        closed.add(server);
        return server;
    }

    private TableServer server(InetSocketAddress address, TableOptions options) {
        TableServer server = TableServer.start(address, options);
        closed.add(server);
        return server;
    }

    private TableClient client(TableServer server) throws InterruptedException {
        TableClient client = TableClient.connect(arena, server.address(), LIMIT);
        closed.add(client);
        return client;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(Optional<byte[]> value) {
        return value.map(each -> new String(each, StandardCharsets.UTF_8)).orElse("none");
    }

    @Test
    void shouldGetPutAndRemove() throws Exception {
        TableServer server = server(64, 64, 128, LIMIT);
        TableClient one = client(server);
        TableClient two = client(server);
        assertEquals("none", text(one.get(bytes("a"))));
        assertFalse(one.remove(bytes("a")));
        one.put(bytes("a"), bytes("first"));
        assertEquals("first", text(two.get(bytes("a"))));
        assertEquals("first", text(two.ask(bytes("a"))));
        two.put(bytes("a"), bytes(""));
        assertEquals("", text(one.get(bytes("a"))));
        one.put(bytes("a"), new byte[103]);
        assertEquals(103, two.get(bytes("a")).orElseThrow().length);
        assertTrue(two.remove(bytes("a")));
        assertEquals("none", text(one.get(bytes("a"))));
        assertEquals("none", text(one.ask(bytes("a"))));
        assertEquals(0, one.retries() + one.asked() + two.retries() + two.asked());
        // What cannot be in the table is not.
        assertEquals("none", text(one.get(new byte[0])));
        assertEquals("none", text(one.get(new byte[105])));
        assertEquals("none", text(one.ask(new byte[100_000])));
        TableException tooLong = assertThrows(TableException.class, () -> one.put(bytes("a"), new byte[104]));
        assertTrue(tooLong.getMessage().contains("together at most 104"), tooLong.getMessage());
        assertThrows(TableException.class, () -> one.put(new byte[0], new byte[1]));
        assertThrows(TableException.class, () -> server.put(bytes("a"), new byte[104]));
        server.put(bytes("of the server"), bytes("x"));
        assertEquals("x", text(one.get(bytes("of the server"))));
        assertEquals("x", text(server.get(bytes("of the server"))));
        assertTrue(server.remove(bytes("of the server")));
    }

    @Test
    void shouldFillUpAndSaySo() throws Exception {
        TableServer server = server(4, 4, 64, LIMIT);
        TableClient client = client(server);
        int stored = 0;
        TableException full = null;
        while (full == null) {
            try {
                client.put(bytes("key " + stored), bytes("value " + stored));
                stored++;
            } catch (TableException e) {
                full = e;
            }
        }
        assertTrue(full.getMessage().contains("no room for this key"), full.getMessage());
        assertEquals(stored, server.size());
        for (int i = 0; i < stored; i++) {
            assertEquals("value " + i, text(client.get(bytes("key " + i))));
        }
        assertTrue(client.remove(bytes("key 0")));
        assertEquals("none", text(client.get(bytes("key 0"))));
    }

    @Test
    void shouldCopyValuesWithoutGarbage() throws Exception {
        TableServer server = server(64, 64, 128, LIMIT);
        TableClient client = client(server);
        client.put(bytes("key"), bytes("value"));
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment key = memory.allocateFrom("key").asSlice(0, 3);
            MemorySegment value = memory.allocate(5);
            MemorySegment none = memory.allocateFrom("none").asSlice(0, 4);
            assertEquals(-1, client.get(none, value));
            assertThrows(IllegalArgumentException.class, () -> client.get(key, value.asSlice(0, 4)));
            long allocated = Long.MAX_VALUE;
            // The first rounds are interpreted.
            Bound bound = Bound.of(LIMIT);
            while (allocated > 1000 * 16) {
                bound.check("a get allocates " + allocated / 1000 + " bytes");
                long before = allocated();
                for (int i = 0; i < 1000; i++) {
                    assertEquals(5, client.get(key, value));
                }
                allocated = allocated() - before;
            }
            assertArrayEquals(bytes("value"), value.toArray(ValueLayout.JAVA_BYTE));
        }
    }

    private static long allocated() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }

    /** Changes the values of the keys as fast as it can, from a client or in the server. */
    private static CompletableFuture<Long> write(Change change, int seed, AtomicBoolean stop) {
        return Async.start(() -> {
            Random random = new Random(seed);
            byte[][] keys = new byte[KEYS][];
            byte[][][] values = new byte[KEYS][PREPARED][];
            for (int key = 0; key < KEYS; key++) {
                keys[key] = Values.key(key);
                for (int i = 0; i < PREPARED; i++) {
                    values[key][i] = Values.random(key, MOST, random);
                }
            }
            long writes = 0;
            for (; !stop.get(); writes++) {
                int key = random.nextInt(KEYS);
                change.put(keys[key], values[key][random.nextInt(PREPARED)]);
            }
            return writes;
        });
    }

    private interface Change {
        void put(byte[] key, byte[] value) throws InterruptedException;
    }

    @Test
    void shouldNeverReturnATornValue(TestReporter reporter) throws Exception {
        TableServer server = server(16, 16, SLOT, LIMIT);
        Random random = new Random(1);
        for (int i = 0; i < KEYS; i++) {
            server.put(Values.key(i), Values.random(i, MOST, random));
        }
        AtomicBoolean stop = new AtomicBoolean();
        TableClient remote = client(server);
        List<CompletableFuture<Long>> writers = List.of(write(server::put, 2, stop), write(remote::put, 3, stop));
        List<CompletableFuture<TableClient>> readers = new ArrayList<>();
        for (int reader = 0; reader < 2; reader++) {
            TableClient client = client(server);
            int seed = reader;
            readers.add(Async.start(() -> {
                Random keys = new Random(seed);
                Bound bound = Bound.of(Lab.PATIENCE);
                // Until some READs have met a write, too: otherwise this has shown nothing.
                for (int i = 0; i < GETS || client.retries() == 0; i++) {
                    bound.check("no READ has met a write");
                    int key = keys.nextInt(KEYS);
                    Values.check(key, client.get(Values.key(key)).orElseThrow());
                }
                return client;
            }));
        }
        try {
            for (CompletableFuture<TableClient> each : readers) {
                TableClient client = Async.get(each);
                reporter.publishEntry(client.reads() + " READs, " + client.retries() + " met a write, " + client.asked()
                        + " gets asked the server");
            }
        } finally {
            stop.set(true);
        }
        long writes = 0;
        for (CompletableFuture<Long> each : writers) {
            writes += Async.get(each);
        }
        reporter.publishEntry(writes + " writes");
        assertTrue(writes > 0);
    }

    /** The same READs without the checks do return torn values. */
    @Test
    void shouldReadTornSlotsWithoutChecks(TestReporter reporter) throws Exception {
        TableServer server = server(1, 1, SLOT, LIMIT);
        server.put(Values.key(0), Values.random(0, MOST, new Random(1)));
        AtomicBoolean stop = new AtomicBoolean();
        CompletableFuture<Long> writer = write(
                (key, value) -> {
                    if (Arrays.equals(key, Values.key(0))) {
                        server.put(key, value);
                    }
                },
                2,
                stop);
        long reads = 0;
        long torn = 0;
        long looksStable = 0;
        try (CallClient raw = CallClient.connect(new RdmaClient(arena), server.address(), Geometry.hello(), LIMIT)) {
            Geometry geometry = Geometry.of(raw.greeting()).orElseThrow();
            MemoryRegion region = raw.register(geometry.windowBytes());
            Slot slot = new Slot(region.memory(), geometry.slotBytes(), geometry.generation());
            Bound bound = Bound.of(Lab.PATIENCE);
            for (; reads < GETS || torn == 0; reads++) {
                bound.check("no READ has met a write");
                raw.read(geometry.address(), geometry.key(), region, geometry.windowBytes());
                // The first slot is the home of all keys.
                int length = Math.clamp(slot.valueLength(0), 0, geometry.maxEntry() - slot.keyLength(0));
                byte[] value = region.memory()
                        .asSlice(Slot.HEADER + slot.keyLength(0), length)
                        .toArray(ValueLayout.JAVA_BYTE);
                boolean whole = Values.isWhole(0, value);
                if (!whole) {
                    torn++;
                    looksStable += (slot.version(0) & 1) == 0 ? 1 : 0;
                    assertFalse(slot.isWhole(0), "a torn slot passes");
                }
            }
        } finally {
            stop.set(true);
        }
        reporter.publishEntry(torn + " of " + reads + " READs were torn, " + looksStable
                + " of them with an even version, beside " + Async.get(writer) + " writes");
        assertTrue(torn > 0);
    }

    @Test
    void shouldGrowUnderLoad(TestReporter reporter) throws Exception {
        TableServer server = server(
                Lab.freeAddress(Lab.SECOND_HOST), new TableOptions(4, 1 << 14, 128, 8, 8, Duration.ofMillis(300)));
        AtomicLong written = new AtomicLong();
        AtomicBoolean stop = new AtomicBoolean();
        TableClient writer = client(server);
        List<CompletableFuture<Long>> readers = new ArrayList<>();
        for (int reader = 0; reader < 2; reader++) {
            TableClient client = client(server);
            int seed = reader;
            readers.add(Async.start(() -> {
                Random random = new Random(seed);
                long gets = 0;
                while (!stop.get()) {
                    int known = (int) written.get();
                    if (known > 0) {
                        int key = random.nextInt(known);
                        byte[] value = client.get(Values.key(key)).orElseThrow(() -> new AssertionError("key " + key));
                        Values.check(key, value);
                        gets++;
                    }
                }
                return gets;
            }));
        }
        Random random = new Random(7);
        try {
            for (int i = 0; i < 1500; i++) {
                writer.put(Values.key(i), Values.random(i, 80, random));
                written.set(i + 1);
            }
            int replaced = 0;
            for (int i = 0; i < 5; i++) {
                // The keys of one place may be too many with the new hash; then nothing changes.
                replaced += server.resize(1 << 14) ? 1 : 0;
                Thread.sleep(20);
            }
            assertTrue(replaced > 0);
        } finally {
            stop.set(true);
        }
        long gets = 0;
        for (CompletableFuture<Long> each : readers) {
            gets += Async.get(each);
        }
        reporter.publishEntry(gets + " gets while the table grew to " + server.slots() + " slots");
        assertTrue(server.slots() >= 512, () -> server.slots() + " slots");
        assertEquals(1500, server.size());
        for (int i = 0; i < 1500; i++) {
            Values.check(i, writer.get(Values.key(i)).orElseThrow());
        }
        Bound.of(LIMIT).await("old tables are kept", () -> server.oldTables() == 0);
    }

    @Test
    void shouldKeepAnOldTableWhileAClientReadsIt() throws Exception {
        TableServer server = server(64, 64, 128, Duration.ofHours(1));
        TableClient stalled = client(server);
        TableClient busy = client(server);
        busy.put(bytes("key"), bytes("old"));
        assertTrue(server.resize(64));
        busy.put(bytes("key"), bytes("new"));
        assertEquals("new", text(busy.get(bytes("key"))));
        assertEquals(2, busy.geometry().generation());
        Thread.sleep(300);
        assertEquals(1, server.oldTables());
        assertEquals("new", text(stalled.get(bytes("key"))));
        Bound.of(LIMIT).await("nobody reads the old table", () -> server.oldTables() == 0);
        assertTrue(server.resize(64));
        assertEquals(1, server.oldTables());
        stalled.close();
        assertEquals("new", text(busy.get(bytes("key"))));
        Bound.of(LIMIT).await("the client that might read is gone", () -> server.oldTables() == 0);
    }

    @Test
    void shouldRefuseReadsOfAnOldTableAfterTheGrace() throws Exception {
        TableServer server = server(64, 64, 128, Duration.ofMillis(100));
        TableClient stalled = client(server);
        stalled.put(bytes("key"), bytes("value"));
        try (CallClient raw = CallClient.connect(new RdmaClient(arena), server.address(), Geometry.hello(), LIMIT)) {
            Geometry old = Geometry.of(raw.greeting()).orElseThrow();
            MemoryRegion region = raw.register(old.windowBytes());
            raw.read(old.address(), old.key(), region, old.windowBytes());
            assertTrue(server.resize(64));
            Bound.of(LIMIT).await("the old table is kept", () -> server.oldTables() == 0);
            FailedCompletionException refused = assertThrows(
                    FailedCompletionException.class,
                    () -> raw.read(old.address(), old.key(), region, old.windowBytes()));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, refused.status());
        }
        // The client does not notice but for the time that it takes.
        assertEquals("value", text(stalled.get(bytes("key"))));
        assertEquals(2, stalled.geometry().generation());
    }

    @Test
    void shouldReportAServerThatIsGoneAndFindTheNextOne() throws Exception {
        InetSocketAddress address = Lab.freeAddress(Lab.SECOND_HOST);
        TableOptions options = new TableOptions(64, 64, 128, 4, 8, LIMIT);
        TableServer first = server(address, options);
        TableClient client = TableClient.connect(arena, first.address(), Duration.ofSeconds(2));
        closed.add(client);
        client.put(bytes("key"), bytes("first"));
        first.close();
        assertThrows(TableException.class, () -> client.put(bytes("key"), bytes("lost")));
        assertThrows(TableException.class, () -> client.get(bytes("key")));
        TableServer second = server(address, options);
        assertEquals("none", text(client.get(bytes("key"))));
        second.close();
        server(address, options).put(bytes("key"), bytes("third"));
        assertEquals("third", text(client.get(bytes("key"))));
    }

    @Test
    void shouldReportAServerThatIsKilled() throws Exception {
        String port = Lab.portText();
        TableClient client;
        try (Program server = serve(port)) {
            client = TableClient.connect(arena, Lab.second(Integer.parseInt(port)), LIMIT);
            closed.add(client);
            client.put(bytes("key"), bytes("value"));
            assertEquals("value", text(client.get(bytes("key"))));
            server.kill();
            assertThrows(TableException.class, () -> client.get(bytes("key")));
            assertThrows(TableException.class, () -> client.put(bytes("key"), bytes("value")));
        }
        try (Program _ = serve(port)) {
            assertEquals("none", text(client.get(bytes("key"))));
        }
    }

    private static Program serve(String port) throws Exception {
        Program server = Program.java(List.of(), Rdma.class, "table", "serve", "-b", Lab.SECOND_HOST, "-p", port);
        server.await("until Ctrl-C");
        return server;
    }

    @Test
    void shouldEndWhenInterruptedAndGoOn() throws Exception {
        TableServer server = server(64, 64, 128, LIMIT);
        TableClient client = client(server);
        client.put(bytes("key"), bytes("value"));
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> client.get(bytes("key")));
        assertFalse(Thread.currentThread().isInterrupted());
        assertEquals("value", text(client.get(bytes("key"))));
    }

    @Test
    void shouldFindTheNextTableWhileTheServerHasAsManyClientsAsItTakes() throws Exception {
        TableServer server =
                server(Lab.freeAddress(Lab.SECOND_HOST), new TableOptions(64, 64, 128, 4, 1, Duration.ofMillis(1)));
        TableClient client = client(server);
        for (int i = 0; i < 20; i++) {
            client.put(bytes("key"), bytes("value " + i));
            assertTrue(server.resize(64));
            Bound.of(LIMIT).await("the old table is kept", () -> server.oldTables() == 0);
            assertEquals("value " + i, text(client.get(bytes("key"))));
        }
    }

    @Test
    void shouldNotConnectOnceItIsClosed() throws Exception {
        TableServer server = server(64, 64, 128, LIMIT);
        TableClient client = client(server);
        client.close();
        client.close();
        assertThrows(IllegalStateException.class, () -> client.get(bytes("key")));
        assertThrows(IllegalStateException.class, () -> client.ask(bytes("key")));
        assertThrows(IllegalStateException.class, () -> client.put(bytes("key"), bytes("value")));
        Bound.of(LIMIT).await("the client is still connected", () -> server.clients() == 0);
    }

    @Test
    void shouldEndCallsWhenAnotherThreadCloses() throws Exception {
        TableServer server = server(64, 64, 128, LIMIT);
        for (int i = 0; i < 20; i++) {
            TableClient client = client(server);
            AtomicLong gets = new AtomicLong();
            CompletableFuture<Void> ended = Async.start(() -> {
                while (true) {
                    client.get(bytes("key"));
                    gets.incrementAndGet();
                }
            });
            Bound.of(LIMIT).await("nothing is read", () -> gets.get() > 0);
            client.close();
            ExecutionException end =
                    assertThrows(ExecutionException.class, () -> ended.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS));
            assertInstanceOf(IllegalStateException.class, end.getCause());
        }
        Bound.of(LIMIT).await("clients are still connected", () -> server.clients() == 0);
    }

    @Test
    void shouldSayThatThereIsNoRoomWhenThereIsNoMemoryToGrow() throws Exception {
        String port = Lab.portText();
        try (Program server = Program.javaWith(
                List.of("-XX:MaxDirectMemorySize=100m"),
                Rdma.class,
                "table",
                "serve",
                "-b",
                Lab.SECOND_HOST,
                "-p",
                port,
                "--slot",
                "64KiB",
                "--window",
                "1")) {
            server.await("until Ctrl-C");
            TableClient client = TableClient.connect(arena, Lab.second(Integer.parseInt(port)), LIMIT);
            closed.add(client);
            int stored = 0;
            TableException full = null;
            while (full == null) {
                try {
                    client.put(bytes("key " + stored), bytes("value " + stored));
                    stored++;
                } catch (TableException e) {
                    full = e;
                }
            }
            assertTrue(full.getMessage().contains("no room for this key"), full.getMessage());
            for (int i = 0; i < stored; i++) {
                assertEquals("value " + i, text(client.get(bytes("key " + i))));
            }
        }
    }

    /** Devices of the kernel answer for processes that are stopped. */
    @Test
    void shouldNotKeepThePlaceOfAClientThatDoesNotAnswer() throws Exception {
        assumeTrue(!Lab.isInLab(), "devices of the kernel answer for processes that are stopped");
        TableServer server = serverThatAsks(1 << 12);
        try (Program bench = Program.java(
                List.of(),
                Rdma.class,
                "table",
                "bench",
                Lab.SECOND_HOST + ":" + server.address().getPort(),
                "--seconds",
                "3600",
                "--keys",
                "20")) {
            Bound.of(LIMIT).await("the clients do not come", () -> server.clients() == 2 || !bench.isAlive());
            assertTrue(bench.isAlive(), bench::toString);
            bench.signal("STOP");
            Bound.of(Lab.PATIENCE).await("the places stay taken", () -> server.clients() == 0);
        }
    }

    @Test
    void shouldKeepAClientThatIsSilent() throws Exception {
        TableServer server = serverThatAsks(64);
        server.put(bytes("key"), bytes("value"));
        try (CallClient raw = CallClient.connect(new RdmaClient(arena), server.address(), Geometry.hello(), LIMIT)) {
            raw.allocateMessages(120);
            // Longer than until the server asks its device.
            Thread.sleep(4 * SILENCE.toMillis());
            assertEquals(1, server.clients());
            CallMessage.write(raw.request(), Request.GEOMETRY, 0, 0);
            assertEquals(CallMessage.HEADER + Geometry.BYTES, raw.call(CallMessage.HEADER));
        }
    }
}
