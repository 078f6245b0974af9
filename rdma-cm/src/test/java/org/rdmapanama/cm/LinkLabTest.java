package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;

/** Interfaces that go down, and devices that go away. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are closed earlier
class LinkLabTest {
    private static final int PORT = 7531;

    private static RdmaConnectionOptions options() {
        return new RdmaConnectionOptions()
                .sendWorkRequests(4)
                .receiveWorkRequests(4)
                .localAddress(WirePair.first(0));
    }

    private static RdmaConnection connect(RdmaClient client) throws InterruptedException {
        return client.connect(WirePair.second(PORT), options(), Duration.ofSeconds(10));
    }

    private static FutureTask<RdmaConnection> accepting(RdmaServer server) {
        FutureTask<RdmaConnection> accepting =
                new FutureTask<>(() -> server.accept(options(), Lab.SECONDS).orElseThrow());
        Thread.ofPlatform().start(accepting);
        return accepting;
    }

    @Test
    void shouldSayThatTheInterfaceIsDown() throws Exception {
        List<String> before = Lab.resources();
        try (WirePair wire = WirePair.add()) {
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server = RdmaServer.listen(arena, WirePair.second(PORT))) {
                RdmaClient client = new RdmaClient(arena);
                FutureTask<RdmaConnection> first = accepting(server);
                try (RdmaConnection connection = connect(client);
                        RdmaConnection other = first.get(30, TimeUnit.SECONDS)) {
                    wire.down();
                    // The connection is still there, but the word of its end does not come through.
                    assertTrue(other.isConnected());
                    long start = System.nanoTime();
                    ConnectionException exception =
                            assertThrows(ConnectionException.class, () -> connection.disconnect(Duration.ofSeconds(1)));
                    assertEquals("rdma_disconnect", exception.verb());
                    assertTrue(
                            System.nanoTime() - start < Duration.ofSeconds(10).toNanos());
                    start = System.nanoTime();
                    ConnectionException unreachable = assertThrows(ConnectionException.class, () -> connect(client));
                    assertEquals("rdma_resolve_addr", unreachable.verb(), unreachable::getMessage);
                    assertTrue(
                            System.nanoTime() - start < Duration.ofSeconds(15).toNanos());
                    wire.up();
                }
                FutureTask<RdmaConnection> second = accepting(server);
                try (RdmaConnection connection = connect(client);
                        RdmaConnection other = second.get(30, TimeUnit.SECONDS)) {
                    assertTrue(other.isConnected());
                    connection.disconnect(Duration.ofSeconds(10));
                }
            }
            Lab.assertNothingLeft(before);
        }
    }

    @Test
    void shouldTellThatTheDeviceGoesAway() throws Exception {
        List<String> before = Lab.resources();
        try (WirePair wire = WirePair.add()) {
            Process removal;
            try (VerbsArena arena = VerbsArena.ofShared();
                    RdmaServer server = RdmaServer.listen(arena, WirePair.second(PORT));
                    RdmaServer onRemoved = RdmaServer.listen(arena, WirePair.first(PORT));
                    EventChannel channel = EventChannel.create()) {
                CmId bound = channel.createId(PortSpace.TCP);
                bound.bind(WirePair.first(0));
                FutureTask<RdmaConnection> accepting = accepting(server);
                try (RdmaConnection connection = connect(new RdmaClient(arena));
                        RdmaConnection other = accepting.get(30, TimeUnit.SECONDS)) {
                    removal = wire.remove();
                    assertEquals(
                            bound,
                            Lab.await(channel, CmEventType.DEVICE_REMOVAL).id());
                    assertTrue(connection.awaitDisconnect(Lab.SECONDS));
                    assertFalse(connection.isConnected());
                    ConnectionException exception =
                            assertThrows(ConnectionException.class, () -> onRemoved.awaitRequest(Lab.SECONDS));
                    assertEquals("ENODEV", exception.errnoName());
                    bound.close();
                    onRemoved.close();
                    connection.close();
                    assertTrue(other.awaitDisconnect(Lab.SECONDS));
                }
            }
            assertTrue(removal.waitFor(30, TimeUnit.SECONDS), "something keeps the device");
            Lab.assertNothingLeft(before);
        }
    }
}
