package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.cm.Rej;
import org.rdmapanama.soft.cm.Rep;
import org.rdmapanama.soft.cm.Req;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.net.LocalAddresses;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LiveHeap;

/** Connections of one process with itself, over a good wire and a bad one, and with somebody who means no good. */
@Timeout(value = 200, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConnectionsTest {
    /** Another one than that of tests that run beside this: clients find a server whose process it ever is. */
    private static final int PORT = 10_000 + (int) (ProcessHandle.current().pid() % 20_000);

    private static final InetSocketAddress ADDRESS = new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT);

    /** A server at another address of this machine, for which a test answers. */
    private static final InetSocketAddress ELSEWHERE = new InetSocketAddress("127.0.0.3", PORT);

    private static final long SERVICE = Attacker.service(rdma_h.RDMA_PS_TCP(), PORT);
    private static final int CONNECTIONS = 6;
    private static final int DATAGRAMS = Integer.getInteger("hostile.datagrams", 100_000);
    private static final int NUMBERS = 500;
    private static final int SOON = 3;
    private static final long MEMORY_MARGIN = 64L << 20;

    private static MemorySegment attributes(CmFixture meeting, long id, int state) {
        MemorySegment attributes = meeting.arena.allocate(ibv_qp_attr.layout());
        ibv_qp_attr.qp_state(attributes, state);
        long mask = meeting.arena.allocate(8).address();
        CmFixture.succeed(meeting.manager.initQueuePairAttributes(id, attributes.address(), mask));
        return attributes;
    }

    /** From the request to the end, each event once. */
    private static void connectAndDisconnect(CmFixture meeting, int number) {
        long client = meeting.client(ADDRESS, number, "hello");
        CmFixture.Event request = meeting.expect(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0);
        assertEquals("hello", request.text());
        long server = request.id();
        CmFixture.succeed(meeting.manager.accept(server, meeting.parameters(number + 1, "welcome")));
        CmFixture.Event response = meeting.expect(rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE(), client);
        assertEquals("welcome", response.text());
        MemorySegment clientReceives = attributes(meeting, client, VerbsConstants.RTR);
        MemorySegment serverReceives = attributes(meeting, server, VerbsConstants.RTR);
        MemorySegment clientSends = attributes(meeting, client, VerbsConstants.RTS);
        MemorySegment serverSends = attributes(meeting, server, VerbsConstants.RTS);
        assertEquals(number + 1, ibv_qp_attr.dest_qp_num(clientReceives));
        assertEquals(number, ibv_qp_attr.dest_qp_num(serverReceives));
        assertEquals(ibv_qp_attr.sq_psn(clientSends), ibv_qp_attr.rq_psn(serverReceives));
        assertEquals(ibv_qp_attr.sq_psn(serverSends), ibv_qp_attr.rq_psn(clientReceives));
        assertEquals(ibv_qp_attr.path_mtu(clientReceives), ibv_qp_attr.path_mtu(serverReceives));
        CmFixture.succeed(meeting.manager.establish(client));
        meeting.expect(rdma_h.RDMA_CM_EVENT_ESTABLISHED(), server);

        CmFixture.succeed(meeting.manager.disconnect(client));
        meeting.expect(rdma_h.RDMA_CM_EVENT_DISCONNECTED(), server);
        CmFixture.succeed(meeting.manager.disconnect(server));
        // The client's end, and both are over after a while, in any order.
        Set<String> rest = new HashSet<>();
        for (int i = 0; i < 3; i++) {
            CmFixture.Event event = meeting.next(400);
            rest.add(event.type() + " of the " + (event.id() == client ? "client" : "server"));
        }
        assertEquals(
                Set.of(
                        rdma_h.RDMA_CM_EVENT_DISCONNECTED() + " of the client",
                        rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT() + " of the client",
                        rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT() + " of the server"),
                rest);
        meeting.destroy(client);
        meeting.destroy(server);
    }

    @Test
    void shouldConnectAndDisconnect() {
        try (CmFixture meeting = new CmFixture()) {
            long listener = meeting.listener(ADDRESS, 4);
            connectAndDisconnect(meeting, 100);
            assertNull(meeting.next(SOON));
            meeting.destroy(listener);
        }
    }

    @Test
    void shouldConnectOverABadWire() {
        try (CmFixture meeting = new CmFixture("faults", "loss=0.2,duplicate=0.2,reorder=0.1,corrupt=0.1,seed=5")) {
            // A tenth of the usual: many messages are lost.
            device(meeting).cmTimes(new CmTimes(25_000_000, 430_000_000, 410));
            long listener = meeting.listener(ADDRESS, 4);
            for (int i = 0; i < CONNECTIONS; i++) {
                connectAndDisconnect(meeting, 100 + 2 * i);
            }
            assertNull(meeting.next(SOON));
            meeting.destroy(listener);
        }
    }

    /** An address of the loopback device that no device of the software kind has: its host says so at once. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void shouldSayWhenAHostHasNoDevice() {
        try (CmFixture meeting = new CmFixture()) {
            Bound bound = Bound.ofSeconds(10);
            long client = meeting.client(new InetSocketAddress("127.0.0.2", PORT), 5, "");
            CmFixture.Event event = meeting.expect(rdma_h.RDMA_CM_EVENT_UNREACHABLE(), client);
            assertEquals(-Errno.EHOSTUNREACH, event.status());
            bound.check("nobody said so at once");
            assertNull(meeting.next(SOON));
        }
    }

    @Test
    void shouldReject() {
        try (CmFixture meeting = new CmFixture()) {
            long nobody = meeting.client(ADDRESS, 5, "");
            CmFixture.Event refused = meeting.expect(rdma_h.RDMA_CM_EVENT_REJECTED(), nobody);
            assertEquals(8, refused.status());
            long listener = meeting.listener(ADDRESS, 4);
            long client = meeting.client(ADDRESS, 7, "");
            long server =
                    meeting.expect(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0).id();
            long text = meeting.arena.allocateFrom("not now").address();
            CmFixture.succeed(meeting.manager.reject(server, text, (byte) 7));
            CmFixture.Event rejected = meeting.expect(rdma_h.RDMA_CM_EVENT_REJECTED(), client);
            assertEquals(28, rejected.status());
            assertEquals("not now", rejected.text());
            long gone = meeting.client(ADDRESS, 9, "");
            long unanswered =
                    meeting.expect(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0).id();
            meeting.destroy(gone);
            assertEquals(
                    4,
                    meeting.expect(rdma_h.RDMA_CM_EVENT_REJECTED(), unanswered).status());
            for (long id : new long[] {nobody, listener, client, server, unanswered}) {
                meeting.destroy(id);
            }
        }
    }

    /** Whoever binds to an address asks for others of its kind. */
    @Test
    void shouldNotResolveAnAddressOfAnotherKind() {
        try (CmFixture meeting = new CmFixture()) {
            long other = meeting.address(new InetSocketAddress(InetAddress.ofLiteral("::1"), PORT));
            long bound = meeting.id();
            CmFixture.succeed(meeting.manager.bindAddress(bound, meeting.address(ADDRESS)));
            assertEquals(-Errno.EINVAL, meeting.manager.resolveAddress(bound, 0, other, 1000));
            assertEquals(
                    -Errno.EINVAL, meeting.manager.resolveAddress(meeting.id(), meeting.address(ADDRESS), other, 1000));
        }
    }

    /** There are fewer ports to choose from than there may be ids. */
    @Test
    void shouldNotResolveWithoutAFreePort() {
        try (CmFixture meeting = new CmFixture()) {
            long target = meeting.address(ADDRESS);
            long any = meeting.address(new InetSocketAddress(ADDRESS.getAddress(), 0));
            long bound = meeting.id();
            int result = meeting.manager.bindAddress(bound, any);
            long last = bound;
            for (int i = 0; result == 0 && i < 1 << 16; i++) {
                last = bound;
                bound = meeting.id();
                result = meeting.manager.bindAddress(bound, any);
            }
            assertEquals(-Errno.EADDRINUSE, result);
            long id = meeting.id();
            assertEquals(-Errno.EADDRINUSE, meeting.manager.resolveAddress(id, 0, target, 1000));
            assertNull(meeting.next(0));
            assertEquals(0, meeting.manager.sourcePort(id));
            meeting.destroy(last);
            CmFixture.succeed(meeting.manager.resolveAddress(id, 0, target, 1000));
            meeting.expect(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), id);
            assertTrue(meeting.manager.sourcePort(id) != 0);
        }
    }

    @Test
    void shouldResolveForWhoIsInterrupted() {
        try (CmFixture meeting = new CmFixture()) {
            long id = meeting.id();
            Thread.currentThread().interrupt();
            int result = meeting.manager.resolveAddress(id, 0, meeting.address(ADDRESS), 1000);
            assertTrue(Thread.interrupted());
            assertEquals(0, result);
            meeting.expect(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), id);
        }
    }

    private static int port(CmFixture meeting) {
        return device(meeting).wire().port();
    }

    private static SoftDevice device(CmFixture meeting) {
        long list = meeting.manager.getDevices(0);
        try {
            return SoftDevice.contextAt(Memory.getLong(list)).device();
        } finally {
            meeting.manager.freeDevices(list);
        }
    }

    private static Attacker attacker(CmFixture meeting, InetAddress address) throws IOException {
        return new Attacker(address, 0, new InetSocketAddress(address, port(meeting)));
    }

    /** What the requests to {@link #ELSEWHERE} reach. */
    private static Attacker elsewhere(CmFixture meeting) throws IOException {
        return new Attacker(
                ELSEWHERE.getAddress(), UdpFlow.ROCE_PORT, new InetSocketAddress(ADDRESS.getAddress(), port(meeting)));
    }

    @Test
    void shouldKeepNoMoreRequestsThanItIsTold() throws Exception {
        try (CmFixture meeting = new CmFixture();
                Attacker attacker = attacker(meeting, ADDRESS.getAddress())) {
            long listener = meeting.listener(ADDRESS, 5);
            for (int i = 1; i <= 50; i++) {
                attacker.request(i, SERVICE, rdma_h.IBV_MTU_1024());
            }
            Set<Long> requests = new HashSet<>();
            Thread.sleep(500);
            for (CmFixture.Event each = meeting.next(SOON); each != null; each = meeting.next(SOON)) {
                assertEquals(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), each.type());
                assertTrue(requests.add(each.id()));
            }
            assertEquals(5, requests.size());
            for (long each : requests) {
                meeting.destroy(each);
            }
            meeting.destroy(listener);
        }
    }

    /** Packets that are longer than the interface takes would be lost, all of them. */
    @Test
    void shouldRefuseAnMtuThatTheInterfaceDoesNotHave() throws Exception {
        try (CmFixture meeting = new CmFixture("address", "all")) {
            LocalAddresses addresses = device(meeting).addresses();
            meeting.listener(new InetSocketAddress(InetAddress.ofLiteral("0.0.0.0"), ADDRESS.getPort()), 5);
            for (int i = 0; i < addresses.count(); i++) {
                boolean fits = addresses.mtu(i) > 4096 + 100;
                if (addresses.address(i) instanceof Inet4Address) {
                    try (Attacker attacker = attacker(meeting, addresses.address(i))) {
                        attacker.request(100 + i, SERVICE, rdma_h.IBV_MTU_4096());
                        CmFixture.Event event = meeting.next(fits ? 100 : SOON);
                        assertEquals(fits, event != null, addresses.address(i)::toString);
                    }
                }
            }
        }
    }

    /** The numbers in a request, and in an answer to one, tell the peer nothing about other connections. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void shouldGiveConnectionsNumbersThatNobodyCanPredict() throws Exception {
        try (CmFixture meeting = new CmFixture();
                Attacker peer = elsewhere(meeting)) {
            int[] ids = new int[NUMBERS];
            int[] firstPackets = new int[NUMBERS];
            int[] transactions = new int[NUMBERS];
            int[] transactionsHigh = new int[NUMBERS];
            for (int i = 0; i < NUMBERS; i++) {
                long client = meeting.client(ELSEWHERE, 5, "");
                awaitDatagram(peer, Mad.REQ, i == 0 ? 0 : ids[i - 1]);
                ids[i] = Mad.localId(peer.mad());
                firstPackets[i] = Req.psn(peer.mad());
                transactions[i] = (int) Mad.transaction(peer.mad());
                transactionsHigh[i] = (int) (Mad.transaction(peer.mad()) >>> Integer.SIZE);
                meeting.destroy(client);
            }
            Unpredictable.check(Integer.SIZE, ids);
            Unpredictable.check(Psn.BITS, firstPackets);
            Unpredictable.check(Integer.SIZE, transactions);
            Unpredictable.check(Integer.SIZE, transactionsHigh);

            long listener = meeting.listener(ADDRESS, 5);
            for (int i = 0; i < NUMBERS; i++) {
                peer.request(1 + i, SERVICE, rdma_h.IBV_MTU_1024());
                long server = meeting.expect(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), 0)
                        .id();
                CmFixture.succeed(meeting.manager.accept(server, meeting.parameters(7, "")));
                awaitDatagram(peer, Mad.REP, i == 0 ? 0 : ids[i - 1]);
                ids[i] = Mad.localId(peer.mad());
                firstPackets[i] = Rep.psn(peer.mad());
                meeting.destroy(server);
            }
            meeting.destroy(listener);
            Unpredictable.check(Integer.SIZE, ids);
            Unpredictable.check(Psn.BITS, firstPackets);
        }
    }

    /** Waits for a datagram of that kind from another id. */
    private static void awaitDatagram(Attacker peer, int kind, int previous) throws IOException {
        Bound bound = Bound.usual();
        while (!peer.receive(kind) || Mad.localId(peer.mad()) == previous) {
            bound.check("no datagram came");
        }
    }

    /** A path of which the other end takes less. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void shouldAskForLessWhereThePeerHasASmallerMtu() throws Exception {
        try (CmFixture meeting = new CmFixture();
                Attacker peer = elsewhere(meeting)) {
            long client = meeting.client(ELSEWHERE, 5, "");
            long transaction = 0;
            for (int mtu = rdma_h.IBV_MTU_4096(); mtu >= rdma_h.IBV_MTU_1024(); mtu--) {
                int size = mtu;
                Bound bound = Bound.usual();
                while (!peer.receive(Mad.REQ) || Req.mtu(peer.mad()) != mtu) {
                    bound.check(() -> "no request for path MTU " + size);
                }
                assertTrue(Mad.transaction(peer.mad()) != transaction, "another request");
                transaction = Mad.transaction(peer.mad());
                int number = Mad.localId(peer.mad());
                int reason = mtu > rdma_h.IBV_MTU_1024() ? Rej.INVALID_MTU : Rej.BY_CONSUMER;
                // The second one is late.
                for (int i = 0; i < 2; i++) {
                    Rej.write(peer.mad(), transaction, 0, number, Rej.OF_REQ, reason);
                    peer.send(Mad.BYTES);
                }
            }
            assertEquals(
                    Rej.BY_CONSUMER,
                    meeting.expect(rdma_h.RDMA_CM_EVENT_REJECTED(), client).status());
        }
    }

    /** Groups are within the process, whichever way the machine would send to them, and if there is none. */
    @Test
    void shouldResolveGroupsFromTheLoopbackAddress() {
        try (CmFixture meeting = new CmFixture()) {
            long id = meeting.id();
            long group = meeting.address(new InetSocketAddress(InetAddress.ofLiteral("230.1.2.3"), 0));
            CmFixture.succeed(meeting.manager.resolveAddress(id, 0, group, 1000));
            meeting.expect(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED(), id);
        }
    }

    /** Requests from there would get lost. */
    @Test
    void shouldNotResolveAddressesElsewhereFromTheLoopbackAddress() {
        try (CmFixture meeting = new CmFixture()) {
            long id = meeting.id();
            long source = meeting.address(new InetSocketAddress(ADDRESS.getAddress(), 0));
            long elsewhere = meeting.address(new InetSocketAddress(InetAddress.ofLiteral("192.0.2.77"), PORT));
            CmFixture.succeed(meeting.manager.resolveAddress(id, source, elsewhere, 1000));
            int status = meeting.expect(rdma_h.RDMA_CM_EVENT_ADDR_ERROR(), id).status();
            assertTrue(Set.of(-Errno.ENODEV, -Errno.ENETUNREACH).contains(status), () -> "status " + status);
        }
    }

    /** What to do where an address of the machine is none of the device. */
    @Test
    void shouldNameTheSettingThatGivesItMoreAddresses() {
        try (CmFixture meeting = new CmFixture()) {
            for (int errno : new int[] {Errno.ENODEV, Errno.EADDRNOTAVAIL}) {
                String cure = meeting.manager.cure(errno);
                assertTrue(cure.contains("soft0 has only the loopback addresses 127.0.0.1"), cure);
                assertTrue(cure.contains("-Dorg.rdmapanama.soft.address=all"), cure);
            }
        }
        try (CmFixture meeting = new CmFixture("address", "127.0.0.1", "port", "21500")) {
            String cure = meeting.manager.cure(Errno.ENODEV);
            assertTrue(cure.contains("address=all") && cure.contains("at UDP port 215"), cure);
        }
        try (CmFixture meeting = new CmFixture("address", "all", "port", "21500")) {
            String cure = meeting.manager.cure(Errno.ENODEV);
            assertTrue(!cure.contains("address=all") && cure.contains("at UDP port 215"), cure);
        }
    }

    @Test
    void shouldStandDatagramsOfAnySort() throws Exception {
        SplittableRandom random = new SplittableRandom(20261122);
        try (CmFixture meeting = new CmFixture();
                Attacker attacker = attacker(meeting, ADDRESS.getAddress())) {
            long listener = meeting.listener(ADDRESS, 5);
            long before = LiveHeap.bytes();
            for (int i = 0; i < DATAGRAMS; i++) {
                for (int at = 0; at < Mad.BYTES; at += Long.BYTES) {
                    Memory.putLong(attacker.mad() + at, random.nextLong());
                }
                if (random.nextInt(8) != 0) {
                    Memory.putNetInt(attacker.mad(), 0x01_07_02_03);
                    Memory.putNetShort(attacker.mad() + 16, (short) (0x10 + random.nextInt(10)));
                }
                if (random.nextInt(4) == 0) {
                    Memory.putNetLong(attacker.mad() + 32, SERVICE);
                    Memory.putNetInt(attacker.mad() + Req.PRIVATE, random.nextBoolean() ? 0x0040_0000 : 0);
                }
                attacker.send(random.nextInt(16) == 0 ? 4 * random.nextInt(64) : Mad.BYTES);
                for (CmFixture.Event each = meeting.next(0); each != null; each = meeting.next(0)) {
                    if (each.type() == rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST()) {
                        meeting.destroy(each.id());
                    }
                }
            }
            for (CmFixture.Event each = meeting.next(SOON); each != null; each = meeting.next(SOON)) {
                if (each.type() == rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST()) {
                    meeting.destroy(each.id());
                }
            }
            long after = LiveHeap.bytes();
            assertTrue(after < before + MEMORY_MARGIN, () -> "from " + before + " to " + after + " bytes");
            connectAndDisconnect(meeting, 300);
            meeting.destroy(listener);
        }
    }
}
