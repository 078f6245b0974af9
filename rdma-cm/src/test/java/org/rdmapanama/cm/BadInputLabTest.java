package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.Ece;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Lab;

/**
 * Every public method with null, numbers out of range, names that were not resolved, negative times, and on objects that
 * are closed: what is refused is refused by Java, and in the way that is documented.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are closed earlier
class BadInputLabTest {
    private static final int PORT = 7541;

    /** Which take any number. */
    private static final Set<String> ANY_NUMBER =
            Set.of("CmId.setOption/3", "RdmaServer.connection/1", "RdmaServer.connection/2", "RdmaClient.connection/1");

    /** Which take numbers up to the largest. */
    private static final Set<String> ANY_POSITIVE = Set.of(
            "CmId.listen/1",
            "RdmaServer.listen/3",
            "RdmaConnection.register/2",
            "RdmaConnectionOptions.completionVector/1",
            "RdmaConnectionOptions.sendWorkRequests/1",
            "RdmaConnectionOptions.receiveWorkRequests/1");

    /** Which only keep an address. */
    private static final Set<String> ANY_ADDRESS =
            Set.of("RdmaConnectionOptions.localAddress/1", "AddressInfoOptions.source/1");

    /** What a closed object still tells. */
    private static final Set<String> WHEN_CLOSED = Set.of(
            "EventChannel.isOpen/0",
            "CmId.isOpen/0",
            "CmId.portSpace/0",
            "CmId.queuePairType/0",
            "CmId.channel/0",
            "SynchronousId.id/0",
            "RdmaServer.finish/1",
            "RdmaServer.localAddress/0",
            "RdmaServer.channel/0",
            "RdmaServer.connection/1",
            "RdmaServer.connection/2",
            "RdmaServer.connections/1",
            "RdmaServer.counts/0",
            "RdmaServer.nextEnded/0",
            "RdmaServer.pending/0",
            "ConnectionRequest.privateData/0",
            "ConnectionRequest.peer/0",
            "ConnectionRequest.id/0");

    /** One object of each class, and one value of each type that a method takes. */
    private static final class Stage implements AutoCloseable {
        final VerbsArena arena = VerbsArena.ofShared();
        final EventChannel channel = EventChannel.create();
        final EventChannel otherChannel = EventChannel.create();
        final CmId id = channel.createId(PortSpace.TCP);
        final CmId otherId = otherChannel.createId(PortSpace.TCP);
        final SynchronousId synchronous = SynchronousId.create(PortSpace.TCP);
        final RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
        final TwoIds stranger = TwoIds.resolved(PortSpace.TCP, PORT);
        final RdmaClient client = new RdmaClient(arena);
        final RdmaConnection connection;
        final RdmaConnection otherConnection;
        final ConnectionRequest request;
        final IdSide side;
        final Map<Class<?>, Object> values = new HashMap<>();

        Stage() throws Exception {
            id.bind(Lab.first(0));
            synchronous.id().bind(Lab.first(0));
            FutureTask<RdmaConnection> accepting =
                    new FutureTask<>(() -> server.accept(Lab.SECONDS).orElseThrow());
            Thread.ofPlatform().start(accepting);
            connection = client.connect(
                    Lab.second(PORT), new RdmaConnectionOptions().localAddress(Lab.first(0)), Lab.SECONDS);
            otherConnection = accepting.get(30, TimeUnit.SECONDS);
            stranger.client.connect(TwoIds.parameters());
            request = server.awaitRequest(Lab.SECONDS).orElseThrow();
            side = new IdSide(arena, id);
            values.put(InetSocketAddress.class, Lab.first(0));
            values.put(Duration.class, Duration.ofMillis(1));
            values.put(Context.class, side.queuePair.context());
            values.put(QueuePair.class, side.queuePair);
            values.put(CompletionQueue.class, connection.sendQueue());
            values.put(
                    SharedReceiveQueue.class,
                    connection.protectionDomain().createSharedReceiveQueue(new SharedReceiveQueueOptions()));
            values.put(Object.class, "anything");
            values.put(SendOperation[].class, new SendOperation[] {SendOperation.SEND});
            values.put(RdmaServerOptions.class, new RdmaServerOptions());
            values.put(ConnectionParameters.class, new ConnectionParameters());
            values.put(RdmaConnectionOptions.class, new RdmaConnectionOptions());
            values.put(AddressInfoOptions.class, new AddressInfoOptions());
            values.put(EventChannel.class, otherChannel);
            values.put(CmId.class, otherId);
            values.put(VerbsArena.class, arena);
            values.put(Ece.class, new Ece(1, 0));
            values.put(AsyncEventType.class, AsyncEventType.COMM_EST);
            values.put(java.lang.foreign.MemorySegment.class, arena.allocate(4));
            values.put(QueuePairState.class, QueuePairState.INIT);
            values.put(QueuePairType.class, QueuePairType.RC);
            values.put(PortSpace.class, PortSpace.TCP);
            values.put(
                    AddressInfo.class,
                    AddressInfo.resolve(Lab.SECOND_HOST, "7541", new AddressInfoOptions().passive(true))
                            .get(0));
            values.put(byte[].class, new byte[1]);
            values.put(AccessFlag[].class, new AccessFlag[] {AccessFlag.LOCAL_WRITE});
            values.put(String.class, Lab.SECOND_HOST);
            values.put(ProtectionDomain.class, side.domain);
            values.put(ProtocolFamily.class, StandardProtocolFamily.INET);
            values.put(UnaryOperator.class, UnaryOperator.identity());
            values.put(Function.class, (Function<Object, byte[]>) any -> new byte[1]);
            values.put(Consumer.class, (Consumer<Object>) any -> {});
            values.put(BiConsumer.class, (BiConsumer<Object, Object>) (any, other) -> {});
            values.put(int.class, 1);
            values.put(boolean.class, true);
        }

        List<Object> all() {
            List<Object> all = new ArrayList<>(closeable());
            all.addAll(List.of(
                    client,
                    new ConnectionParameters(),
                    new RdmaConnectionOptions(),
                    new AddressInfoOptions(),
                    values.get(AddressInfo.class)));
            return all;
        }

        List<Object> closeable() {
            return List.of(channel, id, synchronous, server, request, connection);
        }

        @Override
        public void close() {
            channel.close();
            otherChannel.close();
            synchronous.close();
            connection.close();
            otherConnection.close();
            request.id().close();
            server.close();
            stranger.close();
            arena.close();
        }
    }

    private static List<Executable> methods(Object object) {
        return Stream.of(object.getClass().getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
                .map(Executable.class::cast)
                .toList();
    }

    private static String name(Executable method) {
        return method.getDeclaringClass().getSimpleName() + "." + method.getName() + "/" + method.getParameterCount();
    }

    private static Object[] values(Stage stage, Executable method) {
        return Stream.of(method.getParameterTypes())
                .map(type -> {
                    Object value = stage.values.get(type);
                    if (value == null) {
                        throw new AssertionError("no value for " + type + " of " + name(method));
                    }
                    return value;
                })
                .toArray();
    }

    /** What a call throws; null when it returns. */
    private static Throwable thrown(Object object, Executable method, Object... arguments) {
        try {
            ((Method) method).invoke(object, arguments);
            return null;
        } catch (InvocationTargetException e) {
            return e.getCause();
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    private static void expect(
            List<String> wrong, Class<?> wanted, Object object, Executable method, Object[] arguments, int place) {
        Throwable thrown = thrown(object, method, arguments);
        if (!wanted.isInstance(thrown) || (wanted != NullPointerException.class && thrown.getMessage() == null)) {
            wrong.add(name(method) + " with " + arguments[place] + " at " + place + ": " + thrown);
        }
    }

    @Test
    void shouldRefuseNullAndWhatIsOutOfRange() throws Exception {
        List<String> before = Lab.resources();
        List<String> wrong = new ArrayList<>();
        try (Stage stage = new Stage()) {
            for (Object object : stage.all()) {
                for (Executable method : methods(object)) {
                    if (!method.getName().equals("equals")) {
                        refuse(wrong, stage, object, method);
                    }
                }
            }
        }
        assertEquals(List.of(), wrong, () -> wrong.size() + ": " + String.join("\n", wrong));
        Lab.assertNothingLeft(before);
    }

    private static void refuse(List<String> wrong, Stage stage, Object object, Executable method) {
        String name = name(method);
        for (int place = 0; place < method.getParameterCount(); place++) {
            Class<?> type = method.getParameterTypes()[place];
            List<Object> bad = new ArrayList<>();
            if (type == int.class && !ANY_NUMBER.contains(name)) {
                bad.addAll(List.of(-1, Integer.MIN_VALUE));
                if (!ANY_POSITIVE.contains(name)) {
                    bad.add(Integer.MAX_VALUE);
                }
            } else if (type == Duration.class) {
                bad.addAll(List.of(Duration.ofNanos(-1), Duration.ofSeconds(Long.MIN_VALUE)));
            } else if (type == InetSocketAddress.class && !ANY_ADDRESS.contains(name)) {
                bad.add(InetSocketAddress.createUnresolved("no.such.host.invalid", 1));
            }
            for (Object each : bad) {
                Object[] arguments = values(stage, method);
                arguments[place] = each;
                expect(wrong, IllegalArgumentException.class, object, method, arguments, place);
            }
            if (!type.isPrimitive() && !isNullable(method, place)) {
                Object[] arguments = values(stage, method);
                arguments[place] = null;
                expect(wrong, NullPointerException.class, object, method, arguments, place);
            }
        }
    }

    private static boolean isNullable(Executable method, int place) {
        return method.getAnnotatedParameterTypes()[place].isAnnotationPresent(Nullable.class);
    }

    @Test
    void shouldSayThatItIsClosed() throws Exception {
        List<String> before = Lab.resources();
        List<String> wrong = new ArrayList<>();
        try (Stage stage = new Stage()) {
            stage.connection.close();
            stage.channel.close();
            stage.synchronous.close();
            stage.request.id().close();
            stage.server.close();
            for (Object object : stage.closeable()) {
                if (object == stage.connection) {
                    continue;
                }
                for (Executable method : methods(object)) {
                    if (Modifier.isStatic(method.getModifiers())
                            || WHEN_CLOSED.contains(name(method))
                            || Set.of("close", "toString").contains(method.getName())) {
                        assertEquals(
                                null,
                                Modifier.isStatic(method.getModifiers())
                                        ? null
                                        : thrown(object, method, values(stage, method)),
                                name(method));
                    } else {
                        Throwable thrown = thrown(object, method, values(stage, method));
                        if (!(thrown instanceof IllegalStateException) || thrown.getMessage() == null) {
                            wrong.add(name(method) + ": " + thrown);
                        }
                    }
                }
            }
            // What a connection has can be asked for after its end.
            RdmaConnection connection = stage.connection;
            assertEquals(false, connection.isConnected());
            assertEquals(true, connection.awaitDisconnect(Duration.ZERO));
            assertEquals(Lab.second(PORT), connection.remoteAddress());
            assertThrows(IllegalStateException.class, () -> connection.disconnect(Lab.SECONDS));
            assertThrows(IllegalStateException.class, () -> connection.register(1));
        }
        assertEquals(List.of(), wrong, () -> wrong.size() + ": " + String.join("\n", wrong));
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldRefuseWhatBelongsToAnotherDevice() throws Exception {
        Lab.assumeInLab("there is one device");
        try (VerbsArena arena = VerbsArena.ofConfined();
                EventChannel channel = EventChannel.create()) {
            CmId first = channel.createId(PortSpace.TCP);
            first.bind(Lab.first(0));
            CmId second = channel.createId(PortSpace.TCP);
            second.bind(Lab.second(0));
            QueuePair queuePair = new IdSide(arena, second).queuePair;
            ConnectionParameters parameters = new ConnectionParameters();
            List<org.junit.jupiter.api.function.Executable> uses = List.of(
                    () -> first.initialize(queuePair),
                    () -> first.connect(queuePair, parameters),
                    () -> first.accept(queuePair, parameters),
                    () -> first.establish(queuePair),
                    () -> first.disconnect(queuePair));
            for (org.junit.jupiter.api.function.Executable use : uses) {
                IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, use);
                assertEquals(true, exception.getMessage().contains(Lab.FIRST_DEVICE), exception::getMessage);
            }
            assertEquals(QueuePairState.RESET, queuePair.state());
        }
    }

    @Test
    void shouldRefuseStaticCallsWithoutArguments() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            assertThrows(NullPointerException.class, () -> new RdmaClient(null));
            assertThrows(NullPointerException.class, () -> RdmaServer.listen(null, Lab.second(0)));
            assertThrows(NullPointerException.class, () -> RdmaServer.listen(arena, null));
            assertThrows(IllegalArgumentException.class, () -> new RdmaServerOptions().backlog(-1));
            assertThrows(NullPointerException.class, () -> SynchronousId.create((PortSpace) null));
            assertThrows(NullPointerException.class, () -> SynchronousId.create((AddressInfo) null));
            assertThrows(IllegalArgumentException.class, () -> SynchronousId.create(PortSpace.UNKNOWN));
            assertThrows(NullPointerException.class, () -> SynchronousId.of(null));
            assertThrows(NullPointerException.class, () -> new UdParameters(null, null, 0, 0));
            assertThrows(NullPointerException.class, () -> new UdParameters(new byte[0], null, 0, 0));
        }
    }
}
