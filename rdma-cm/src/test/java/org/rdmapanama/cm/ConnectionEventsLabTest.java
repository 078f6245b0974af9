package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.QueuePair;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.testing.Async;
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
