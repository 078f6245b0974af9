package org.rdmapanama.samples.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.ToIntBiFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.samples.calls.CallClient;
import org.rdmapanama.samples.calls.CallException;
import org.rdmapanama.samples.calls.CallMessage;
import org.rdmapanama.samples.calls.CallServer;
import org.rdmapanama.samples.calls.Service;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** Clients and servers that do what ours do not. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostilePeersLabTest {
    private static final Duration LIMIT = Lab.SECONDS;
    private static final Duration SHORT = Duration.ofMillis(500);
    private static final int MAX_CLIENTS = 4;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final List<AutoCloseable> closed = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable each : closed.reversed()) {
            each.close();
        }
        arena.close();
    }

    private <T extends AutoCloseable> T closing(T object) {
        closed.add(object);
        return object;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private TableServer server() {
        return closing(TableServer.start(
                Lab.freeAddress(Lab.SECOND_HOST), new TableOptions(64, 256, 128, 4, MAX_CLIENTS, LIMIT)));
    }

    private CallClient raw(TableServer server) throws InterruptedException {
        CallClient raw = closing(CallClient.connect(new RdmaClient(arena), server.address(), Geometry.hello(), LIMIT));
        raw.allocateMessages(120);
        return raw;
    }

    private void checkServes(TableServer server) throws InterruptedException {
        try (TableClient good = TableClient.connect(arena, server.address(), LIMIT)) {
            good.put(bytes("key"), bytes("value"));
            assertEquals("value", new String(good.get(bytes("key")).orElseThrow(), StandardCharsets.UTF_8));
            assertEquals("value", new String(good.ask(bytes("key")).orElseThrow(), StandardCharsets.UTF_8));
        }
    }

    @Test
    void shouldRefuseOtherPrivateData() throws Exception {
        TableServer server = server();
        Random random = new Random(5);
        for (int i = 0; i < 20; i++) {
            byte[] bad = new byte[random.nextInt(56)];
            random.nextBytes(bad);
            assertThrows(
                    CallException.class, () -> CallClient.connect(new RdmaClient(arena), server.address(), bad, LIMIT));
        }
        checkServes(server);
    }

    @Test
    void shouldEndConnectionsWithBadRequests() throws Exception {
        TableServer server = server();
        // Kind, length of the key, length of the value, length of the message.
        int[][] requests = {
            {Request.GET, 0, 0, 0},
            {Request.GET, 0, 0, 15},
            {Request.GET, 5, 0, 20},
            {Request.GET, 4, 0, 21},
            {Request.PUT, 8, -4, 20},
            {Request.PUT, -4, 8, 20},
            {Request.PUT, Integer.MAX_VALUE, Integer.MAX_VALUE, 20},
            {Request.PUT, Integer.MIN_VALUE, Integer.MIN_VALUE, 16},
            {Request.REMOVE, 1 << 30, 4 - (1 << 30), 20},
            {0, 0, 0, 16},
            {99, 0, 0, 16},
            {-1, 2, 2, 20},
        };
        for (int[] each : requests) {
            try (CallClient raw = raw(server)) {
                CallMessage.write(raw.request(), each[0], each[1], each[2]);
                assertThrows(RuntimeException.class, () -> raw.call(each[3]), () -> java.util.Arrays.toString(each));
            }
            closed.removeLast();
        }
        // One that is longer than any request.
        try (CallClient raw = CallClient.connect(new RdmaClient(arena), server.address(), Geometry.hello(), LIMIT)) {
            raw.allocateMessages(4000);
            assertThrows(RuntimeException.class, () -> raw.call(4000));
        }
        // Requests that are in order, and ask for what cannot be.
        CallClient raw = raw(server);
        assertEquals(Request.TOO_LONG, status(raw, Request.PUT, 0, 4));
        assertEquals(Request.ABSENT, status(raw, Request.GET, 0, 0));
        assertEquals(Request.ABSENT, status(raw, Request.REMOVE, 0, 0));
        assertEquals(Request.OK, status(raw, Request.PUT, 104, 0));
        assertEquals(Request.OK, status(raw, Request.GET, 104, 0));
        checkServes(server);
    }

    private static int status(CallClient raw, int kind, int key, int value) throws InterruptedException {
        CallMessage.write(raw.request(), kind, key, value);
        raw.call(CallMessage.HEADER + key + value);
        return CallMessage.kind(raw.answer());
    }

    @Test
    void shouldServeOthersBesideClientsThatTakeNoAnswers() throws Exception {
        TableServer server = server();
        for (int i = 0; i < 2; i++) {
            RdmaConnection flood = closing(new RdmaClient(arena)
                    .connect(
                            server.address(),
                            new RdmaConnectionOptions().sendWorkRequests(1000).privateData(Geometry.hello()),
                            LIMIT));
            MemoryRegion message = flood.register(120, AccessFlag.LOCAL_WRITE);
            Request.write(
                    message.memory(),
                    Request.PUT,
                    MemorySegment.ofArray(bytes("flood")),
                    0,
                    5,
                    MemorySegment.ofArray(new byte[64]));
            SendWorkRequest request = SendWorkRequest.allocate(flood.queuePair(), 1)
                    .send()
                    .add(message, 0, 85)
                    .signaled(true);
            for (int n = 0; n < 1000; n++) {
                flood.queuePair().postSend(request);
            }
        }
        TableClient good = closing(TableClient.connect(arena, server.address(), LIMIT));
        for (int i = 0; i < 200; i++) {
            byte[] value = bytes("value " + i);
            good.put(bytes("key"), value);
            assertArrayEquals(value, good.get(bytes("key")).orElseThrow());
            assertArrayEquals(value, good.ask(bytes("key")).orElseThrow());
        }
        assertTrue(server.get(bytes("flood")).isPresent());
    }

    @Test
    void shouldServeAsManyClientsAsAreAllowed() throws Exception {
        TableServer server = server();
        for (int i = 0; i < MAX_CLIENTS; i++) {
            raw(server);
        }
        Bound.of(LIMIT).await("not all are served", () -> server.clients() == MAX_CLIENTS);
        TableException full =
                assertThrows(TableException.class, () -> TableClient.connect(arena, server.address(), LIMIT));
        assertTrue(full.getMessage().contains("as many clients as it takes"), full.getMessage());
        closed.removeLast().close();
        Bound.of(LIMIT).await("the place stays taken", () -> server.clients() < MAX_CLIENTS);
        checkServes(server);
    }

    @Test
    void shouldLetNobodyWriteTheTableOrReadBesideIt() throws Exception {
        TableServer server = server();
        checkServes(server);
        for (int i = 0; i < 3; i++) {
            RdmaConnection connection = closing(new RdmaClient(arena)
                    .connect(server.address(), new RdmaConnectionOptions().privateData(Geometry.hello()), LIMIT));
            Geometry geometry = Geometry.of(connection.privateData()).orElseThrow();
            MemoryRegion memory = connection.register(256, AccessFlag.LOCAL_WRITE);
            SendWorkRequest request = SendWorkRequest.allocate(connection.queuePair(), 1);
            switch (i) {
                case 0 -> request.rdmaWrite(geometry.address(), geometry.key()).add(memory, 0, 128);
                case 1 ->
                    request.fetchAndAdd(geometry.address(), geometry.key(), 1).add(memory, 0, 8);
                default ->
                    request.rdmaRead(geometry.address() + geometry.byteSize() - 128, geometry.key())
                            .add(memory, 0, 256);
            }
            connection.queuePair().postSend(request.signaled(true));
            WorkCompletions completions = new WorkCompletions(connection.sendQueue(), 1);
            Bound.of(LIMIT)
                    .await("nothing completes", () -> connection.sendQueue().poll(completions) == 1);
            assertThrows(FailedCompletionException.class, () -> completions.check(0));
            closed.removeLast().close();
        }
        checkServes(server);
    }

    /** A server that says what a test wants. */
    private final class Liar implements Service {
        private final Function<RdmaConnection, byte[]> greeting;
        private final ToIntBiFunction<MemorySegment, MemorySegment> answers;

        Liar(Function<RdmaConnection, byte[]> greeting, ToIntBiFunction<MemorySegment, MemorySegment> answers) {
            this.greeting = greeting;
            this.answers = answers;
        }

        @Override
        public boolean accepts(byte[] privateData) {
            return true;
        }

        @Override
        public Client connecting(RdmaConnection connection) {
            return new Client() {
                @Override
                public byte[] greeting() {
                    return greeting.apply(connection);
                }

                @Override
                public int answer(MemorySegment request, MemorySegment answer) {
                    return answers.applyAsInt(request, answer);
                }
            };
        }

        CallServer start() {
            return closing(CallServer.start(Lab.freeAddress(Lab.SECOND_HOST), this, 4096, 16));
        }
    }

    private static Geometry geometry(long address, int key, int generation) {
        return new Geometry(address, key, generation, 16, 128, 4, 7);
    }

    /** Memory that a client may read, of which each word has one value. */
    private static Geometry memory(RdmaConnection connection, long word, int generation) {
        MemorySegment memory = Arena.ofAuto().allocate(geometry(0, 0, 1).byteSize(), 64);
        for (long at = 0; at < memory.byteSize(); at += Long.BYTES) {
            memory.set(Slot.LONG, at, word);
        }
        MemoryRegion region = connection.protectionDomain().register(memory, AccessFlag.REMOTE_READ);
        return geometry(region.address(), region.rkey(), generation);
    }

    private static int nothing(MemorySegment request, MemorySegment answer) {
        throw new Service.BadRequestException("not answered");
    }

    @Test
    void shouldRefuseGreetingsThatAreNotOfATable() {
        byte[][] greetings = {
            {},
            new byte[44],
            geometry(0, 0, -1).bytes(),
            new Geometry(0, 0, 1, Integer.MAX_VALUE, 128, 4, 7).bytes(),
            new Geometry(0, 0, 1, 1 << 27, 65536, 16, 7).bytes(),
            new Geometry(0, 0, 1, 16, Integer.MAX_VALUE, 64, 7).bytes(),
            new Geometry(-128, 0, 1, 16, 128, 4, 7).bytes()
        };
        for (byte[] each : greetings) {
            CallServer liar = new Liar(_ -> each, HostilePeersLabTest::nothing).start();
            TableException refused =
                    assertThrows(TableException.class, () -> TableClient.connect(arena, liar.address(), LIMIT));
            assertTrue(refused.getMessage().contains("does not describe a table"), refused.getMessage());
        }
    }

    @Test
    void shouldReportKeysThatDoNotFit() throws Exception {
        CallServer liar = new Liar(_ -> geometry(1 << 20, 12345, 1).bytes(), HostilePeersLabTest::nothing).start();
        TableClient client = closing(TableClient.connect(arena, liar.address(), LIMIT));
        assertThrows(TableException.class, () -> client.get(bytes("key")));
        assertThrows(TableException.class, () -> client.get(bytes("key")));
    }

    @Test
    void shouldNotGoRoundInCirclesWithTornSlots() throws Exception {
        Random random = new Random(4);
        AtomicInteger turn = new AtomicInteger();
        CallServer liar = new Liar(
                        connection ->
                                memory(connection, random.nextLong() << 1, 1).bytes(),
                        (_, answer) -> {
                            // A length that is not that of the message, or a status that there is not.
                            int[][] answers = {
                                {0, -1}, {0, 5}, {0, Integer.MAX_VALUE}, {0, Integer.MIN_VALUE}, {7, 4}, {-1, 4}
                            };
                            int[] now = answers[turn.getAndIncrement() % answers.length];
                            CallMessage.write(answer, now[0], now[1], 0);
                            return CallMessage.HEADER + 4;
                        })
                .start();
        TableClient client = closing(TableClient.connect(arena, liar.address(), LIMIT));
        for (int i = 0; i < 6; i++) {
            assertThrows(TableException.class, () -> client.get(bytes("key")));
        }
        assertTrue(client.retries() >= 6 * TableClient.MOST_READS, () -> client.retries() + " retries");
        for (int i = 0; i < 6; i++) {
            assertThrows(TableException.class, () -> client.ask(bytes("key")));
            assertThrows(TableException.class, () -> client.put(bytes("key"), bytes("value")));
        }
    }

    @Test
    void shouldNotFollowATableThatMovesForEver() throws Exception {
        AtomicInteger generation = new AtomicInteger();
        AtomicInteger asked = new AtomicInteger();
        Geometry[] last = new Geometry[1];
        CallServer liar = new Liar(
                        connection -> {
                            last[0] = memory(connection, Slot.MOVED, generation.incrementAndGet());
                            return last[0].bytes();
                        },
                        (_, answer) -> {
                            asked.incrementAndGet();
                            byte[] next = geometry(last[0].address(), last[0].key(), generation.incrementAndGet())
                                    .bytes();
                            return Request.answer(answer, Request.OK, MemorySegment.ofArray(next));
                        })
                .start();
        TableClient client = closing(TableClient.connect(arena, liar.address(), LIMIT));
        TableException moving = assertThrows(TableException.class, () -> client.get(bytes("key")));
        assertTrue(moving.getMessage().contains("was replaced 17 times"), moving.getMessage());
        assertEquals(32, asked.get(), "questions, before and after a new connection");
    }

    @Test
    void shouldRefuseAnotherTableThatIsNotALaterOneOfTheSameKind() throws Exception {
        Geometry[] others = {
            geometry(4096, 1, 3),
            geometry(4096, 1, 2),
            new Geometry(4096, 1, 4, 16, 256, 4, 7),
            new Geometry(4096, 1, 4, 16, 128, 8, 7),
            new Geometry(4096, 1, 4, 15, 128, 4, 7)
        };
        for (Geometry each : others) {
            CallServer liar = new Liar(
                            connection -> memory(connection, Slot.MOVED, 3).bytes(),
                            (_, answer) -> Request.answer(answer, Request.OK, MemorySegment.ofArray(each.bytes())))
                    .start();
            TableClient client = closing(TableClient.connect(arena, liar.address(), LIMIT));
            assertThrows(TableException.class, () -> client.get(bytes("key")), each::toString);
        }
    }

    @Test
    void shouldNotWaitForEver() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        CallServer liar = new Liar(connection -> memory(connection, 3, 1).bytes(), (_, _) -> {
                    try {
                        end.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    throw new Service.BadRequestException("too late");
                })
                .start();
        try {
            TableClient client = closing(TableClient.connect(arena, liar.address(), SHORT));
            TableException late = assertThrows(TableException.class, () -> client.get(bytes("key")));
            assertTrue(late.getMessage().contains("no answer"), late.getMessage());
            assertThrows(TableException.class, () -> client.put(bytes("key"), bytes("value")));
        } finally {
            end.countDown();
        }
    }

    @Test
    void shouldNotTakeTheTimeoutForEachStepOfAGet() throws Exception {
        Duration slow = SHORT.dividedBy(2).plusMillis(50);
        AtomicInteger generation = new AtomicInteger();
        AtomicInteger asked = new AtomicInteger();
        Geometry[] last = new Geometry[1];
        CallServer liar = new Liar(
                        connection -> {
                            last[0] = memory(connection, Slot.MOVED, generation.incrementAndGet());
                            return last[0].bytes();
                        },
                        (request, answer) -> {
                            asked.incrementAndGet();
                            if (CallMessage.kind(request) == Request.GET) {
                                return Request.answer(answer, Request.ABSENT, MemorySegment.ofArray(new byte[0]));
                            }
                            LockSupport.parkNanos(slow.toNanos());
                            byte[] next = geometry(last[0].address(), last[0].key(), generation.incrementAndGet())
                                    .bytes();
                            return Request.answer(answer, Request.OK, MemorySegment.ofArray(next));
                        })
                .start();
        TableClient client = closing(TableClient.connect(arena, liar.address(), SHORT));
        try {
            assertTrue(client.get(bytes("key")).isEmpty());
        } catch (TableException e) {
            // The machine is slow: an answer has come too late.
            assertTrue(e.getMessage().contains("no answer"), e.getMessage());
        }
        // Two about the table and a get by message, twice if there was a new connection.
        assertTrue(asked.get() <= 6, () -> asked + " questions, each of which took more than half of the timeout");
    }
}
