package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.waiting.Case;
import org.rdmapanama.testing.Lab;

/** Every call of the connection manager that waits for the network, in a scene in which it waits for long. */
final class Waits {
    private static final Duration LONG = Duration.ofMinutes(5);

    private Waits() {}

    /**
     * Something that waits for long.
     *
     * @param closed what to close to end it; null where the caller has nothing to close
     * @param release has happen what it waits for; null where that cannot be
     * @param check looks at what it returns then
     */
    record Wait(Callable<?> body, AutoCloseable closed, Case.Body release, Check check) {}

    /** Looks at a result. */
    @FunctionalInterface
    interface Check {
        void accept(Object result);
    }

    /** Sets up a wait; what it makes goes to the list, to be closed in reverse. */
    @FunctionalInterface
    interface Setup {
        Wait make(VerbsArena arena, List<AutoCloseable> made) throws Exception;
    }

    @FunctionalInterface
    private interface SetupAtPort {
        Wait make(VerbsArena arena, List<AutoCloseable> made, int port) throws Exception;
    }

    private static <T extends AutoCloseable> T keep(List<AutoCloseable> made, T object) {
        made.add(object);
        return object;
    }

    private static SynchronousId listening(int port, List<AutoCloseable> made) {
        SynchronousId listener = keep(made, SynchronousId.create(PortSpace.TCP));
        listener.id().bind(Lab.second(port));
        listener.id().listen(8);
        return listener;
    }

    static RdmaConnectionOptions options() {
        return new RdmaConnectionOptions()
                .sendWorkRequests(4)
                .receiveWorkRequests(4)
                .localAddress(Lab.first(0));
    }

    /** The client's side of a connection; the list gets the server, that, and the server's side. */
    static RdmaConnection connection(VerbsArena arena, int port, List<AutoCloseable> made) throws Exception {
        RdmaServer server =
                keep(made, RdmaServer.listen(arena, Lab.second(port), new RdmaServerOptions().connections(options())));
        FutureTask<RdmaConnection> accepting =
                new FutureTask<>(() -> server.accept(Lab.SECONDS).orElseThrow());
        Thread.ofPlatform().start(accepting);
        RdmaConnection connection;
        try {
            connection = keep(made, new RdmaClient(arena).connect(Lab.second(port), options(), Lab.SECONDS));
        } catch (ConnectionException notConnected) {
            // The reason may be known to the server's side only.
            try {
                keep(made, accepting.get(30, TimeUnit.SECONDS));
            } catch (ExecutionException notAccepted) {
                notConnected.addSuppressed(notAccepted.getCause());
            }
            throw notConnected;
        }
        keep(made, accepting.get(30, TimeUnit.SECONDS));
        return connection;
    }

    private static void assertPresent(Object result) {
        assertTrue(((Optional<?>) result).isPresent(), "nothing came");
    }

    private static void assertConnected(Object result) {
        RdmaConnection connection = assertInstanceOf(RdmaConnection.class, result);
        assertTrue(connection.isConnected(), connection::toString);
        connection.close();
    }

    /** What the listener gets is accepted, without a queue pair. */
    private static Case.Body accept(SynchronousId listener) {
        return () -> listener.awaitRequest(Lab.SECONDS).orElseThrow().id().accept(TwoIds.parameters());
    }

    /** An id of its own asks for a connection, and establishes it when it is accepted. */
    private static void establish(TwoIds stranger) throws InterruptedException {
        CmEvents.await(stranger.active, CmEventType.CONNECT_RESPONSE);
        stranger.client.establish();
    }

    /**
     * Returns all waits. Each has a port of its own, from the first one on: a request that an earlier wait has sent may
     * arrive late, and a server that listens at the same port by then would accept that one first.
     */
    static Map<String, Setup> all(int firstPort) {
        Map<String, SetupAtPort> waits = ofIds();
        waits.putAll(ofServersAndClients());
        Map<String, Setup> setups = new LinkedHashMap<>();
        waits.forEach((name, setup) -> {
            int port = firstPort + setups.size();
            setups.put(name, (arena, made) -> setup.make(arena, made, port));
        });
        return setups;
    }

    private static Map<String, SetupAtPort> ofIds() {
        Map<String, SetupAtPort> waits = new LinkedHashMap<>();
        waits.put("EventChannel.await", (arena, made, port) -> {
            EventChannel channel = keep(made, EventChannel.create());
            CmId id = channel.createId(PortSpace.TCP);
            return new Wait(
                    () -> channel.await(LONG),
                    channel,
                    () -> id.resolveAddress(Lab.first(0), Lab.second(port), Lab.SECONDS),
                    Waits::assertPresent);
        });
        waits.put("SynchronousId.await", (arena, made, port) -> {
            SynchronousId id = keep(made, SynchronousId.create(PortSpace.TCP));
            return new Wait(
                    () -> id.await(LONG),
                    id,
                    () -> id.id().resolveAddress(Lab.first(0), Lab.second(port), Lab.SECONDS),
                    Waits::assertPresent);
        });
        // A software device asks nobody.
        if (Lab.isInLab()) {
            waits.put("SynchronousId.resolve", (arena, made, port) -> {
                SynchronousId id = keep(made, SynchronousId.create(PortSpace.TCP));
                return new Wait(
                        () -> {
                            id.resolve(Lab.first(0), new InetSocketAddress("10.77.0.98", port), LONG);
                            return null;
                        },
                        id,
                        null,
                        null);
            });
        }
        waits.put("SynchronousId.awaitRequest", (arena, made, port) -> {
            SynchronousId listener = listening(port, made);
            TwoIds stranger = keep(made, TwoIds.resolved(PortSpace.TCP, port));
            return new Wait(
                    () -> listener.awaitRequest(LONG),
                    listener,
                    () -> stranger.client.connect(TwoIds.parameters()),
                    Waits::assertPresent);
        });
        waits.put("SynchronousId.connect", (arena, made, port) -> {
            SynchronousId listener = listening(port, made);
            SynchronousId id = keep(made, SynchronousId.create(PortSpace.TCP));
            id.resolve(Lab.first(0), Lab.second(port), Lab.SECONDS);
            IdSide side = new IdSide(arena, id.id());
            return new Wait(
                    () -> id.connect(side.queuePair, new ConnectionParameters(), LONG),
                    id,
                    accept(listener),
                    event -> assertEquals(CmEventType.CONNECT_RESPONSE, ((CmEvent) event).type()));
        });
        waits.put("SynchronousId.accept", (arena, made, port) -> {
            SynchronousId listener = listening(port, made);
            TwoIds stranger = keep(made, TwoIds.resolved(PortSpace.TCP, port));
            stranger.client.connect(TwoIds.parameters());
            CmEvent request = listener.awaitRequest(Lab.SECONDS).orElseThrow();
            SynchronousId id = keep(made, SynchronousId.of(request.id()));
            IdSide side = new IdSide(arena, id.id());
            return new Wait(
                    () -> {
                        id.accept(side.queuePair, new ConnectionParameters(), LONG);
                        return null;
                    },
                    id,
                    () -> establish(stranger),
                    nothing -> {});
        });
        return waits;
    }

    private static Map<String, SetupAtPort> ofServersAndClients() {
        Map<String, SetupAtPort> waits = new LinkedHashMap<>();
        waits.put("RdmaServer.awaitRequest", (arena, made, port) -> {
            RdmaServer server = keep(
                    made, RdmaServer.listen(arena, Lab.second(port), new RdmaServerOptions().connections(options())));
            TwoIds stranger = keep(made, TwoIds.resolved(PortSpace.TCP, port));
            return new Wait(
                    () -> server.awaitRequest(LONG),
                    server,
                    () -> stranger.client.connect(TwoIds.parameters()),
                    Waits::assertPresent);
        });
        waits.put("RdmaServer.accept", (arena, made, port) -> {
            RdmaServer server = keep(
                    made, RdmaServer.listen(arena, Lab.second(port), new RdmaServerOptions().connections(options())));
            TwoIds stranger = keep(made, TwoIds.resolved(PortSpace.TCP, port));
            return new Wait(
                    () -> server.accept(LONG),
                    server,
                    () -> {
                        stranger.client.connect(TwoIds.parameters());
                        establish(stranger);
                    },
                    connection -> assertConnected(((Optional<?>) connection).orElseThrow()));
        });
        waits.put("ConnectionRequest.accept", (arena, made, port) -> {
            RdmaServer server = keep(
                    made, RdmaServer.listen(arena, Lab.second(port), new RdmaServerOptions().connections(options())));
            TwoIds stranger = keep(made, TwoIds.resolved(PortSpace.TCP, port));
            stranger.client.connect(TwoIds.parameters());
            ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
            return new Wait(
                    () -> request.accept(options(), LONG), null, () -> establish(stranger), Waits::assertConnected);
        });
        waits.put("RdmaClient.connect", (arena, made, port) -> {
            SynchronousId listener = listening(port, made);
            return new Wait(
                    () -> new RdmaClient(arena).connect(Lab.second(port), options(), LONG),
                    null,
                    accept(listener),
                    Waits::assertConnected);
        });
        waits.put("RdmaConnection.awaitDisconnect", (arena, made, port) -> {
            RdmaConnection connection = connection(arena, port, made);
            RdmaConnection peer = (RdmaConnection) made.getLast();
            return new Wait(
                    () -> connection.awaitDisconnect(LONG),
                    connection,
                    peer::close,
                    ended -> assertEquals(true, ended));
        });
        waits.put("RdmaConnection.disconnect", (arena, made, port) -> {
            // The peer takes no events, so it does not answer.
            RdmaConnection connection = connection(arena, port, made);
            RdmaConnection peer = (RdmaConnection) made.getLast();
            return new Wait(
                    () -> {
                        connection.disconnect(LONG);
                        return null;
                    },
                    connection,
                    () -> assertTrue(peer.awaitDisconnect(Lab.SECONDS)),
                    nothing -> {});
        });
        return waits;
    }
}
