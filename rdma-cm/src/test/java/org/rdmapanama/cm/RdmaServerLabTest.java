package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.Lab;

/** Servers and clients of one process, over RoCE and over iWARP. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are closed earlier
class RdmaServerLabTest {
    private static final int PORT = 7475;
    private static final int BYTES = 64;
    private static final int CLIENTS = 6;

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    private static RdmaConnectionOptions from(LabWire network) {
        return new RdmaConnectionOptions()
                .sendWorkRequests(8)
                .receiveWorkRequests(8)
                .localAddress(network.first(0));
    }

    /** Receives one message and answers it. */
    private static final class Peer {
        final VerbsArena arena;
        MemoryRegion region;

        Peer(VerbsArena arena) {
            this.arena = arena;
        }

        void prepare(RdmaConnection connection) {
            region = connection.protectionDomain().register(arena.allocate(2 * BYTES), LOCAL_WRITE);
            connection
                    .queuePair()
                    .postReceive(ReceiveWorkRequest.allocate(arena, 1).add(region, BYTES, BYTES));
        }

        void send(RdmaConnection connection, String text) throws Exception {
            post(connection, text);
            complete(connection.sendQueue());
        }

        void post(RdmaConnection connection, String text) {
            region.memory().setString(0, text);
            connection
                    .queuePair()
                    .postSend(SendWorkRequest.allocate(arena, 1)
                            .send()
                            .add(region, 0, BYTES)
                            .signaled(true));
        }

        String receive(RdmaConnection connection) throws Exception {
            complete(connection.receiveQueue());
            return region.memory().getString(BYTES);
        }

        private void complete(CompletionQueue queue) throws InterruptedException {
            WorkCompletions completions = new WorkCompletions(arena, 1);
            Completions.awaitAny(queue, completions);
            assertEquals(CompletionStatus.SUCCESS, completions.status(0), () -> completions.describe(0));
        }
    }

    @ParameterizedTest
    @EnumSource
    @Shows("rdma_destroy_qp")
    void shouldServeSeveralClientsAtOnce(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, network.second(PORT));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            RdmaClient client = new RdmaClient(arena);
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                String name = "client " + i;
                all.add(threads.submit(() -> {
                    Peer peer = new Peer(arena);
                    try (RdmaConnection connection = client.connect(
                            network.second(PORT),
                            from(network).privateData(PrivateData.bytes(name)).prepare(peer::prepare),
                            Lab.SECONDS)) {
                        assertEquals("for " + name, PrivateData.text(connection.privateData()));
                        assertTrue(connection.isConnected());
                        peer.send(connection, name);
                        assertEquals("hello, " + name, peer.receive(connection));
                        connection.disconnect(Lab.SECONDS);
                        assertFalse(connection.isConnected());
                        peer.region.close();
                    }
                    return null;
                }));
            }
            for (int i = 0; i < CLIENTS; i++) {
                ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
                all.add(threads.submit(() -> {
                    String name = PrivateData.text(request.privateData());
                    Peer peer = new Peer(arena);
                    RdmaConnectionOptions options = new RdmaConnectionOptions()
                            .sendWorkRequests(8)
                            .receiveWorkRequests(8)
                            .privateData(PrivateData.bytes("for " + name))
                            .prepare(peer::prepare);
                    try (RdmaConnection connection = request.accept(options, Lab.SECONDS)) {
                        assertEquals(name, peer.receive(connection));
                        // On iWARP the client may have ended the connection before this completes.
                        peer.post(connection, "hello, " + name);
                        assertTrue(connection.awaitDisconnect(Lab.SECONDS));
                        assertFalse(connection.isConnected());
                        peer.region.close();
                    }
                    return null;
                }));
            }
            for (Future<?> each : all) {
                each.get(60, TimeUnit.SECONDS);
            }
        }
        Lab.assertNothingLeft(before);
    }

    @ParameterizedTest
    @EnumSource
    void shouldSleepUntilSomethingCompletes(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            Peer serving = new Peer(arena);
            RdmaConnectionOptions options = new RdmaConnectionOptions()
                    .completionEvents(true)
                    .prepare(connection -> {
                        serving.prepare(connection);
                        connection.receiveQueue().requestNotification(false);
                    });
            RdmaServer server =
                    RdmaServer.listen(arena, network.second(0), new RdmaServerOptions().connections(options));
            InetSocketAddress address = server.localAddress();
            assertTrue(address.getPort() > 0);
            Future<RdmaConnection> accepted =
                    threads.submit(() -> server.accept(Lab.SECONDS).orElseThrow());
            Peer asking = new Peer(arena);
            try (RdmaConnection connection = new RdmaClient(arena)
                            .connect(address, from(network).prepare(asking::prepare), Lab.SECONDS);
                    RdmaConnection other = accepted.get(30, TimeUnit.SECONDS)) {
                // The server outlives nothing, and its connections outlive it.
                server.close();
                assertEquals(address, connection.remoteAddress());
                assertEquals(connection.localAddress(), other.remoteAddress());
                asking.send(connection, "wake up");
                assertSame(other.receiveQueue(), other.completionChannel().await(Lab.SECONDS));
                assertEquals("wake up", serving.receive(other));
                assertFalse(other.awaitDisconnect(Duration.ZERO));
                other.close();
                assertTrue(connection.awaitDisconnect(Lab.SECONDS));
            }
        }
        Lab.assertNothingLeft(before);
    }

    @ParameterizedTest
    @EnumSource
    void shouldSayWhyThereIsNoConnection(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, network.second(PORT));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            RdmaClient client = new RdmaClient(arena);
            // It takes seconds: meanwhile there is more to see.
            Future<RdmaConnection> nowhere =
                    threads.submit(() -> client.connect(network.nobody(PORT), from(network), Duration.ofSeconds(4)));
            RejectedException nobody = assertThrows(
                    RejectedException.class,
                    () -> client.connect(network.second(PORT + 1), from(network), Lab.SECONDS));
            assertEquals(network.nobodyListens(), nobody.status());
            assertEquals("ECONNREFUSED", nobody.errnoName());
            // TCP is refused while the function waits for it; no event tells.
            assertEquals(network == LabWire.ROCE ? CmEventType.REJECTED : null, nobody.event());
            assertTrue(nobody.getMessage().contains("nobody listens at "), nobody::getMessage);
            String address = network.second(PORT + 1).getAddress().getHostAddress() + ":" + (PORT + 1);
            assertTrue(nobody.getMessage().contains(" to " + address), nobody::getMessage);

            Future<RdmaConnection> connecting =
                    threads.submit(() -> client.connect(network.second(PORT), from(network), Lab.SECONDS));
            server.awaitRequest(Lab.SECONDS).orElseThrow().reject(PrivateData.bytes("full"));
            RejectedException full = rejection(connecting);
            assertEquals(network.rejected(), full.status());
            assertEquals("full", PrivateData.text(full.privateData()));

            // Nobody answers the request until the server closes.
            Future<RdmaConnection> ignored =
                    threads.submit(() -> client.connect(network.second(PORT), from(network), Lab.SECONDS));
            assertTrue(server.awaitRequest(Lab.SECONDS).isPresent());
            server.close();
            assertEquals(network == LabWire.ROCE ? 28 : -104, rejection(ignored).status());

            ConnectionException unreachable = assertInstanceOf(
                    ConnectionException.class,
                    assertThrows(ExecutionException.class, () -> nowhere.get(30, TimeUnit.SECONDS))
                            .getCause());
            // soft0 has the loopback addresses only. Without any route, the system says so first.
            boolean isElsewhere = unreachable.errnoName().equals("ENODEV")
                    && unreachable.getMessage().contains("RDMA_SOFT_ADDRESS=all");
            assertTrue(
                    isElsewhere
                            || List.of("ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH")
                                    .contains(unreachable.errnoName()),
                    unreachable::getMessage);
            ConnectionException notHere = assertThrows(
                    ConnectionException.class,
                    () -> RdmaServer.listen(arena, new InetSocketAddress("192.0.2.1", PORT)));
            assertEquals("rdma_bind_addr", notHere.verb());
        }
        Lab.assertNothingLeft(before);
    }

    private static RejectedException rejection(Future<RdmaConnection> connecting) {
        ExecutionException failed = assertThrows(ExecutionException.class, () -> connecting.get(30, TimeUnit.SECONDS));
        return (RejectedException) failed.getCause();
    }

    @ParameterizedTest
    @EnumSource
    void shouldEndAWaitWhenItCloses(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            RdmaServer server = RdmaServer.listen(arena, network.second(PORT));
            assertTrue(server.accept(Duration.ofMillis(60)).isEmpty());
            Future<?> waiting = threads.submit(() -> server.accept(Duration.ofMinutes(5)));
            Thread.sleep(300);
            server.close();
            ExecutionException ended = assertThrows(ExecutionException.class, () -> waiting.get(10, TimeUnit.SECONDS));
            assertTrue(ended.getCause() instanceof IllegalStateException, ended::toString);
            IllegalStateException late = assertThrows(IllegalStateException.class, () -> server.accept(Duration.ZERO));
            assertEquals("server at " + CmId.hostAndPort(server.localAddress()) + " is closed", late.getMessage());

            try (RdmaServer other = RdmaServer.listen(arena, network.second(PORT))) {
                Thread interrupted = Thread.currentThread();
                Future<?> interrupting = threads.submit(() -> {
                    Thread.sleep(300);
                    interrupted.interrupt();
                    return null;
                });
                assertThrows(InterruptedException.class, () -> other.accept(Duration.ofMinutes(5)));
                interrupting.get(10, TimeUnit.SECONDS);
                assertThrows(
                        ConnectionException.class,
                        () -> RdmaServer.listen(arena, network.second(PORT)),
                        "the port is taken");
            }
        }
        Lab.assertNothingLeft(before);
    }

    @ParameterizedTest
    @EnumSource
    void shouldMakeQueuePairsWhereItIsTold(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ProtectionDomain own = open(arena, network.second(0)).allocateProtectionDomain();
                RdmaServer server = RdmaServer.listen(
                        arena,
                        network.second(PORT),
                        new RdmaServerOptions().connections(new RdmaConnectionOptions().protectionDomain(own)));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            ProtectionDomain other = open(arena, network.first(0)).allocateProtectionDomain();
            RdmaClient client = new RdmaClient(arena);
            for (int i = 0; i < 2; i++) {
                Future<RdmaConnection> accepted =
                        threads.submit(() -> server.accept(Lab.SECONDS).orElseThrow());
                try (RdmaConnection left = client.connect(
                                network.second(PORT), from(network).protectionDomain(other), Lab.SECONDS);
                        RdmaConnection right = accepted.get(30, TimeUnit.SECONDS)) {
                    assertSame(other, left.protectionDomain());
                    assertSame(other, left.queuePair().protectionDomain());
                    assertSame(own, right.protectionDomain());
                    assertSame(own.context(), right.queuePair().context());
                }
                assertTrue(own.isOpen() && other.isOpen(), "they are the caller's");
            }
            if (Lab.isInLab()) {
                // One of a device that the connection does not come through.
                IllegalArgumentException wrong = assertThrows(
                        IllegalArgumentException.class,
                        () -> client.connect(network.second(PORT), from(network).protectionDomain(own), Lab.SECONDS));
                assertTrue(wrong.getMessage().contains(other.context().deviceName()), wrong::getMessage);
            }
            other.close();
            assertThrows(
                    IllegalStateException.class,
                    () -> client.connect(network.second(PORT), from(network).protectionDomain(other), Lab.SECONDS));
        }
        Lab.assertNothingLeft(before);
    }

    /** The device that has an address. */
    private static Context open(VerbsArena arena, InetSocketAddress address) {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.bind(address);
            return id.openContext(arena);
        }
    }

    /** On iWARP bytes come as they were sent; InfiniBand fills them up with zeros, to 56 and 196. */
    @ParameterizedTest
    @EnumSource
    void shouldCarryPrivateDataBothWays(LabWire network) throws Exception {
        boolean roce = network == LabWire.ROCE;
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, network.second(PORT));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            RdmaClient client = new RdmaClient(arena);
            for (int length : new int[] {0, 1, 56}) {
                byte[] question = random(length);
                byte[] answer = random((roce ? 196 : 100) - length);
                Future<RdmaConnection> accepted = threads.submit(() -> server.awaitRequest(Lab.SECONDS)
                        .orElseThrow()
                        .accept(new RdmaConnectionOptions().privateData(answer), Lab.SECONDS));
                try (RdmaConnection left = client.connect(
                                network.second(PORT), from(network).privateData(question), Lab.SECONDS);
                        RdmaConnection right = accepted.get(30, TimeUnit.SECONDS)) {
                    assertArrayEquals(roce ? Arrays.copyOf(question, 56) : question, right.privateData());
                    assertArrayEquals(roce ? Arrays.copyOf(answer, 196) : answer, left.privateData());
                }
            }
            byte[] reason = random(roce ? 148 : 100);
            Future<RdmaConnection> rejected =
                    threads.submit(() -> client.connect(network.second(PORT), from(network), Lab.SECONDS));
            server.awaitRequest(Lab.SECONDS).orElseThrow().reject(reason);
            assertArrayEquals(reason, rejection(rejected).privateData());
            IllegalArgumentException tooMany = assertThrows(
                    IllegalArgumentException.class,
                    () -> new RdmaClient(arena)
                            .connect(
                                    network.second(PORT),
                                    from(network).privateData(new byte[roce ? 57 : 256]),
                                    Lab.SECONDS));
            assertTrue(tooMany.getMessage().contains(roce ? "56" : "255"), tooMany::getMessage);
        }
        Lab.assertNothingLeft(before);
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    /** Some that wait in the kernel, and one that was taken. */
    @ParameterizedTest
    @EnumSource
    void shouldEndPendingRequestsWhenItCloses(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, network.second(PORT));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            RdmaClient client = new RdmaClient(arena);
            List<Future<RdmaConnection>> pending = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                pending.add(threads.submit(() -> client.connect(network.second(PORT), from(network), Lab.SECONDS)));
            }
            assertTrue(server.awaitRequest(Lab.SECONDS).isPresent());
            Thread.sleep(500);
            Bound bound = Bound.ofSeconds(15);
            server.close();
            for (Future<RdmaConnection> each : pending) {
                ExecutionException failed =
                        assertThrows(ExecutionException.class, () -> each.get(30, TimeUnit.SECONDS));
                ConnectionException exception = assertInstanceOf(ConnectionException.class, failed.getCause());
                assertTrue(
                        List.of("ECONNREFUSED", "ECONNRESET").contains(exception.errnoName()), exception::getMessage);
            }
            bound.check("the clients were not refused at once");
        }
        Lab.assertNothingLeft(before);
    }

    private static byte[] numberOf(RdmaConnection connection) {
        return ByteBuffer.allocate(Integer.BYTES)
                .putInt(connection.queuePair().number())
                .array();
    }

    private static int number(byte[] privateData) {
        return ByteBuffer.wrap(privateData).getInt();
    }

    @ParameterizedTest
    @EnumSource
    void shouldMakePrivateDataOfEachConnection(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, network.second(PORT))) {
            RdmaConnectionOptions options = from(network).privateData(RdmaServerLabTest::numberOf);
            CompletableFuture<RdmaConnection> client =
                    Async.start(() -> new RdmaClient(arena).connect(network.second(PORT), options, Lab.SECONDS));
            ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
            RdmaConnection accepted =
                    request.accept(new RdmaConnectionOptions().privateData(RdmaServerLabTest::numberOf), Lab.SECONDS);
            RdmaConnection connected = Async.get(client);
            assertEquals(connected.queuePair().number(), number(request.privateData()));
            assertEquals(accepted.queuePair().number(), number(connected.privateData()));
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldNotConnectWithoutThePrivateDataOfAFunction(LabWire network) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, network.second(PORT))) {
            RdmaConnectionOptions options = from(network).privateData(connection -> {
                throw new UnsupportedOperationException(
                        "no data for " + connection.queuePair().type());
            });
            UnsupportedOperationException e = assertThrows(
                    UnsupportedOperationException.class,
                    () -> new RdmaClient(arena).connect(network.second(PORT), options, Lab.SECONDS));
            assertEquals("no data for RC", e.getMessage());
            assertTrue(server.awaitRequest(Duration.ofMillis(200)).isEmpty());
        }
    }
}
