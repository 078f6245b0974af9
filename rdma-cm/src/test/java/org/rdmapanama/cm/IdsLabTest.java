package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.StandardProtocolFamily;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Gid;
import org.rdmapanama.cm.internal.Librdmacm;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.queue.Ece;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Lab;

/** What else ids can: datagrams, multicast, IPv6, names, other channels, options. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are closed earlier
class IdsLabTest {
    private static final int PORT = 7481;

    /** Why an offer of enhanced connection establishment is rejected, in the words of InfiniBand. */
    private static final int VENDOR_OPTION_NOT_SUPPORTED = 35;

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    private static CmId resolved(
            EventChannel channel, PortSpace portSpace, InetSocketAddress from, InetSocketAddress to) throws Exception {
        CmId id = channel.createId(portSpace);
        id.resolveAddress(from, to, Duration.ofSeconds(5));
        CmEvents.await(channel, CmEventType.ADDR_RESOLVED);
        id.resolveRoute(Duration.ofSeconds(5));
        CmEvents.await(channel, CmEventType.ROUTE_RESOLVED);
        return id;
    }

    @Test
    void shouldSendDatagramsToWhoListens() throws Exception {
        try (EventChannel passive = EventChannel.create();
                EventChannel active = EventChannel.create();
                VerbsArena arena = VerbsArena.ofConfined()) {
            CmId listener = passive.createId(PortSpace.UDP);
            listener.bind(Lab.second(PORT));
            listener.listen(1);
            CmId client = resolved(active, PortSpace.UDP, Lab.first(0), Lab.second(PORT));
            assertEquals(QueuePairType.UD, client.queuePairType());
            IdSide clientSide = new IdSide(arena, client);
            client.connect(clientSide.queuePair, new ConnectionParameters().privateData(PrivateData.bytes("may I?")));

            CmEvent request = CmEvents.await(passive, CmEventType.CONNECT_REQUEST);
            assertNull(request.connection());
            assertEquals("may I?", PrivateData.text(request.privateData()));
            IdSide serverSide = new IdSide(arena, request.id());
            request.id().initialize(serverSide.queuePair);
            serverSide.postReceive();
            request.id()
                    .accept(serverSide.queuePair, new ConnectionParameters().privateData(PrivateData.bytes("you may")));

            CmEvent established = CmEvents.await(active, CmEventType.ESTABLISHED);
            assertEquals("you may", PrivateData.text(established.privateData()));
            UdParameters peer = established.datagram();
            assertEquals(serverSide.queuePair.number(), peer.queuePairNumber());
            assertEquals(
                    Lab.second(0).getAddress(),
                    peer.addressVector().destination().toInetAddress());
            clientSide.queuePair.postSend(clientSide
                    .message("a datagram")
                    .to(
                            clientSide.domain.createAddressHandle(peer.addressVector()),
                            peer.queuePairNumber(),
                            peer.qkey()));
            clientSide.complete(1);
            assertEquals("a datagram", serverSide.receiveDatagram());
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    @Shows({"rdma_join_multicast", "rdma_join_multicast_ex", "rdma_leave_multicast"})
    void shouldSendToAMulticastGroup() throws Exception {
        InetSocketAddress group = new InetSocketAddress("239.77.0.5", 0);
        try (EventChannel sends = EventChannel.create();
                SynchronousId receiver = SynchronousId.create(PortSpace.UDP);
                VerbsArena arena = VerbsArena.ofConfined()) {
            receiver.id().bind(Lab.second(0));
            IdSide receiverSide = new IdSide(arena, receiver.id());
            receiver.id().initialize(receiverSide.queuePair);
            receiverSide.postReceive();
            UdParameters joined = receiver.joinMulticast(group, Lab.SECONDS);
            Gid address = joined.addressVector().destination();
            receiverSide.queuePair.attachMulticast(
                    address, joined.addressVector().lid());

            CmId sender = sends.createId(PortSpace.UDP);
            sender.bind(Lab.first(0));
            sender.joinMulticastToSend(group);
            CmEvent event = CmEvents.await(sends, CmEventType.MULTICAST_JOIN);
            assertEquals(group, event.group());
            assertEquals(0, event.privateData().length);
            UdParameters way = event.datagram();
            assertEquals(address, way.addressVector().destination());
            assertEquals(joined.qkey(), way.qkey());
            IdSide senderSide = new IdSide(arena, sender);
            sender.initialize(senderSide.queuePair);
            senderSide.queuePair.postSend(senderSide
                    .message("to all of you")
                    .to(senderSide.domain.createAddressHandle(way.addressVector()), way.queuePairNumber(), way.qkey()));
            senderSide.complete(1);
            assertEquals("to all of you", receiverSide.receiveDatagram());

            receiverSide.queuePair.detachMulticast(
                    address, joined.addressVector().lid());
            receiver.id().leaveMulticast(group);
            ConnectionException gone =
                    assertThrows(ConnectionException.class, () -> receiver.id().leaveMulticast(group));
            assertEquals("EADDRNOTAVAIL", gone.errnoName());
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldConnectOverIpv6() throws Exception {
        InetSocketAddress address =
                new InetSocketAddress(Lab.isInLab() ? linkLocal("veth1") : InetAddress.getByName("::1"), PORT);
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, address);
                ExecutorService threads = Executors.newSingleThreadExecutor()) {
            assertEquals(address, server.localAddress());
            Future<Optional<RdmaConnection>> accepted = threads.submit(() -> server.accept(Lab.SECONDS));
            // To itself: between the two devices of the lab there is no route for IPv6.
            try (RdmaConnection connection = new RdmaClient(arena).connect(address, Lab.SECONDS);
                    RdmaConnection other = accepted.get(30, TimeUnit.SECONDS).orElseThrow()) {
                assertTrue(connection.remoteAddress().getAddress() instanceof Inet6Address);
                assertEquals(connection.localAddress(), other.remoteAddress());
                assertTrue(other.isConnected());
            }
        }
        Lab.assertNothingLeft(before);
    }

    private static Inet6Address linkLocal(String name) throws Exception {
        return NetworkInterface.getByName(name)
                .inetAddresses()
                .filter(each -> each instanceof Inet6Address)
                .map(each -> (Inet6Address) each)
                .findFirst()
                .orElseThrow();
    }

    @Test
    @Shows({"rdma_getaddrinfo", "rdma_freeaddrinfo", "rdma_create_ep", "rdma_destroy_ep"})
    void shouldResolveNamesAndMakeEndpoints() throws Exception {
        AddressInfo local = AddressInfo.resolve(
                        Lab.SECOND_HOST,
                        "7481",
                        new AddressInfoOptions().passive(true).numericHost(true))
                .getFirst();
        assertTrue(local.isPassive());
        assertEquals(Lab.second(PORT), local.source());
        assertEquals(PortSpace.TCP, local.portSpace());
        AddressInfo remote = AddressInfo.resolve(
                        Lab.SECOND_HOST,
                        "7481",
                        new AddressInfoOptions()
                                .family(StandardProtocolFamily.INET)
                                .source(Lab.first(0)))
                .getFirst();
        assertFalse(remote.isPassive());
        assertEquals(Lab.second(PORT), remote.destination());
        assertEquals(Lab.first(0), remote.source());
        try (VerbsArena arena = VerbsArena.ofShared();
                SynchronousId listener = SynchronousId.create(local);
                SynchronousId client = SynchronousId.create(remote);
                ExecutorService threads = Executors.newSingleThreadExecutor()) {
            listener.id().listen(1);
            assertEquals(Lab.FIRST_DEVICE, client.id().deviceName());
            IdSide clientSide = new IdSide(arena, client.id());
            Future<CmEvent> connected =
                    threads.submit(() -> client.connect(clientSide.queuePair, new ConnectionParameters(), Lab.SECONDS));
            CmEvent request = listener.awaitRequest(Lab.SECONDS).orElseThrow();
            try (SynchronousId server = SynchronousId.of(request.id())) {
                IdSide serverSide = new IdSide(arena, server.id());
                server.id().initialize(serverSide.queuePair);
                serverSide.postReceive();
                server.accept(serverSide.queuePair, new ConnectionParameters(), Lab.SECONDS);
                connected.get(30, TimeUnit.SECONDS);
                clientSide.send("from an endpoint");
                assertEquals("from an endpoint", serverSide.receive());
                Future<?> ended = threads.submit(() -> {
                    client.disconnect(clientSide.queuePair, Lab.SECONDS);
                    return null;
                });
                assertEquals(
                        CmEventType.DISCONNECTED,
                        server.await(Lab.SECONDS).orElseThrow().type());
                server.id().disconnect(serverSide.queuePair);
                ended.get(30, TimeUnit.SECONDS);
            }
        }
        ConnectionException unknown = assertThrows(
                ConnectionException.class,
                () -> AddressInfo.resolve("no digits", null, new AddressInfoOptions().numericHost(true)));
        assertEquals(-2, unknown.status());
        assertEquals("ENOENT", unknown.errnoName());
        Lab.assertNothingLeft(before);
    }

    @Test
    @Shows("rdma_migrate_id")
    void shouldMoveToAnotherChannelWithItsEvents() throws Exception {
        try (EventChannel first = EventChannel.create();
                EventChannel second = EventChannel.create()) {
            CmId id = first.createId(PortSpace.TCP);
            id.resolveAddress(Lab.first(0), Lab.second(PORT), Duration.ofSeconds(5));
            Thread.sleep(500);
            id.migrate(second);
            assertSame(second, id.channel());
            assertSame(id, CmEvents.await(second, CmEventType.ADDR_RESOLVED).id());
            first.close();
            assertTrue(id.isOpen());
            id.resolveRoute(Duration.ofSeconds(5));
            CmEvents.await(second, CmEventType.ROUTE_RESOLVED);
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    @Shows({"rdma_set_option", "rdma_set_local_ece", "rdma_get_remote_ece"})
    void shouldTakeOptions() throws Exception {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP);
                CmId other = channel.createId(PortSpace.TCP)) {
            id.typeOfService(16);
            id.reuseAddress(true);
            id.acknowledgeTimeout(17);
            id.bind(Lab.first(PORT));
            other.reuseAddress(true);
            other.bind(Lab.first(PORT));
            assertEquals(PORT, other.localPort());
            assertEquals(new Ece(0, 0), id.remoteEce());
            if (Lab.isInLab()) {
                id.localEce(new Ece(0x15b3, 1));
            }
            assertThrows(ConnectionException.class, () -> id.localEce(new Ece(0, 0)));
            assertThrows(IllegalArgumentException.class, () -> id.typeOfService(256));
            assertThrows(IllegalArgumentException.class, () -> id.acknowledgeTimeout(32));
            assertNotNull(id.toString());
        }
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.addressFamilyOnly(true);
            id.bind(new InetSocketAddress("::", PORT));
            assertEquals(PORT, id.localPort());
        }
    }

    @Test
    @Shows("rdma_reject_ece")
    void shouldRejectWhatEceOffers() throws Exception {
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT)) {
            ids.request().id().rejectEce(PrivateData.bytes("no such option"));
            CmEvent rejected = CmEvents.await(ids.active, CmEventType.REJECTED);
            assertEquals(VENDOR_OPTION_NOT_SUPPORTED, rejected.status());
            assertEquals("no such option", PrivateData.text(rejected.privateData()));
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    @Shows("rdma_notify")
    void shouldBeEstablishedByDataThatCameFirst() throws Exception {
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT)) {
            CmId server = ids.request().id();
            server.accept(TwoIds.parameters());
            CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
            // The other side does not say that it is ready, but its data says so.
            server.notifyEvent(AsyncEventType.COMM_EST);
            assertSame(
                    server, CmEvents.await(ids.passive, CmEventType.ESTABLISHED).id());
            ConnectionException wrong =
                    assertThrows(ConnectionException.class, () -> server.notifyEvent(AsyncEventType.PORT_ACTIVE));
            assertEquals("EINVAL", wrong.errnoName());
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldMakeIdsOfEveryPortSpace() {
        try (EventChannel channel = EventChannel.create()) {
            for (PortSpace portSpace : PortSpace.values()) {
                if (portSpace != PortSpace.UNKNOWN) {
                    CmId id = channel.createId(portSpace);
                    assertSame(portSpace, id.portSpace());
                    assertTrue(id.isOpen());
                }
            }
        }
    }

    @Test
    void shouldWaitInAVirtualThread() throws Exception {
        try (EventChannel channel = EventChannel.create();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            CmId id = channel.createId(PortSpace.TCP);
            Future<Optional<CmEvent>> waiting = threads.submit(() -> channel.await(Lab.SECONDS));
            id.resolveAddress(Lab.first(0), Lab.second(PORT), Duration.ofSeconds(5));
            assertEquals(
                    CmEventType.ADDR_RESOLVED,
                    waiting.get(30, TimeUnit.SECONDS).orElseThrow().type());
        }
    }

    /** Data may come before the word that the other side is ready, which may be lost: then the program tells. */
    @Test
    @Shows("rdma_notify")
    void shouldTakeTheDevicesWordThatItIsEstablished() throws Exception {
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT)) {
            CmId server = ids.request().id();
            assertThrows(
                    ConnectionException.class, () -> server.notifyEvent(AsyncEventType.COMM_EST), "nobody accepted");
            server.accept(TwoIds.parameters());
            CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
            // The other side says nothing.
            assertTrue(ids.passive.await(Duration.ofMillis(200)).isEmpty());
            ConnectionException other =
                    assertThrows(ConnectionException.class, () -> server.notifyEvent(AsyncEventType.LID_CHANGE));
            assertEquals("rdma_notify", other.verb());
            assertEquals("EINVAL", other.errnoName(), other::getMessage);
            server.notifyEvent(AsyncEventType.COMM_EST);
            CmEvent established = CmEvents.await(ids.passive, CmEventType.ESTABLISHED);
            assertSame(server, established.id());
            assertNull(established.listener());
            assertNull(established.datagram());
            assertNull(established.group());
            assertEquals(0, established.status());
            assertEquals("ESTABLISHED on " + server, established.toString());
        }
    }

    @Test
    @Shows("rdma_event_str")
    @SuppressWarnings("restricted") // a C string
    void shouldKnowTheNamesOfTheLibrary() {
        for (CmEventType type : CmEventType.values()) {
            String name = MemorySegment.ofAddress(Librdmacm.eventName(type.code()))
                    .reinterpret(64)
                    .getString(0);
            assertEquals(type == CmEventType.UNKNOWN ? "UNKNOWN EVENT" : "RDMA_CM_EVENT_" + type, name);
            assertSame(type, CmEventType.of(type.code()));
            assertTrue(type.description().matches("[a-z].*[^.]"), type::description);
        }
    }

    @Test
    @Shows({"rdma_get_devices", "rdma_free_devices"})
    void shouldListDevices() {
        List<String> devices = Lab.isInLab() ? List.of("rxe0", "rxe1", "siw0", "siw1") : List.of("soft0");
        assertTrue(RdmaDevices.names().containsAll(devices));
    }
}
