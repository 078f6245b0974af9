package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rdmapanama.AccessFlag.LOCAL_WRITE;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionStatus;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.ffm.Shows;

/** Servers and clients of one process, from rxe0 to rxe1. */
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

    private static RdmaConnectionOptions fromFirst() {
        return new RdmaConnectionOptions()
                .sendWorkRequests(8)
                .receiveWorkRequests(8)
                .localAddress(Lab.first(0));
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
            assertEquals(
                    QueuePair.POSTED,
                    connection
                            .queuePair()
                            .postReceive(ReceiveWorkRequest.allocate(arena, 1).add(region, BYTES, BYTES)));
        }

        void send(RdmaConnection connection, String text) throws Exception {
            region.memory().setString(0, text);
            assertEquals(
                    QueuePair.POSTED,
                    connection
                            .queuePair()
                            .postSend(SendWorkRequest.allocate(arena, 1)
                                    .send()
                                    .add(region, 0, BYTES)
                                    .signaled(true)));
            complete(connection.sendQueue());
        }

        String receive(RdmaConnection connection) throws Exception {
            complete(connection.receiveQueue());
            return region.memory().getString(BYTES);
        }

        private void complete(CompletionQueue queue) throws InterruptedException {
            WorkCompletions completions = new WorkCompletions(arena, 1);
            long start = System.nanoTime();
            while (queue.poll(completions) == 0) {
                assertTrue(System.nanoTime() - start < 20_000_000_000L, "no completion");
                Thread.sleep(1);
            }
            assertEquals(CompletionStatus.SUCCESS, completions.status(0), () -> completions.describe(0));
        }
    }

    @Test
    @Shows("rdma_destroy_qp")
    void shouldServeSeveralClientsAtOnce() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            RdmaClient client = new RdmaClient(arena);
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                String name = "client " + i;
                all.add(threads.submit(() -> {
                    Peer peer = new Peer(arena);
                    try (RdmaConnection connection = client.connect(
                            Lab.second(PORT),
                            fromFirst().privateData(Lab.bytes(name)).prepare(peer::prepare),
                            Lab.SECONDS)) {
                        assertEquals("for " + name, Lab.text(connection.privateData()));
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
                    String name = Lab.text(request.privateData());
                    Peer peer = new Peer(arena);
                    RdmaConnectionOptions options = new RdmaConnectionOptions()
                            .sendWorkRequests(8)
                            .receiveWorkRequests(8)
                            .privateData(Lab.bytes("for " + name))
                            .prepare(peer::prepare);
                    try (RdmaConnection connection = request.accept(options, Lab.SECONDS)) {
                        assertEquals(name, peer.receive(connection));
                        peer.send(connection, "hello, " + name);
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

    @Test
    void shouldSleepUntilSomethingCompletes() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(0));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            InetSocketAddress address = server.localAddress();
            assertTrue(address.getPort() > 0);
            Peer serving = new Peer(arena);
            Future<RdmaConnection> accepted = threads.submit(() -> server.accept(
                            new RdmaConnectionOptions().completionEvents(true).prepare(connection -> {
                                serving.prepare(connection);
                                connection.receiveQueue().requestNotification(false);
                            }),
                            Lab.SECONDS)
                    .orElseThrow());
            Peer asking = new Peer(arena);
            try (RdmaConnection connection =
                            new RdmaClient(arena).connect(address, fromFirst().prepare(asking::prepare), Lab.SECONDS);
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

    @Test
    void shouldSayWhyThereIsNoConnection() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
                ExecutorService threads = Executors.newCachedThreadPool()) {
            RdmaClient client = new RdmaClient(arena);
            RejectedException nobody = assertThrows(
                    RejectedException.class, () -> client.connect(Lab.second(PORT + 1), fromFirst(), Lab.SECONDS));
            assertEquals(8, nobody.status());
            assertEquals("ECONNREFUSED", nobody.errnoName());
            assertEquals(CmEventType.REJECTED, nobody.event());

            Future<RdmaConnection> connecting =
                    threads.submit(() -> client.connect(Lab.second(PORT), fromFirst(), Lab.SECONDS));
            server.awaitRequest(Lab.SECONDS).orElseThrow().reject(Lab.bytes("full"));
            RejectedException full = rejection(connecting);
            assertEquals(28, full.status());
            assertEquals("full", Lab.text(full.privateData()));

            // Nobody answers the request until the server closes.
            Future<RdmaConnection> ignored =
                    threads.submit(() -> client.connect(Lab.second(PORT), fromFirst(), Lab.SECONDS));
            assertTrue(server.awaitRequest(Lab.SECONDS).isPresent());
            server.close();
            assertEquals(28, rejection(ignored).status());

            ConnectionException unreachable = assertThrows(
                    ConnectionException.class,
                    () -> client.connect(
                            new InetSocketAddress("10.77.0.99", PORT), fromFirst(), Duration.ofSeconds(4)));
            assertTrue(
                    List.of("ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH").contains(unreachable.errnoName()),
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

    @Test
    void shouldEndAWaitWhenItCloses() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
            assertTrue(server.accept(Duration.ofMillis(60)).isEmpty());
            Future<?> waiting = threads.submit(() -> server.accept(Duration.ofMinutes(5)));
            Thread.sleep(300);
            server.close();
            ExecutionException ended = assertThrows(ExecutionException.class, () -> waiting.get(10, TimeUnit.SECONDS));
            assertTrue(ended.getCause() instanceof IllegalStateException, ended::toString);
            assertThrows(IllegalStateException.class, () -> server.accept(Duration.ZERO));

            try (RdmaServer other = RdmaServer.listen(arena, Lab.second(PORT))) {
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
                        () -> RdmaServer.listen(arena, Lab.second(PORT)),
                        "the port is taken");
            }
        }
        Lab.assertNothingLeft(before);
    }
}
