package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Flight;
import org.rdmapanama.testing.Lab;

/** What JDK Flight Recorder gets to know of connections. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are only there
class ConnectionEventsLabTest {
    private static final int PORT = 7591;

    private static RecordedEvent of(List<RecordedEvent> all, String field, String value) {
        return all.stream()
                .filter(each -> value.equals(each.getString(field)))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + value + " in " + all));
    }

    private static String text(InetSocketAddress address) {
        return CmId.hostAndPort(address);
    }

    private static String text(QueuePair queuePair) {
        return "0x%06x".formatted(queuePair.number());
    }

    @Test
    void shouldTellOfConnectionsOnBothSides() throws Exception {
        try (Flight flight = new Flight("ConnectionMade");
                Pair pair = new Pair(LabWire.ROCE, PORT, options -> {})) {
            List<RecordedEvent> made = flight.events();
            RdmaConnection left = pair.left.connection;
            RecordedEvent client = of(made, "side", "client");
            assertEquals(text(left.localAddress()), client.getString("localAddress"));
            assertEquals(text(left.remoteAddress()), client.getString("remoteAddress"));
            assertEquals(left.queuePair().context().deviceName(), client.getString("device"));
            assertEquals(text(left.queuePair()), client.getString("queuePair"));
            assertTrue(client.getDuration().isPositive());
            RecordedEvent server = of(made, "side", "server");
            assertEquals(text(left.localAddress()), server.getString("remoteAddress"));
            assertEquals(text(pair.right.connection.queuePair()), server.getString("queuePair"));
        }
    }

    @Test
    void shouldTellOfAnEndByThePeer() throws Exception {
        try (Pair pair = new Pair(LabWire.ROCE, PORT + 2, options -> {});
                Flight flight = new Flight("ConnectionLost")) {
            RdmaConnection right = pair.right.connection;
            String local = text(right.localAddress());
            CompletableFuture<Boolean> waiting = Async.start(() -> right.awaitDisconnect(Lab.SECONDS));
            pair.left.connection.close();
            assertTrue(Async.get(waiting));
            RecordedEvent lost = flight.only();
            assertEquals("the peer has ended it", lost.getString("reason"));
            assertEquals(local, lost.getString("localAddress"));
            assertEquals(text(right.remoteAddress()), lost.getString("remoteAddress"));
            assertEquals(text(right.queuePair()), lost.getString("queuePair"));
        }
    }

    @Test
    void shouldTellOfAFailure() throws Exception {
        try (Pair pair = new Pair(LabWire.ROCE, PORT + 4, options -> {});
                Flight flight = new Flight("ConnectionLost")) {
            Pair.End left = pair.left;
            left.post(left.request(1, 0, 8).rdmaWrite(pair.right.region.address(), pair.right.region.rkey() ^ 0xff00));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, left.sent(1));
            RecordedEvent lost = of(
                    flight.events(),
                    "reason",
                    left.connection.failure().orElseThrow().toString());
            assertEquals(text(left.connection.queuePair()), lost.getString("queuePair"));
        }
    }

    /** A message that is too long comes right behind the handshake, and its completion is polled before the events are taken. */
    @Test
    void shouldTellOfAFailureThatIsKnownBeforeTheConnection() throws Exception {
        InetSocketAddress address = LabWire.ROCE.second(PORT + 8);
        AtomicReference<RdmaConnection> made = new AtomicReference<>();
        RdmaConnectionOptions options = new RdmaConnectionOptions().prepare(connection -> {
            MemoryRegion region = connection.register(4, AccessFlag.LOCAL_WRITE);
            connection
                    .queuePair()
                    .postReceive(ReceiveWorkRequest.allocate(connection.queuePair(), 1)
                            .add(region, 0, 4));
            made.set(connection);
        });
        try (Flight flight = new Flight("ConnectionLost");
                VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, address, new RdmaServerOptions().connections(options))) {
            CompletableFuture<RdmaConnection> connecting = Async.start(() -> new RdmaClient(arena)
                    .connect(address, new RdmaConnectionOptions().localAddress(LabWire.ROCE.first(0)), Lab.SECONDS));
            Bound answered = Bound.of(Lab.SECONDS);
            while (made.get() == null) {
                answered.check("no request");
                assertTrue(server.accept(Duration.ZERO).isEmpty());
            }
            RdmaConnection client = Async.get(connecting);
            client.queuePair()
                    .postSend(SendWorkRequest.allocate(client.queuePair(), 1)
                            .send()
                            .add(client.register(8), 0, 8)
                            .signaled(true));
            WorkCompletions completions = new WorkCompletions(arena, 1);
            Bound.of(Lab.SECONDS)
                    .await(
                            "the message did not fail",
                            () -> made.get().receiveQueue().poll(completions) > 0);
            RdmaConnection accepted = server.accept(Lab.SECONDS).orElseThrow();
            assertSame(accepted, server.nextEnded());
            assertEquals(new ServerCounts(1, 0, 0, 1, 1, 1), server.counts());
            int number = accepted.queuePair().number();
            assertTrue(flight.only().getString("reason").contains("0x%06x".formatted(number)));
        }
    }

    @Test
    void shouldTellOfARefusalOnBothSides() throws Exception {
        InetSocketAddress address = LabWire.ROCE.second(PORT + 6);
        try (Flight flight = new Flight("ConnectionRefused");
                VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(
                        arena, address, new RdmaServerOptions().connections(request -> Optional.empty()))) {
            CompletableFuture<Optional<RdmaConnection>> accepting =
                    Async.start(() -> server.accept(Lab.SECONDS.dividedBy(2)));
            assertThrows(RejectedException.class, () -> new RdmaClient(arena).connect(address, Lab.SECONDS));
            server.close();
            assertThrows(Exception.class, () -> Async.get(accepting));
            List<RecordedEvent> refused = flight.events();
            RecordedEvent client = of(refused, "side", "client");
            assertEquals(text(address), client.getString("remoteAddress"));
            assertTrue(client.getString("reason").contains("RejectedException"), client::toString);
            assertEquals("the server chose to", of(refused, "side", "server").getString("reason"));
        }
    }

    @Test
    void shouldTellThatNobodyListens() throws IOException {
        InetSocketAddress address = LabWire.ROCE.second(PORT + 7);
        try (Flight flight = new Flight("ConnectionRefused");
                VerbsArena arena = VerbsArena.ofShared()) {
            assertThrows(RejectedException.class, () -> new RdmaClient(arena).connect(address, Lab.SECONDS));
            assertEquals(text(address), flight.only().getString("remoteAddress"));
        }
    }
}
