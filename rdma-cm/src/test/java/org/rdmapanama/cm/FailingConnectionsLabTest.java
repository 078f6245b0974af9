package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.Descriptors;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.rsocket.RServerSocketChannel;
import org.rdmapanama.rsocket.RSocketChannel;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.SleepingCall;

/**
 * Whatever a program calls, and whichever call of the connection manager behind it fails: the program is told, nothing is
 * left over, and the same works afterwards.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings({"try", "CheckReturnValue"}) // some are closed earlier
class FailingConnectionsLabTest {
    private static final int FIRST_PORT = 7700;
    private static final int PORTS = 200;
    private static final AtomicInteger SCENES = new AtomicInteger();
    private static final int MOST_CALLS = 200;
    private static final InetSocketAddress GROUP = new InetSocketAddress("239.77.0.9", 0);

    /** A call; what it returns is closed. */
    @FunctionalInterface
    private interface Call {
        AutoCloseable run() throws Exception;
    }

    /** Makes what the call needs; that is closed in reverse. */
    @FunctionalInterface
    private interface Use {
        Call prepare(Scene scene) throws Exception;
    }

    private ConnectionManager usual;
    private FailingConnectionManager manager;

    @BeforeEach
    void replaceManager() {
        assumeTrue(!Lab.isInLab(), "the kernel's connection manager repeats and waits for seconds where a peer fails");
        usual = ConnectionManagers.preferred();
        manager = FailingConnectionManager.of(usual);
        ConnectionManagers.replace(manager);
    }

    @AfterEach
    void putBackManager() {
        if (usual != null) {
            ConnectionManagers.replace(usual);
        }
    }

    /** Objects of one run. */
    private static final class Scene implements AutoCloseable {
        final VerbsArena arena = VerbsArena.ofShared();

        /** Another one for each run: requests of the run before may arrive late. */
        final int port = FIRST_PORT + SCENES.getAndIncrement() % PORTS;

        private final List<AutoCloseable> all = new ArrayList<>();
        private final List<Thread> threads = new ArrayList<>();
        private volatile boolean closing;
        private RdmaServer server;

        <T extends AutoCloseable> T keep(T object) {
            all.add(object);
            return object;
        }

        /** A thread that does this again and again, whether it fails or not. */
        void again(Call call) {
            Thread thread = Thread.ofPlatform().daemon().start(() -> {
                List<AutoCloseable> made = new ArrayList<>();
                while (!closing) {
                    try {
                        made.add(call.run());
                    } catch (Exception e) {
                        // The other side failed.
                    }
                }
                Releasing.each(made.stream().filter(each -> each != null).toArray(AutoCloseable[]::new));
            });
            threads.add(thread);
        }

        RdmaServer server() {
            server = keep(RdmaServer.listen(arena, Lab.second(port), new RdmaServerOptions().connections(options())));
            return server;
        }

        /** How many ids the server holds for clients that nobody has taken yet. */
        int held() {
            return server == null ? 0 : server.pending();
        }

        /** A server that accepts all. */
        RdmaServer accepting() {
            RdmaServer server = server();
            again(() -> {
                Optional<ConnectionRequest> request = server.awaitRequest(Duration.ofMillis(100));
                // Longer than a client that is slow takes to answer.
                return request.isPresent() ? request.get().accept(options(), Duration.ofSeconds(10)) : null;
            });
            return server;
        }

        /** Clients of a server, one after the other. */
        void clients() {
            again(() -> new RdmaClient(arena).connect(Lab.second(port), options(), Duration.ofSeconds(10)));
        }

        RdmaConnection connection() throws Exception {
            return Waits.connection(arena, port, all);
        }

        TwoIds listening() throws Exception {
            return keep(TwoIds.listening(PortSpace.TCP, port));
        }

        TwoIds resolved() throws Exception {
            return keep(TwoIds.resolved(PortSpace.TCP, port));
        }

        EventChannel channel() {
            return keep(EventChannel.create());
        }

        SynchronousId synchronous(PortSpace portSpace) {
            return keep(SynchronousId.create(portSpace));
        }

        /** The other side's wait ends with what it waits for. */
        @Override
        public void close() {
            closing = true;
            List<AutoCloseable> last = new ArrayList<>(all.reversed());
            threads.forEach(each -> last.add(() -> assertTrue(each.join(Lab.SECONDS), "a thread does not end")));
            last.add(arena);
            Releasing.each(last.toArray(AutoCloseable[]::new));
        }
    }

    private static RdmaConnectionOptions options() {
        return new RdmaConnectionOptions()
                .sendWorkRequests(4)
                .receiveWorkRequests(4)
                .localAddress(Lab.first(0));
    }

    private static AddressInfo info() {
        return AddressInfo.resolve(Lab.SECOND_HOST, Integer.toString(FIRST_PORT), new AddressInfoOptions())
                .getFirst();
    }

    private static Call none(AutoCloseable call) {
        return () -> {
            call.close();
            return null;
        };
    }

    private static Map<String, Use> uses() {
        Map<String, Use> uses = new LinkedHashMap<>();
        ofServersAndClients(uses);
        ofConnections(uses);
        ofChannels(uses);
        ofSynchronousIds(uses);
        ofIds(uses);
        ofQueuePairs(uses);
        ofGroups(uses);
        return uses;
    }

    private static void ofServersAndClients(Map<String, Use> uses) {
        uses.put("RdmaServer.listen", scene -> () -> RdmaServer.listen(scene.arena, Lab.second(scene.port)));
        uses.put("RdmaServer.awaitRequest", scene -> {
            RdmaServer server = scene.server();
            scene.clients();
            return () -> server.awaitRequest(Lab.SECONDS).orElseThrow().id();
        });
        uses.put("RdmaServer.accept", scene -> {
            RdmaServer server = scene.server();
            scene.clients();
            return () -> server.accept(Lab.SECONDS).orElseThrow();
        });
        uses.put("RdmaServer.close", scene -> none(scene.server()));
        uses.put("ConnectionRequest.accept", scene -> {
            RdmaServer server = scene.server();
            scene.clients();
            ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
            return () -> request.accept(options(), Lab.SECONDS);
        });
        uses.put("ConnectionRequest.reject", scene -> {
            RdmaServer server = scene.server();
            scene.clients();
            ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
            return none(request::reject);
        });
        uses.put("RdmaClient.connect", scene -> {
            scene.accepting();
            return () -> new RdmaClient(scene.arena).connect(Lab.second(scene.port), options(), Lab.SECONDS);
        });
        uses.put("AddressInfo.resolve", scene -> none(FailingConnectionsLabTest::info));
        uses.put("RdmaDevices.names", scene -> none(RdmaDevices::names));
    }

    private static void ofConnections(Map<String, Use> uses) {
        uses.put("RdmaConnection.isConnected", scene -> none(scene.connection()::isConnected));
        uses.put("RdmaConnection.awaitDisconnect", scene -> {
            RdmaConnection connection = scene.connection();
            return none(() -> connection.awaitDisconnect(Duration.ZERO));
        });
        uses.put("RdmaConnection.awaitDisconnect of an end", scene -> {
            RdmaConnection connection = scene.connection();
            RdmaConnection peer = (RdmaConnection) scene.all.getLast();
            scene.again(none(() -> peer.disconnect(Duration.ofMillis(50))));
            return none(() -> assertTrue(connection.awaitDisconnect(Lab.SECONDS)));
        });
        uses.put("RdmaConnection.disconnect", scene -> {
            RdmaConnection connection = scene.connection();
            RdmaConnection peer = (RdmaConnection) scene.all.getLast();
            scene.again(none(() -> peer.awaitDisconnect(Duration.ofMillis(50))));
            return none(() -> connection.disconnect(Lab.SECONDS));
        });
        uses.put("RdmaConnection.close", scene -> none(scene.connection()));
    }

    private static void ofChannels(Map<String, Use> uses) {
        uses.put("EventChannel.create", scene -> EventChannel::create);
        uses.put("EventChannel.createId", scene -> {
            EventChannel channel = scene.channel();
            return () -> channel.createId(PortSpace.TCP);
        });
        uses.put("EventChannel.createEndpoint", scene -> {
            EventChannel channel = scene.channel();
            AddressInfo info = info();
            return () -> channel.createEndpoint(info);
        });
        uses.put("EventChannel.poll", scene -> none(scene.listening().passive::poll));
        uses.put("EventChannel.await for a request", scene -> {
            TwoIds ids = scene.listening();
            ids.client.connect(TwoIds.parameters());
            return () ->
                    CmEvents.await(ids.passive, CmEventType.CONNECT_REQUEST).id();
        });
        uses.put("EventChannel.close", scene -> {
            EventChannel channel = scene.channel();
            channel.createId(PortSpace.TCP);
            channel.createId(PortSpace.UDP);
            return none(channel);
        });
    }

    private static void ofSynchronousIds(Map<String, Use> uses) {
        uses.put("SynchronousId.create", scene -> () -> SynchronousId.create(PortSpace.TCP));
        uses.put("SynchronousId.create of information", scene -> {
            AddressInfo info = info();
            return () -> SynchronousId.create(info);
        });
        uses.put("SynchronousId.of", scene -> {
            CmId id = scene.channel().createId(PortSpace.TCP);
            return () -> SynchronousId.of(id);
        });
        uses.put("SynchronousId.await", scene -> {
            SynchronousId id = scene.synchronous(PortSpace.TCP);
            return none(() -> id.await(Duration.ZERO));
        });
        uses.put("SynchronousId.resolve", scene -> {
            SynchronousId id = scene.synchronous(PortSpace.TCP);
            return none(() -> id.resolve(Lab.first(0), Lab.second(scene.port), Lab.SECONDS));
        });
        uses.put("SynchronousId.awaitRequest", scene -> {
            SynchronousId listener = scene.synchronous(PortSpace.TCP);
            listener.id().bind(Lab.second(scene.port));
            listener.id().listen(4);
            scene.resolved().client.connect(TwoIds.parameters());
            return () -> listener.awaitRequest(Lab.SECONDS).orElseThrow().id();
        });
        uses.put("SynchronousId.connect", scene -> {
            scene.accepting();
            SynchronousId id = scene.synchronous(PortSpace.TCP);
            id.resolve(Lab.first(0), Lab.second(scene.port), Lab.SECONDS);
            IdSide side = new IdSide(scene.arena, id.id());
            return none(() -> id.connect(side.queuePair, new ConnectionParameters(), Lab.SECONDS));
        });
        uses.put("SynchronousId.accept", scene -> {
            RdmaServer server = scene.server();
            scene.clients();
            SynchronousId id = scene.keep(SynchronousId.of(
                    server.awaitRequest(Lab.SECONDS).orElseThrow().id()));
            IdSide side = new IdSide(scene.arena, id.id());
            return none(() -> id.accept(side.queuePair, new ConnectionParameters(), Lab.SECONDS));
        });
        uses.put("SynchronousId.disconnect", scene -> {
            scene.accepting();
            SynchronousId id = scene.synchronous(PortSpace.TCP);
            id.resolve(Lab.first(0), Lab.second(scene.port), Lab.SECONDS);
            IdSide side = new IdSide(scene.arena, id.id());
            id.connect(side.queuePair, new ConnectionParameters(), Lab.SECONDS);
            // The server answers when it closes.
            return none(() -> {
                scene.closing = true;
                id.disconnect(side.queuePair, Lab.SECONDS);
            });
        });
        uses.put("SynchronousId.close", scene -> none(scene.synchronous(PortSpace.TCP)));
    }

    private static void ofIds(Map<String, Use> uses) {
        uses.put("CmId.bind", scene -> {
            CmId id = scene.channel().createId(PortSpace.TCP);
            return none(() -> id.bind(Lab.second(scene.port)));
        });
        uses.put("CmId.resolveAddress", scene -> {
            CmId id = scene.channel().createId(PortSpace.TCP);
            return none(() -> id.resolveAddress(Lab.second(scene.port), Lab.SECONDS));
        });
        uses.put("CmId.resolveRoute", scene -> {
            EventChannel channel = scene.channel();
            CmId id = channel.createId(PortSpace.TCP);
            id.resolveAddress(Lab.second(scene.port), Lab.SECONDS);
            CmEvents.await(channel, CmEventType.ADDR_RESOLVED);
            return none(() -> id.resolveRoute(Lab.SECONDS));
        });
        uses.put("CmId.listen", scene -> {
            CmId id = scene.channel().createId(PortSpace.TCP);
            id.bind(Lab.second(scene.port));
            return none(() -> id.listen(4));
        });
        uses.put("CmId.connect", scene -> {
            TwoIds ids = scene.listening();
            return none(() -> ids.client.connect(TwoIds.parameters()));
        });
        uses.put("CmId.accept", scene -> {
            CmId request = scene.listening().request().id();
            return none(() -> request.accept(TwoIds.parameters()));
        });
        uses.put("CmId.reject", scene -> none(scene.listening().request().id()::reject));
        uses.put("CmId.rejectEce", scene -> none(scene.listening().request().id()::rejectEce));
        uses.put("CmId.establish", scene -> none(connected(scene).client::establish));
        uses.put("CmId.notifyEvent", scene -> {
            CmId request = scene.listening().request().id();
            request.accept(TwoIds.parameters());
            return none(() -> request.notifyEvent(AsyncEventType.COMM_EST));
        });
        uses.put("CmId.disconnect", scene -> {
            CmId client = connected(scene).client;
            client.establish();
            return none(client::disconnect);
        });
        uses.put("CmId.migrate", scene -> {
            CmId id = scene.channel().createId(PortSpace.TCP);
            EventChannel other = scene.channel();
            return none(() -> id.migrate(other));
        });
        uses.put("CmId.reuseAddress", scene -> {
            CmId id = scene.channel().createId(PortSpace.TCP);
            return none(() -> id.reuseAddress(true));
        });
        uses.put("CmId.typeOfService", scene -> {
            CmId id = scene.channel().createId(PortSpace.TCP);
            return none(() -> id.typeOfService(1));
        });
        uses.put("CmId.remoteEce", scene -> none(scene.listening().request().id()::remoteEce));
        uses.put("CmId.close", scene -> none(scene.channel().createId(PortSpace.TCP)));
    }

    /** The client is about to establish. */
    private static TwoIds connected(Scene scene) throws Exception {
        TwoIds ids = scene.listening();
        ids.request().id().accept(TwoIds.parameters());
        CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
        return ids;
    }

    private static void ofQueuePairs(Map<String, Use> uses) {
        uses.put("CmId.queuePairAttributes", scene -> {
            CmId client = scene.resolved().client;
            return none(() -> client.queuePairAttributes(QueuePairState.INIT));
        });
        uses.put("CmId.initialize", scene -> {
            CmId client = scene.resolved().client;
            IdSide side = new IdSide(scene.arena, client);
            return none(() -> client.initialize(side.queuePair));
        });
        uses.put("CmId.connect with a queue pair", scene -> {
            CmId client = scene.listening().client;
            IdSide side = new IdSide(scene.arena, client);
            return none(() -> client.connect(side.queuePair, new ConnectionParameters()));
        });
        uses.put("CmId.accept with a queue pair", scene -> {
            CmId request = scene.listening().request().id();
            IdSide side = new IdSide(scene.arena, request);
            return none(() -> request.accept(side.queuePair, new ConnectionParameters()));
        });
        uses.put("CmId.establish with a queue pair", scene -> {
            TwoIds ids = scene.listening();
            IdSide side = new IdSide(scene.arena, ids.client);
            ids.client.connect(side.queuePair, new ConnectionParameters());
            CmEvents.await(ids.passive, CmEventType.CONNECT_REQUEST).id().accept(TwoIds.parameters());
            CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
            return none(() -> ids.client.establish(side.queuePair));
        });
        uses.put("CmId.disconnect with a queue pair", scene -> {
            TwoIds ids = scene.listening();
            IdSide side = new IdSide(scene.arena, ids.client);
            ids.client.connect(side.queuePair, new ConnectionParameters());
            CmEvents.await(ids.passive, CmEventType.CONNECT_REQUEST).id().accept(TwoIds.parameters());
            CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
            ids.client.establish(side.queuePair);
            return none(() -> ids.client.disconnect(side.queuePair));
        });
    }

    private static void ofGroups(Map<String, Use> uses) {
        uses.put("CmId.joinMulticast", scene -> {
            CmId id = boundForDatagrams(scene).id();
            return none(() -> id.joinMulticast(GROUP));
        });
        uses.put("CmId.joinMulticastToSend", scene -> {
            CmId id = boundForDatagrams(scene).id();
            return none(() -> id.joinMulticastToSend(GROUP));
        });
        uses.put("CmId.leaveMulticast", scene -> {
            SynchronousId id = boundForDatagrams(scene);
            id.joinMulticast(GROUP, Lab.SECONDS);
            return none(() -> id.id().leaveMulticast(GROUP));
        });
        uses.put("SynchronousId.joinMulticast", scene -> {
            SynchronousId id = boundForDatagrams(scene);
            return none(() -> id.joinMulticast(GROUP, Lab.SECONDS));
        });
    }

    private static SynchronousId boundForDatagrams(Scene scene) {
        SynchronousId id = scene.synchronous(PortSpace.UDP);
        id.id().bind(Lab.second(0));
        return id;
    }

    /** After a failure these cannot be called again on what they were called on. */
    private static final Set<String> ONCE = Set.of(
            "ConnectionRequest.accept",
            "ConnectionRequest.reject",
            "RdmaConnection.disconnect",
            "SynchronousId.resolve",
            "SynchronousId.connect",
            "SynchronousId.accept",
            "SynchronousId.disconnect",
            "SynchronousId.joinMulticast",
            "CmId.establish with a queue pair",
            "CmId.accept with a queue pair");

    @TestFactory
    Stream<DynamicTest> shouldTellLeaveNothingAndWorkAgain() {
        return uses().entrySet().stream()
                .map(each -> DynamicTest.dynamicTest(each.getKey(), () -> failEach(each.getKey(), each.getValue())));
    }

    private void failEach(String name, Use use) throws Exception {
        List<String> faults = new ArrayList<>();
        fail(name, use, 0, faults);
        int descriptors = Descriptors.open().size();
        int n = 1;
        while (fail(name, use, n, faults)) {
            assertTrue(++n < MOST_CALLS, "it never passes");
        }
        assertTrue(n > 1, "nothing was called");
        if (Descriptors.open().size() > descriptors) {
            faults.add("descriptors are left over: " + Descriptors.open());
        }
        faults.addAll(manager.faults());
        assertEquals(List.of(), faults);
    }

    /** Whether the n-th call failed: else there are fewer. */
    private boolean fail(String name, Use use, int n, List<String> faults) throws Exception {
        boolean failed;
        try (Scene scene = new Scene()) {
            Call call = use.prepare(scene);
            Set<String> before = manager.aliveOfThisThread();
            manager.failAt(n);
            Throwable thrown = null;
            AutoCloseable result = null;
            try {
                result = call.run();
            } catch (Exception | Error e) {
                thrown = e;
            }
            String where = "call " + n + ", " + manager.failed() + ": ";
            failed = manager.failed() != null;
            manager.failAt(0);
            if (failed != (thrown != null)) {
                faults.add(where + (failed ? "nothing is thrown" : thrown));
            } else if (failed) {
                if (!tells(thrown)) {
                    faults.add(where + thrown);
                }
                Set<String> left = manager.aliveOfThisThread();
                left.removeAll(before);
                if (left.size() > scene.held()) {
                    faults.add(where + "left over are " + left);
                }
                if (!ONCE.contains(name)) {
                    result = call.run();
                }
            }
            if (result != null) {
                result.close();
            }
        }
        if (!manager.alive().isEmpty()) {
            faults.add("call " + n + ": left over are " + manager.alive());
        }
        if (failed && ONCE.contains(name)) {
            fail(name, use, 0, faults);
        }
        return failed;
    }

    /** Whether an exception names the function and what it reported. */
    private static boolean tells(Throwable thrown) {
        return thrown instanceof ConnectionException e
                && (e.verb().startsWith("rdma_") || e.verb().equals("poll"))
                && e.errno() == Errno.ENOMEM
                && e.getMessage().contains(e.verb())
                && e.getMessage().contains("ENOMEM");
    }

    @Test
    void shouldLetEachCallOfAManagerFail() {
        assertEquals(
                List.of(),
                Stream.of(ConnectionManager.class.getDeclaredMethods())
                        .map(Method::getName)
                        .filter(name -> Stream.of(manager.getClass(), FailingConnectionManager.class)
                                .flatMap(type -> Stream.of(type.getDeclaredMethods()))
                                .noneMatch(method -> method.getName().equals(name)))
                        .toList(),
                "FailingConnectionManager lacks these");
    }

    /** As when there is no memory for a copy of the options. */
    @Test
    void shouldRejectARequestWhoseOptionsCannotBeCopied() throws Exception {
        RdmaConnectionOptions broken = options();
        Field parameters = RdmaConnectionOptions.class.getDeclaredField("parameters");
        parameters.setAccessible(true);
        parameters.set(broken, null);
        try (Scene scene = new Scene()) {
            AtomicReference<RdmaConnectionOptions> next = new AtomicReference<>(broken);
            RdmaServer server = scene.keep(RdmaServer.listen(
                    scene.arena,
                    Lab.second(scene.port),
                    new RdmaServerOptions().connections(request -> Optional.of(next.getAndSet(options())))));
            FutureTask<RdmaConnection> connecting = new FutureTask<>(
                    () -> new RdmaClient(scene.arena).connect(Lab.second(scene.port), options(), Lab.SECONDS));
            Thread.ofPlatform().start(connecting);
            assertThrows(NullPointerException.class, () -> server.accept(Lab.SECONDS));
            assertEquals(
                    RejectedException.class,
                    assertThrows(ExecutionException.class, () -> connecting.get(10, TimeUnit.SECONDS))
                            .getCause()
                            .getClass());
            scene.clients();
            server.accept(Lab.SECONDS).orElseThrow().close();
        }
        assertEquals(Set.of(), manager.alive());
    }

    /** What the kernel says of an id whose device is removed, while the events before that of the removal still wait. */
    @ParameterizedTest
    @ValueSource(ints = {Errno.ENXIO, Errno.EIO, Errno.ENODEV, Errno.EINVAL})
    void shouldNoticeAnEndThatNeedsNoAnswer(int errno) throws Exception {
        try (Scene scene = new Scene()) {
            RdmaConnection connection = scene.connection();
            RdmaConnection peer = (RdmaConnection) scene.all.getLast();
            peer.id().disconnect();
            manager.insteadOfDisconnect(() -> -errno);
            assertTrue(connection.awaitDisconnect(Lab.SECONDS));
            assertFalse(connection.isConnected());
            connection.disconnect(Lab.SECONDS);
        }
        assertEquals(Set.of(), manager.alive());
    }

    /** The event tells of the end. The peer's end stands for the removal, which soft0 does not know. */
    @ParameterizedTest
    @ValueSource(ints = {Errno.ENXIO, Errno.EIO, Errno.ENODEV})
    void shouldEndAConnectionOfARemovedDevice(int errno) throws Exception {
        try (Scene scene = new Scene()) {
            RdmaConnection connection = scene.connection();
            RdmaConnection peer = (RdmaConnection) scene.all.getLast();
            manager.insteadOfDisconnect(() -> {
                peer.close();
                return -errno;
            });
            connection.disconnect(Lab.SECONDS);
            assertTrue(connection.awaitDisconnect(Duration.ZERO));
        }
        assertEquals(Set.of(), manager.alive());
    }

    /** Its reader would wait for ever. */
    @Test
    void shouldEndAnRSocketWhoseEndCannotBeAnswered() throws Throwable {
        manager.insteadOfDisconnect(() -> -Errno.ENOMEM);
        endUnaccepted(() -> manager.insteadOfDisconnect(null));
    }

    /** The thread that serves all rsockets would find the event there again and again. */
    @Test
    void shouldTakeWhatComesAfterTheEndOfAnRSocket() throws Throwable {
        endUnaccepted(() -> Bound.of(Lab.PATIENCE)
                .await("the last event", () -> manager.taken().contains(CmEventType.TIMEWAIT_EXIT)));
    }

    /** Nobody has accepted the client, so it is not told of the end in the stream. */
    private static void endUnaccepted(Executable then) throws Throwable {
        try (RServerSocketChannel server = RServerSocketChannel.open();
                RSocketChannel client = RSocketChannel.open()) {
            server.bind(Lab.freeAddress(Lab.SECOND_HOST));
            client.bind(Lab.first(0));
            assertTrue(client.connect(server.getLocalAddress()));
            FutureTask<Integer> reading = SleepingCall.start(false, () -> client.read(ByteBuffer.allocate(1)));
            server.close();
            assertEquals(-1, SleepingCall.result(reading));
            then.execute();
        }
    }
}
