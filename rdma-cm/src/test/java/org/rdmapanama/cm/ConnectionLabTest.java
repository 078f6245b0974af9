package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.testing.Lab;

/** Two ids of one process connect from rxe0 to rxe1, event by event. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConnectionLabTest {
    private static final int PORT = 7471;

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    /** Everything that two connected sides consist of. */
    private static final class Pair implements AutoCloseable {
        final EventChannel passive = EventChannel.create();
        final EventChannel active = EventChannel.create();
        final CmId listener = passive.createId(PortSpace.TCP);
        final CmId client = active.createId(PortSpace.TCP);
        final VerbsArena arena = VerbsArena.ofShared();
        CmId server;
        IdSide serverSide;
        IdSide clientSide;

        void request(byte... privateData) throws InterruptedException {
            listener.bind(Lab.second(PORT));
            listener.listen(4);
            client.resolveAddress(Lab.first(0), Lab.second(PORT), Duration.ofSeconds(5));
            CmEvents.await(active, CmEventType.ADDR_RESOLVED);
            client.resolveRoute(Duration.ofSeconds(5));
            CmEvents.await(active, CmEventType.ROUTE_RESOLVED);
            clientSide = new IdSide(arena, client);
            client.connect(clientSide.queuePair, new ConnectionParameters().privateData(privateData));
        }

        CmEvent connect() throws InterruptedException {
            request(PrivateData.bytes("from the client"));
            CmEvent request = CmEvents.await(passive, CmEventType.CONNECT_REQUEST);
            assertEquals("from the client", PrivateData.text(request.privateData()));
            assertSame(listener, request.listener());
            server = request.id();
            serverSide = new IdSide(arena, server);
            server.initialize(serverSide.queuePair);
            serverSide.postReceive();
            server.accept(
                    serverSide.queuePair, new ConnectionParameters().privateData(PrivateData.bytes("from the server")));
            CmEvent response = CmEvents.await(active, CmEventType.CONNECT_RESPONSE);
            assertEquals("from the server", PrivateData.text(response.privateData()));
            clientSide.postReceive();
            client.establish(clientSide.queuePair);
            CmEvents.await(passive, CmEventType.ESTABLISHED);
            return request;
        }

        @Override
        public void close() {
            arena.close();
            active.close();
            passive.close();
        }
    }

    @Test
    @Shows({
        "rdma_create_event_channel",
        "rdma_destroy_event_channel",
        "rdma_create_id",
        "rdma_destroy_id",
        "rdma_bind_addr",
        "rdma_listen",
        "rdma_resolve_addr",
        "rdma_resolve_route",
        "rdma_create_qp",
        "rdma_create_qp_ex",
        "rdma_init_qp_attr",
        "rdma_connect",
        "rdma_accept",
        "rdma_establish",
        "rdma_disconnect",
        "rdma_get_cm_event",
        "rdma_ack_cm_event",
        "rdma_get_src_port",
        "rdma_get_dst_port",
        "rdma_get_local_addr",
        "rdma_get_peer_addr"
    })
    void shouldConnectSendBothWaysAndDisconnect() throws Exception {
        try (Pair pair = new Pair()) {
            CmEvent request = pair.connect();

            assertEquals(Lab.FIRST_DEVICE, pair.client.deviceName());
            assertEquals(Lab.SECOND_DEVICE, pair.server.deviceName());
            assertEquals(1, pair.client.port());
            assertEquals(Lab.second(PORT), pair.client.remoteAddress());
            assertEquals(Lab.first(0).getAddress(), pair.client.localAddress().getAddress());
            assertEquals(pair.client.localAddress(), pair.server.remoteAddress());
            assertEquals(Lab.second(PORT), pair.server.localAddress());
            assertEquals(PORT, pair.client.remotePort());
            assertEquals(pair.client.localPort(), pair.server.remotePort());
            assertEquals(pair.client.localGid(), pair.server.remoteGid());
            assertEquals(Lab.second(0).getAddress(), pair.server.localGid().toInetAddress());
            assertEquals(
                    pair.clientSide.queuePair.number(), request.connection().queuePairNumber());
            assertEquals(QueuePairState.RTS, pair.clientSide.queuePair.state());
            assertEquals(QueuePairState.RTS, pair.serverSide.queuePair.state());

            List<String> resources = Lab.resources();
            for (String kind : List.of("qp ", "cq ", "mr ", "pd ", "cm_id ")) {
                assertTrue(
                        !Lab.isInLab() || resources.stream().anyMatch(line -> line.startsWith(kind)),
                        resources::toString);
            }

            pair.clientSide.send("to the server");
            assertEquals("to the server", pair.serverSide.receive());
            pair.serverSide.send("to the client");
            assertEquals("to the client", pair.clientSide.receive());

            pair.client.disconnect(pair.clientSide.queuePair);
            CmEvents.await(pair.passive, CmEventType.DISCONNECTED);
            // This is the answer that the other side waits for.
            pair.server.disconnect(pair.serverSide.queuePair);
            CmEvents.await(pair.active, CmEventType.DISCONNECTED);
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldCloseInAnyOrder() throws Exception {
        for (int seed = 0; seed < 6; seed++) {
            Pair pair = new Pair();
            pair.connect();
            List<AutoCloseable> all = new ArrayList<>(List.of(
                    pair.passive,
                    pair.active,
                    pair.listener,
                    pair.client,
                    pair.server,
                    pair.clientSide.queuePair::close,
                    pair.serverSide.queuePair::close,
                    pair.clientSide.context::close,
                    pair.serverSide.context::close,
                    pair.arena));
            Collections.shuffle(all, new Random(seed));
            for (AutoCloseable each : all) {
                each.close();
                each.close();
            }
            assertFalse(pair.client.isOpen());
            assertFalse(pair.server.isOpen());
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldCloseWithEventsThatNobodyTook() throws Exception {
        for (int i = 0; i < 3; i++) {
            Pair pair = new Pair();
            pair.request();
            // The request is in the listener's channel, perhaps.
            Thread.sleep(i * 200L);
            if (i == 1) {
                pair.listener.close();
            }
            pair.close();
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    @Shows("rdma_reject")
    void shouldSayWhyItIsRejected() throws Exception {
        try (Pair pair = new Pair()) {
            pair.request();
            CmEvent request = CmEvents.await(pair.passive, CmEventType.CONNECT_REQUEST);
            request.id().reject(PrivateData.bytes("not you"));
            CmEvent rejected = CmEvents.await(pair.active, CmEventType.REJECTED);
            assertEquals(28, rejected.status());
            assertEquals("not you", PrivateData.text(rejected.privateData()));
        }
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP);
                VerbsArena arena = VerbsArena.ofConfined()) {
            id.resolveAddress(Lab.first(0), Lab.second(PORT + 1), Duration.ofSeconds(5));
            CmEvents.await(channel, CmEventType.ADDR_RESOLVED);
            id.resolveRoute(Duration.ofSeconds(5));
            CmEvents.await(channel, CmEventType.ROUTE_RESOLVED);
            id.connect(new IdSide(arena, id).queuePair, new ConnectionParameters());
            assertEquals(8, CmEvents.await(channel, CmEventType.REJECTED).status());
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldRefuseWhatWouldCrash() {
        EventChannel channel = EventChannel.create();
        try {
            CmId id = channel.createId(PortSpace.TCP);
            assertThrows(IllegalStateException.class, () -> id.resolveRoute(Duration.ofSeconds(1)));
            assertThrows(IllegalStateException.class, () -> id.connect(new ConnectionParameters()));
            assertThrows(IllegalStateException.class, () -> id.accept(new ConnectionParameters()));
            assertThrows(IllegalStateException.class, id::disconnect);
            assertThrows(IllegalStateException.class, () -> id.queuePairAttributes(QueuePairState.INIT));
            assertThrows(IllegalStateException.class, id::deviceName);
            assertThrows(ConnectionException.class, () -> id.bind(new java.net.InetSocketAddress("192.0.2.1", 0)));
            assertThrows(IllegalArgumentException.class, () -> id.resolveAddress(Lab.first(0), Duration.ofMillis(-1)));
            id.bind(Lab.first(0));
            assertTrue(id.hasDevice());
            assertThrows(
                    IllegalArgumentException.class,
                    () -> id.connect(new ConnectionParameters().privateData(new byte[57])));
            ConnectionException notConnected = assertThrows(ConnectionException.class, id::establish);
            assertNotNull(notConnected.getMessage());
            id.close();
            assertThrows(IllegalStateException.class, id::localAddress);
            channel.close();
            assertThrows(IllegalStateException.class, channel::poll);
            assertThrows(IllegalStateException.class, () -> channel.createId(PortSpace.TCP));
        } finally {
            channel.close();
        }
    }
}
