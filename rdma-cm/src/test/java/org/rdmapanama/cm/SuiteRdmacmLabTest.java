package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.testing.Lab;

/**
 * The cases of rdma-core's test_rdmacm.py, class CMTestCase, by the same names: ten messages of 1024 bytes each way, over
 * connections and datagrams that the connection manager made.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteRdmacmLabTest {
    private static final int PORT = 7491;
    private static final int MESSAGES = 10;
    private static final int BYTES = 1024;
    private static final int MULTICAST_QUEUE_PAIR = 0xff_ffff;
    private static final InetSocketAddress GROUP = new InetSocketAddress("230.1.2.3", 0);

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    @AfterEach
    void seeThatNothingIsLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    /** A text that is 1024 bytes long with its end. */
    private static String text(char letter, int number) {
        return (letter + "" + number).repeat(BYTES).substring(0, BYTES - 1);
    }

    private static void exchange(IdSide server, IdSide client) {
        for (int i = 0; i < MESSAGES; i++) {
            server.postReceive();
            client.send(text('c', i));
            assertEquals(text('c', i), server.receive());
            client.postReceive();
            server.send(text('s', i));
            assertEquals(text('s', i), client.receive());
        }
    }

    /** Two ids that are connected, each with its queue pair. */
    private static final class Connection implements AutoCloseable {
        final TwoIds ids;
        final VerbsArena arena = VerbsArena.ofShared();
        final CmId passive;
        final IdSide server;
        final IdSide client;

        /** Connects step by step. The time for an acknowledgement is the system's when it is negative. */
        Connection(int acknowledgeTimeout) throws InterruptedException {
            ids = TwoIds.resolved(PortSpace.TCP, PORT);
            ids.listener.bind(Lab.second(PORT));
            ids.listener.listen(1);
            client = new IdSide(arena, ids.client);
            if (acknowledgeTimeout >= 0) {
                ids.client.acknowledgeTimeout(acknowledgeTimeout);
            }
            ids.client.connect(client.queuePair, new ConnectionParameters());
            passive = CmEvents.await(ids.passive, CmEventType.CONNECT_REQUEST).id();
            server = new IdSide(arena, passive);
            if (acknowledgeTimeout >= 0) {
                passive.acknowledgeTimeout(acknowledgeTimeout);
            }
            passive.accept(server.queuePair, new ConnectionParameters());
            CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
            ids.client.establish(client.queuePair);
            CmEvents.await(ids.passive, CmEventType.ESTABLISHED);
        }

        /** The passive side begins. */
        void disconnect() throws InterruptedException {
            passive.disconnect(server.queuePair);
            CmEvents.await(ids.active, CmEventType.DISCONNECTED);
            ids.client.disconnect(client.queuePair);
            CmEvents.await(ids.passive, CmEventType.DISCONNECTED);
        }

        @Override
        public void close() {
            arena.close();
            ids.close();
        }
    }

    @Test
    @Shows("rdma_get_request")
    void test_rdmacm_sync_traffic() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                SynchronousId listener = SynchronousId.create(PortSpace.TCP);
                SynchronousId active = SynchronousId.create(PortSpace.TCP);
                ExecutorService threads = Executors.newCachedThreadPool()) {
            listener.id().bind(Lab.second(PORT));
            listener.id().listen(1);
            Future<IdSide> connecting = threads.submit(() -> {
                active.resolve(Lab.first(0), Lab.second(PORT), Lab.SECONDS);
                IdSide side = new IdSide(arena, active.id());
                active.connect(side.queuePair, new ConnectionParameters(), Lab.SECONDS);
                return side;
            });
            CmEvent request = listener.awaitRequest(Lab.SECONDS).orElseThrow();
            try (SynchronousId passive = SynchronousId.of(request.id())) {
                IdSide server = new IdSide(arena, passive.id());
                passive.accept(server.queuePair, new ConnectionParameters(), Lab.SECONDS);
                IdSide client = connecting.get(30, TimeUnit.SECONDS);
                exchange(server, client);
                // Each waits until the other knows, so both at once.
                Future<?> leaving = threads.submit(() -> {
                    passive.disconnect(server.queuePair, Lab.SECONDS);
                    return null;
                });
                active.disconnect(client.queuePair, Lab.SECONDS);
                leaving.get(30, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void test_rdmacm_async_traffic() throws Exception {
        int timeout = 21;
        try (Connection connection = new Connection(timeout)) {
            assertEquals(timeout, connection.client.queuePair.query().timeout());
            assertEquals(timeout, connection.server.queuePair.query().timeout());
            exchange(connection.server, connection.client);
            connection.disconnect();
        }
    }

    @Test
    void test_rdmacm_async_reject_traffic() throws Exception {
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT);
                VerbsArena arena = VerbsArena.ofConfined()) {
            ids.client.connect(new IdSide(arena, ids.client).queuePair, new ConnectionParameters());
            CmEvents.await(ids.passive, CmEventType.CONNECT_REQUEST)
                    .id()
                    .reject(PrivateData.bytes("connection rejected"));
            CmEvent rejected = CmEvents.await(ids.active, CmEventType.REJECTED);
            assertEquals("connection rejected", PrivateData.text(rejected.privateData()));
        }
    }

    /** The queue pair is moved by the caller, with the attributes that the connection manager has, and offers options. */
    @Test
    void test_rdmacm_async_traffic_external_qp() throws Exception {
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT);
                VerbsArena arena = VerbsArena.ofConfined()) {
            IdSide client = new IdSide(arena, ids.client);
            offerOptions(ids.client, client.queuePair);
            ids.client.connect(new ConnectionParameters().queuePair(client.queuePair));
            CmId passive =
                    CmEvents.await(ids.passive, CmEventType.CONNECT_REQUEST).id();
            IdSide server = new IdSide(arena, passive);
            takeOptions(passive, server.queuePair);
            ready(passive, server.queuePair);
            offerOptions(passive, server.queuePair);
            passive.accept(new ConnectionParameters().queuePair(server.queuePair));
            CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
            takeOptions(ids.client, client.queuePair);
            ready(ids.client, client.queuePair);
            ids.client.establish();
            CmEvents.await(ids.passive, CmEventType.ESTABLISHED);
            exchange(server, client);
            passive.disconnect();
            CmEvents.await(ids.active, CmEventType.DISCONNECTED);
            ids.client.disconnect();
            CmEvents.await(ids.passive, CmEventType.DISCONNECTED);
        }
    }

    private static void ready(CmId id, QueuePair queuePair) {
        for (QueuePairState state : List.of(QueuePairState.INIT, QueuePairState.RTR, QueuePairState.RTS)) {
            queuePair.modify(id.queuePairAttributes(state));
        }
        assertEquals(QueuePairState.RTS, queuePair.query().state());
    }

    private static void offerOptions(CmId id, QueuePair queuePair) {
        try {
            id.localEce(queuePair.queryEce());
        } catch (UnsupportedVerbException | ConnectionException e) {
            // Soft-RoCE has none to offer.
            assertTrue(List.of("EOPNOTSUPP", "EINVAL").contains(errnoName(e)), e::toString);
        }
    }

    private static void takeOptions(CmId id, QueuePair queuePair) {
        assertEquals(0, id.remoteEce().vendorId());
        assertThrows(UnsupportedVerbException.class, () -> queuePair.setEce(id.remoteEce()));
    }

    private static String errnoName(RuntimeException e) {
        return e instanceof ConnectionException exception ? exception.errnoName() : "EOPNOTSUPP";
    }

    @Test
    void test_rdmacm_async_udp_traffic() throws Exception {
        try (TwoIds ids = TwoIds.listening(PortSpace.UDP, PORT);
                VerbsArena arena = VerbsArena.ofConfined()) {
            IdSide client = new IdSide(arena, ids.client);
            ids.client.connect(client.queuePair, new ConnectionParameters());
            CmId passive =
                    CmEvents.await(ids.passive, CmEventType.CONNECT_REQUEST).id();
            IdSide server = new IdSide(arena, passive);
            passive.accept(server.queuePair, new ConnectionParameters());
            CmEvent established = CmEvents.await(ids.active, CmEventType.ESTABLISHED);
            UdParameters peer = established.datagram();
            assertEquals(server.queuePair.number(), peer.queuePairNumber());
            assertEquals(new byte[136].length, peer.privateData().length);
            AddressHandle toServer = client.domain.createAddressHandle(peer.addressVector());
            AddressHandle toClient = server.domain.createAddressHandle(
                    AddressVector.toGid(passive.port(), peer.addressVector().sourceGidIndex(), passive.remoteGid()));
            for (int i = 0; i < MESSAGES; i++) {
                server.postReceive();
                sendDatagram(client, text('c', i), toServer, peer.queuePairNumber(), peer.qkey());
                assertEquals(text('c', i), server.receiveDatagram());
                client.postReceive();
                sendDatagram(server, text('s', i), toClient, client.queuePair.number(), peer.qkey());
                assertEquals(text('s', i), client.receiveDatagram());
            }
        }
    }

    private static void sendDatagram(IdSide side, String text, AddressHandle handle, int queuePairNumber, int qkey) {
        side.queuePair.postSend(side.message(text).to(handle, queuePairNumber, qkey));
        side.complete(1);
    }

    /** How the sender joins a group. */
    @FunctionalInterface
    private interface Joining {
        void join(CmId id);
    }

    /** Two members, of which one sends; after they leave, nothing arrives. */
    private void multicast(Joining joining, boolean leave) throws Exception {
        try (EventChannel channel = EventChannel.create();
                VerbsArena arena = VerbsArena.ofConfined()) {
            Member receiver = new Member(channel, arena, Lab.second(0), id -> id.joinMulticast(GROUP));
            Member sender = new Member(channel, arena, Lab.first(0), joining);
            receiver.side.queuePair.attachMulticast(receiver.group(), 0);
            AddressHandle handle = sender.side.domain.createAddressHandle(sender.parameters.addressVector());
            for (int i = 0; i < MESSAGES; i++) {
                receiver.side.postReceive();
                sendDatagram(sender.side, text('c', i), handle, MULTICAST_QUEUE_PAIR, sender.parameters.qkey());
                assertEquals(text('c', i), receiver.side.receiveDatagram());
            }
            if (leave) {
                receiver.side.queuePair.detachMulticast(receiver.group(), 0);
                receiver.id.leaveMulticast(GROUP);
                assertThrows(ConnectionException.class, () -> receiver.id.leaveMulticast(GROUP), "it has left");
                receiver.side.postReceive();
                sendDatagram(sender.side, "nobody", handle, MULTICAST_QUEUE_PAIR, sender.parameters.qkey());
                Thread.sleep(300);
                assertTrue(receiver.side.isIdle(), "a datagram came, though the group was left");
                sender.id.leaveMulticast(GROUP);
            }
        }
    }

    private static final class Member {
        final CmId id;
        final IdSide side;
        final UdParameters parameters;

        Member(EventChannel channel, VerbsArena arena, InetSocketAddress local, Joining joining) throws Exception {
            id = channel.createId(PortSpace.UDP);
            id.bind(local);
            id.resolveAddress(local, GROUP, Duration.ofSeconds(5));
            CmEvents.await(channel, CmEventType.ADDR_RESOLVED);
            side = new IdSide(arena, id);
            id.initialize(side.queuePair);
            joining.join(id);
            CmEvent joined = CmEvents.await(channel, CmEventType.MULTICAST_JOIN);
            assertEquals(GROUP, joined.group());
            parameters = joined.datagram();
            assertEquals(MULTICAST_QUEUE_PAIR, parameters.queuePairNumber());
            assertArrayEquals(new byte[0], joined.privateData());
        }

        Gid group() {
            return parameters.addressVector().destination();
        }
    }

    @Test
    void test_rdmacm_async_multicast_traffic() throws Exception {
        multicast(id -> id.joinMulticast(GROUP), false);
    }

    @Test
    void test_rdmacm_async_ex_multicast_traffic() throws Exception {
        multicast(id -> id.joinMulticastToSend(GROUP), false);
    }

    @Test
    void test_rdmacm_async_ex_leave_multicast_traffic() throws Exception {
        multicast(id -> id.joinMulticastToSend(GROUP), true);
    }

    @Test
    void test_rdmacm_async_read() throws Exception {
        try (Connection connection = new Connection(-1)) {
            connection.server.region.memory().fill((byte) 's');
            for (int i = 0; i < MESSAGES; i++) {
                connection.client.region.memory().fill((byte) 'c');
                remote(connection, SendWorkRequest::rdmaRead);
                byte[] read = connection.client.bytes(BYTES + 1);
                assertArrayEquals(filled('s', BYTES, 'c'), read);
            }
            connection.disconnect();
        }
    }

    @Test
    void test_rdmacm_async_write() throws Exception {
        try (Connection connection = new Connection(-1)) {
            connection.client.region.memory().fill((byte) 'c');
            for (int i = 0; i < MESSAGES; i++) {
                connection.server.region.memory().fill((byte) 's');
                remote(connection, SendWorkRequest::rdmaWrite);
                byte[] written = connection.server.bytes(BYTES + 1);
                assertArrayEquals(filled('c', BYTES, 's'), written);
            }
            connection.disconnect();
        }
    }

    @FunctionalInterface
    private interface Remote {
        SendWorkRequest apply(SendWorkRequest request, long address, int key);
    }

    private static void remote(Connection connection, Remote operation) {
        IdSide client = connection.client;
        SendWorkRequest request = operation.apply(
                SendWorkRequest.allocate(client.arena, 1).id(1),
                connection.server.region.address(),
                connection.server.region.rkey());
        client.queuePair.postSend(request.add(client.region, 0, BYTES).signaled(true));
        client.complete(1);
    }

    private static byte[] filled(char letter, int count, char last) {
        return (String.valueOf(letter).repeat(count) + last).getBytes(StandardCharsets.US_ASCII);
    }
}
