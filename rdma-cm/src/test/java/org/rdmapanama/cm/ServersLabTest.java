package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** Servers with many clients, of which some stall, are rejected, or leave. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are closed earlier
class ServersLabTest {
    private static final int PORT = 7615;
    private static final int STALLED = 20;
    private static final int MANY = Lab.isInLab() ? 100 : 1000;
    private static final int WAITING = 50;
    private static final Duration NOW = Duration.ZERO;

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    @AfterEach
    void assertNothingLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    private static RdmaConnectionOptions small() {
        return new RdmaConnectionOptions().sendWorkRequests(2).receiveWorkRequests(2);
    }

    /** Nobody takes the answers. */
    private static void add(StalledClients stalled, int count) throws InterruptedException {
        stalled.add(count, Lab.second(PORT), i -> new byte[0]);
    }

    private static RdmaServer listen(VerbsArena arena, RdmaServerOptions options) {
        return RdmaServer.listen(arena, Lab.second(PORT), options);
    }

    private static Future<RdmaConnection> connecting(ExecutorService threads, VerbsArena arena) {
        return threads.submit(
                () -> new RdmaClient(arena).connect(Lab.second(PORT), small().localAddress(Lab.first(0)), Lab.SECONDS));
    }

    /** Has a server do what it can until it holds so many clients. */
    private static void serveUntil(RdmaServer server, int pending) throws InterruptedException {
        Bound bound = Bound.of(Lab.SECONDS);
        while (server.pending() != pending) {
            bound.check(() -> server.pending() + " are pending");
            assertTrue(server.accept(Duration.ofMillis(10)).isEmpty());
        }
    }

    @Test
    void shouldConnectAClientBesideThoseThatStall() throws Exception {
        List<VerbsException> failures = Collections.synchronizedList(new ArrayList<>());
        RdmaServerOptions options = new RdmaServerOptions()
                .connections(small())
                .handshakeTimeout(Duration.ofSeconds(4))
                .onFailedHandshake(failures::add);
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, options);
                StalledClients stalled = new StalledClients();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            add(stalled, STALLED);
            serveUntil(server, STALLED);
            Future<RdmaConnection> connecting = connecting(threads, arena);
            try (RdmaConnection accepted = server.accept(Lab.SECONDS).orElseThrow();
                    RdmaConnection connected = connecting.get(30, TimeUnit.SECONDS)) {
                assertEquals(connected.localAddress(), accepted.remoteAddress());
                assertSame(accepted, server.connection(accepted.queuePair().number()));
                serveUntil(server, 0);
                assertTrue(accepted.isConnected());
            }
            assertEquals(STALLED, failures.size(), failures::toString);
            for (VerbsException each : failures) {
                assertEquals("ETIMEDOUT", each.errnoName());
                assertTrue(each.getMessage().contains(Lab.first(0).getAddress().getHostAddress()), each::getMessage);
            }
        }
    }

    /** Fewer than the default bound. */
    @Test
    void shouldConnectAClientBesideManyThatStall() throws Exception {
        RdmaServerOptions options =
                new RdmaServerOptions().connections(small()).handshakeTimeout(Duration.ofMinutes(2));
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, options);
                StalledClients stalled = new StalledClients();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            add(stalled, MANY);
            serveUntil(server, MANY);
            for (int i = 0; i < 3; i++) {
                Future<RdmaConnection> connecting = connecting(threads, arena);
                try (RdmaConnection accepted = server.accept(Lab.SECONDS).orElseThrow();
                        RdmaConnection connected = connecting.get(30, TimeUnit.SECONDS)) {
                    assertEquals(connected.localAddress(), accepted.remoteAddress());
                }
            }
            assertEquals(MANY, server.pending());
        }
    }

    @Test
    void shouldRejectClientsBeyondItsBound() throws Exception {
        RdmaServerOptions options =
                new RdmaServerOptions().connections(small()).maxPending(2).patience(Duration.ofHours(1));
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, options);
                StalledClients stalled = new StalledClients();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            add(stalled, 2);
            serveUntil(server, 2);
            Future<RdmaConnection> connecting = connecting(threads, arena);
            Bound bound = Bound.of(Lab.SECONDS);
            while (!connecting.isDone()) {
                bound.check("the client still waits");
                assertTrue(server.accept(Duration.ofMillis(10)).isEmpty());
            }
            Exception failed = assertThrows(Exception.class, connecting::get);
            assertEquals(
                    28,
                    assertInstanceOf(RejectedException.class, failed.getCause()).status());
            assertEquals(2, server.pending());
        }
    }

    @Test
    void shouldGiveUpTheOldestForANewClient() throws Exception {
        List<VerbsException> failures = new ArrayList<>();
        RdmaServerOptions options = new RdmaServerOptions()
                .connections(small())
                .maxPending(2)
                .patience(NOW)
                .onFailedHandshake(failures::add);
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, options);
                StalledClients stalled = new StalledClients();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            add(stalled, 2);
            serveUntil(server, 2);
            Future<RdmaConnection> connecting = connecting(threads, arena);
            try (RdmaConnection accepted = server.accept(Lab.SECONDS).orElseThrow();
                    RdmaConnection connected = connecting.get(30, TimeUnit.SECONDS)) {
                assertEquals(connected.localAddress(), accepted.remoteAddress());
            }
            assertEquals(1, failures.size(), failures::toString);
            assertTrue(failures.getFirst().getMessage().contains("to make room"), failures::toString);
            assertEquals(1, server.pending());
        }
    }

    /** What the connections share is made when the server listens already, so the choice may come as late. */
    @Test
    void shouldChooseLater() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, new RdmaServerOptions());
                ExecutorService threads = Executors.newCachedThreadPool()) {
            server.connections(request -> server.counts().open() == 0 ? Optional.of(small()) : Optional.empty());
            Future<RdmaConnection> first = connecting(threads, arena);
            try (RdmaConnection accepted = server.accept(Lab.SECONDS).orElseThrow();
                    RdmaConnection connected = first.get(30, TimeUnit.SECONDS)) {
                assertEquals(connected.localAddress(), accepted.remoteAddress());
                Future<RdmaConnection> second = connecting(threads, arena);
                Bound bound = Bound.of(Lab.SECONDS);
                while (server.counts().refused() == 0) {
                    bound.check("the second client was not refused");
                    assertTrue(server.accept(Duration.ofMillis(10)).isEmpty());
                }
                Exception failed = assertThrows(Exception.class, () -> second.get(30, TimeUnit.SECONDS));
                assertInstanceOf(RejectedException.class, failed.getCause());
            }
        }
    }

    /** A completion can name a connection before it is returned, and what came with it can be a reason to close it. */
    @Test
    void shouldNotReturnWhatTheProgramHasClosed() throws Exception {
        AtomicReference<RdmaConnection> made = new AtomicReference<>();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, new RdmaServerOptions().connections(small().prepare(made::set)));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            Future<RdmaConnection> connecting = connecting(threads, arena);
            Bound bound = Bound.of(Lab.SECONDS);
            while (made.get() == null) {
                bound.check("no request");
                assertTrue(server.accept(Duration.ZERO).isEmpty());
            }
            RdmaConnection client = connecting.get(30, TimeUnit.SECONDS);
            RdmaConnection early = server.connection(made.get().queuePair().number());
            // Takes the event that it is established, and leaves the connection where it is.
            Bound.of(Lab.SECONDS)
                    .await(
                            "it is not established",
                            () -> server.awaitRequest(Duration.ZERO).isEmpty() && early.isConnected());
            assertEquals(1, server.pending());
            early.close();
            assertTrue(server.accept(Duration.ofMillis(100)).isEmpty());
            assertNull(server.nextEnded());
            assertEquals(new ServerCounts(1, 0, 0, 0, 0, 0), server.counts());
            assertTrue(client.awaitDisconnect(Lab.SECONDS));
        }
    }

    /** What was prepared is given back, for a client that was never connected as well, once, and when the device lets it go. */
    @Test
    void shouldRunTheActionAfterClosing() throws Exception {
        List<RdmaConnection> prepared = Collections.synchronizedList(new ArrayList<>());
        List<RdmaConnection> closed = Collections.synchronizedList(new ArrayList<>());
        RdmaConnectionOptions options = small().prepare(prepared::add).afterClose(connection -> {
            assertFalse(connection.queuePair().isOpen());
            closed.add(connection);
        });
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(
                        arena, new RdmaServerOptions().connections(options).handshakeTimeout(Duration.ofSeconds(2)));
                StalledClients stalled = new StalledClients();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            add(stalled, 1);
            serveUntil(server, 1);
            serveUntil(server, 0);
            assertEquals(1, closed.size());
            Future<RdmaConnection> connecting = connecting(threads, arena);
            RdmaConnection accepted = server.accept(Lab.SECONDS).orElseThrow();
            connecting.get(30, TimeUnit.SECONDS).close();
            assertEquals(1, closed.size());
            accepted.close();
            accepted.close();
            assertEquals(prepared, closed);
            // What nobody has taken is closed with the server.
            add(stalled, 1);
            serveUntil(server, 1);
            server.close();
            assertEquals(3, closed.size());
            assertEquals(prepared, closed);
        }
    }

    @Test
    void shouldChooseByTheRequest() throws Exception {
        RdmaServerOptions options = new RdmaServerOptions().connections(request -> {
            String name = PrivateData.text(request.privateData());
            if (name.equals("stranger")) {
                request.reject("who?".getBytes(StandardCharsets.UTF_8));
            }
            return name.equals("friend")
                    ? Optional.of(small().privateData(PrivateData.bytes("hello")))
                    : Optional.empty();
        });
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, options);
                ExecutorService threads = Executors.newCachedThreadPool()) {
            RdmaClient client = new RdmaClient(arena);
            Future<RdmaConnection> accepted =
                    threads.submit(() -> server.accept(Lab.SECONDS).orElseThrow());
            RejectedException stranger = assertThrows(
                    RejectedException.class,
                    () -> client.connect(server.localAddress(), named("stranger"), Lab.SECONDS));
            assertEquals("who?", PrivateData.text(stranger.privateData()));
            RejectedException other = assertThrows(
                    RejectedException.class, () -> client.connect(server.localAddress(), named("other"), Lab.SECONDS));
            assertEquals("", PrivateData.text(other.privateData()));
            try (RdmaConnection connected = client.connect(server.localAddress(), named("friend"), Lab.SECONDS);
                    RdmaConnection friend = accepted.get(30, TimeUnit.SECONDS)) {
                assertEquals("hello", PrivateData.text(connected.privateData()));
                assertEquals("friend", PrivateData.text(friend.privateData()));
            }
        }
    }

    private static RdmaConnectionOptions named(String name) {
        return small().localAddress(Lab.first(0)).privateData(PrivateData.bytes(name));
    }

    @Test
    void shouldSayWhatItStandsOn() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, new RdmaServerOptions());
                RdmaServer everywhere = RdmaServer.listen(arena, new InetSocketAddress(PORT + 1))) {
            assertSame(server.protectionDomain(), server.protectionDomain());
            assertTrue(server.protectionDomain().isOpen());
            IllegalStateException all = assertThrows(IllegalStateException.class, everywhere::protectionDomain);
            assertTrue(all.getMessage().contains("all devices"), all::getMessage);
            server.close();
            assertThrows(IllegalStateException.class, server::protectionDomain);
        }
    }

    @Test
    void shouldMakeExtendedQueuePairs() throws Exception {
        RdmaServerOptions options = new RdmaServerOptions().connections(small().sendOperations(SendOperation.SEND));
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, options);
                ExecutorService threads = Executors.newCachedThreadPool()) {
            Future<RdmaConnection> connecting = connecting(threads, arena);
            try (RdmaConnection accepted = server.accept(Lab.SECONDS).orElseThrow();
                    RdmaConnection connected = connecting.get(30, TimeUnit.SECONDS)) {
                assertSame(accepted.queuePair(), accepted.extendedQueuePair());
                assertThrows(IllegalStateException.class, connected::extendedQueuePair);
            }
        }
    }

    /** One thread takes the events of all connections, and each that leaves hands that on. */
    @Test
    void shouldWakeEachThreadThatWaits() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, new RdmaServerOptions().connections(small()));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            List<RdmaConnection> clients = new ArrayList<>();
            List<Future<Boolean>> ends = new ArrayList<>();
            for (int i = 0; i < WAITING; i++) {
                Future<RdmaConnection> connecting = connecting(threads, arena);
                RdmaConnection accepted = server.accept(Lab.SECONDS).orElseThrow();
                clients.add(connecting.get(30, TimeUnit.SECONDS));
                ends.add(threads.submit(() -> accepted.awaitDisconnect(Duration.ofSeconds(60))));
            }
            Future<Optional<RdmaConnection>> accepting = threads.submit(() -> server.accept(Duration.ofSeconds(60)));
            Collections.shuffle(clients);
            clients.forEach(RdmaConnection::close);
            for (Future<Boolean> each : ends) {
                assertTrue(each.get(30, TimeUnit.SECONDS));
            }
            Future<RdmaConnection> last = connecting(threads, arena);
            RdmaConnection accepted = accepting.get(30, TimeUnit.SECONDS).orElseThrow();
            int number = accepted.queuePair().number();
            assertSame(accepted, server.connection(number));
            accepted.close();
            assertNull(server.connection(number));
            assertTrue(last.get(30, TimeUnit.SECONDS).awaitDisconnect(Lab.SECONDS));
        }
    }

    /** Connections that nobody has taken end with the server, and those of a confined arena as well. */
    @Test
    void shouldEndWhatNobodyHasTaken() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined();
                VerbsArena ofClients = VerbsArena.ofShared();
                RdmaServer server = listen(arena, new RdmaServerOptions().connections(small()));
                StalledClients stalled = new StalledClients();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            Future<RdmaConnection> one = connecting(threads, ofClients);
            RdmaConnection taken = server.accept(Lab.SECONDS).orElseThrow();
            Future<RdmaConnection> two = connecting(threads, ofClients);
            Bound bound = Bound.of(Lab.SECONDS);
            while (server.pending() == 0) {
                bound.check("no second request");
                // Takes the events of the server, too.
                assertTrue(taken.isConnected());
                Thread.sleep(10);
            }
            assertTrue(server.accept(NOW).isEmpty(), "the client has not answered yet");
            RdmaConnection first = one.get(30, TimeUnit.SECONDS);
            RdmaConnection second = two.get(30, TimeUnit.SECONDS);
            assertTrue(taken.isConnected());
            add(stalled, 1);
            threads.submit(server::close).get(30, TimeUnit.SECONDS);
            assertTrue(second.awaitDisconnect(Lab.SECONDS));
            assertTrue(first.isConnected());
        }
    }

    /** A connection of a server, and a loop over the events of that. */
    @FunctionalInterface
    private interface Watching {
        void run(RdmaServer server, EventLoop loop, RdmaConnection client, RdmaConnection accepted) throws Exception;
    }

    private static void watch(Watching test) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = listen(arena, new RdmaServerOptions().connections(small()));
                EventLoop loop = new EventLoop();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            Future<RdmaConnection> connecting = connecting(threads, arena);
            RdmaConnection accepted = server.accept(Lab.SECONDS).orElseThrow();
            RdmaConnection client = connecting.get(30, TimeUnit.SECONDS);
            loop.add(server.channel(), null);
            test.run(server, loop, client, accepted);
            assertSame(accepted, server.nextEnded());
            assertEquals(0, loop.await(NOW));
            accepted.close();
        }
    }

    /** A loop over the events of a closed server, whose connections go on, sleeps until one of them ends. */
    @Test
    void shouldNotKeepALoopBusyAfterItHasClosed() throws Exception {
        watch((server, loop, client, accepted) -> {
            server.close();
            assertNull(server.nextEnded());
            assertEquals(0, loop.await(Duration.ofMillis(100)));
            client.close();
            assertEquals(1, loop.await(Lab.SECONDS));
        });
    }

    /** Whichever call takes the event: a loop over the channel learns that a connection has ended. */
    @Test
    void shouldTellALoopOfAnEndWhoseEventAnotherCallTook() throws Exception {
        watch((server, loop, client, accepted) -> {
            assertTrue(server.accept(NOW).isEmpty());
            client.close();
            // Takes the event of the end.
            assertTrue(accepted.awaitDisconnect(Lab.SECONDS));
            assertEquals(1, loop.await(Lab.SECONDS));
            assertEquals(1, loop.await(NOW), "until it is taken");
        });
    }
}
