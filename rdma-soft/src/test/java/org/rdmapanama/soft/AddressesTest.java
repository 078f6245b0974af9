package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsException;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.net.Gids;
import org.rdmapanama.soft.net.LocalAddresses;
import org.rdmapanama.soft.net.ReplyAddress;

/** Where datagrams and connections can lead. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AddressesTest {
    private static final String IPV6 = "2001:db8::1";

    private static SoftPair pair() {
        return new SoftPair(QueuePairType.RC, new ConnectOptions().timeout(10), "address", "127.0.0.1");
    }

    private static QueuePair queuePair(SoftPair pair, QueuePairType type) {
        return pair.domain.createQueuePair(new QueuePairOptions(type, pair.queue, pair.queue).maxSegments(2, 2));
    }

    @Test
    void shouldNotSendDatagramsOfIpv4ToIpv6() {
        try (SoftPair pair = pair()) {
            AddressVector vector = AddressVector.toGid(1, 0, Gid.of(InetAddress.ofLiteral(IPV6)));
            VerbsException e = assertThrows(VerbsException.class, () -> pair.domain.createAddressHandle(vector));
            assertEquals(Errno.EINVAL, e.errno());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {IPV6, "ff0e::1", "224.0.0.9"})
    void shouldNotConnectToOtherVersionsNorToGroups(String address) {
        try (SoftPair pair = pair()) {
            QueuePair one = queuePair(pair, QueuePairType.RC);
            one.localEndpoint();
            Endpoint other = new Endpoint(0, 100, 5, Gid.of(InetAddress.ofLiteral(address)));
            assertEquals(
                    Errno.EINVAL,
                    assertThrows(VerbsException.class, () -> one.connect(other)).errno());
        }
    }

    /** What is under way to a peer here, nobody could send to another machine, and the other way about. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldNotMoveAConnectionAwayFromHereNorBack(boolean beginsHere) {
        try (SoftPair pair = pair()) {
            Gid here = pair.context.queryGidTable().getFirst().gid();
            Gid elsewhere = Gid.of(InetAddress.ofLiteral("127.0.0.77"));
            Gid first = beginsHere ? here : elsewhere;
            Gid second = beginsHere ? elsewhere : here;
            QueuePair one = queuePair(pair, QueuePairType.RC);
            int number = one.localEndpoint().queuePairNumber();
            one.connect(new Endpoint(0, number, 5, first));
            one.modify(new QueuePairAttributes().state(QueuePairState.SQD));
            QueuePairAttributes away = new QueuePairAttributes()
                    .state(QueuePairState.SQD)
                    .addressVector(AddressVector.toGid(1, 0, second));
            assertEquals(
                    Errno.EINVAL,
                    assertThrows(VerbsException.class, () -> one.modify(away)).errno());
            one.modify(new QueuePairAttributes()
                    .state(QueuePairState.SQD)
                    .addressVector(AddressVector.toGid(1, 0, first)));
            one.modify(new QueuePairAttributes().state(QueuePairState.RTS));
            assertEquals(QueuePairState.RTS, one.query().currentState());
        }
    }

    /** The number of the sender is that of the peer, which is at another address. */
    @Test
    void shouldNotTakeMessagesForAPeerElsewhere() {
        try (SoftPair pair = pair()) {
            Gid here = pair.context.queryGidTable().getFirst().gid();
            Gid elsewhere = Gid.of(InetAddress.ofLiteral("127.0.0.77"));
            QueuePair one = queuePair(pair, QueuePairType.RC);
            QueuePair other = queuePair(pair, QueuePairType.RC);
            one.localEndpoint(new ConnectOptions().timeout(10).retryCount(1));
            other.localEndpoint();
            one.connect(new Endpoint(0, other.number(), 5, here));
            other.connect(new Endpoint(0, one.number(), 5, elsewhere));
            one.postSend(pair.request()
                    .rdmaWrite(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, 0, 64));
            assertEquals(CompletionStatus.RETRY_EXC_ERR, pair.next().status(0));
        }
    }

    /** Packets from the loopback address would get lost, and each send would fail after a while. */
    @Test
    void shouldSayThatTheLoopbackDoesNotLeadToOthers() {
        Gid elsewhere = Gid.of(InetAddress.ofLiteral("192.0.2.77"));
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions())) {
            QueuePair one = queuePair(pair, QueuePairType.RC);
            one.localEndpoint();
            Endpoint other = new Endpoint(0, 100, 5, elsewhere);
            AddressVector vector = AddressVector.toGid(1, 0, elsewhere);
            for (Executable each :
                    List.<Executable>of(() -> one.connect(other), () -> pair.domain.createAddressHandle(vector))) {
                VerbsException e = assertThrows(VerbsException.class, each);
                assertEquals(Errno.ENETUNREACH, e.errno());
                assertTrue(e.getMessage().contains("soft0 has only the loopback addresses 127.0.0.1"), e::getMessage);
                assertTrue(e.getMessage().contains("-Dorg.rdmapanama.soft.address=all"), e::getMessage);
            }
        }
    }

    /** They have met at an address of another machine, and each means itself by its GID. */
    @Test
    void shouldSayThatAPeerElsewhereHasTheLoopbackOnly() {
        ConnectOptions options = new ConnectOptions().peer(InetAddress.ofLiteral("192.0.2.77"));
        try (SoftPair pair = pair()) {
            QueuePair one = queuePair(pair, QueuePairType.RC);
            one.localEndpoint(options);
            Endpoint other = new Endpoint(0, 100, 5, Gid.of(InetAddress.ofLiteral("127.0.0.1")));
            VerbsException e = assertThrows(VerbsException.class, () -> one.connect(other));
            assertEquals(Errno.EINVAL, e.errno());
            assertTrue(e.getMessage().contains("the peer is at 192.0.2.77"), e::getMessage);
            assertTrue(e.getMessage().contains("-Dorg.rdmapanama.soft.address=all"), e::getMessage);
        }
    }

    /** The path MTU is that of the interface of the address, also where another one takes less. */
    @Test
    void shouldHaveTheLargestPathMtuOnTheLoopback() {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions())) {
            assertEquals(Mtu.BYTES_4096, pair.context.queryPort(1).activeMtu());
            assertEquals(Mtu.BYTES_4096, pair.a.localEndpoint().pathMtu());
        }
    }

    @Test
    void shouldSendToGroups() {
        try (SoftPair pair = pair()) {
            QueuePair one = queuePair(pair, QueuePairType.UD);
            one.activate();
            AddressHandle group = pair.domain.createAddressHandle(
                    AddressVector.toGid(1, 0, Gid.of(InetAddress.ofLiteral("ff0e::1"))));
            one.postSend(pair.request().send().to(group, 0xff_ffff, 5).add(pair.region, 0, 64));
            assertEquals(CompletionStatus.SUCCESS, pair.next().status(0));
        }
    }

    /** The thirteenth byte of an IPv6 address is where that of the version is in a header of IPv4. */
    @ParameterizedTest
    @ValueSource(strings = {"2001:db8::1:1200:0", "2001:db8::1:4500:0"})
    void shouldAnswerAnyAddressOfIpv6(String sender) {
        LocalAddresses addresses =
                new LocalAddresses(List.of(InetAddress.ofLiteral("10.0.0.1"), InetAddress.ofLiteral(IPV6)), 1500, 1500);
        InetAddress from = InetAddress.ofLiteral(sender);
        try (Arena arena = Arena.ofConfined()) {
            long header = arena.allocate(40, 8).address();
            Memory.putNetInt(header, 6 << 28);
            Memory.putNetLong(header + 8, Gids.high(from));
            Memory.putNetLong(header + 16, Gids.low(from));
            addresses.writeGid(1, header + 24);
            MemorySegment attributes = arena.allocate(ibv_ah_attr.layout());
            assertEquals(0, ReplyAddress.write(1, header, attributes.address(), addresses));
            MemorySegment route = ibv_ah_attr.grh(attributes);
            assertEquals(1, ibv_global_route.sgid_index(route));
            long gid = ibv_global_route.dgid(route).address();
            assertEquals(Gids.low(from), Memory.getNetLong(gid + Long.BYTES));
        }
    }

    @Test
    void shouldLeaveOutAddressesThatCannotBeBound() {
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        // For documentation: no machine has it.
        LocalAddresses all = new LocalAddresses(List.of(InetAddress.ofLiteral("203.0.113.7"), loopback), 1500, 65536);
        LocalAddresses usable = all.thatCanBeBound();
        assertEquals(1, usable.count());
        assertEquals(loopback, usable.address(0));
        assertEquals(65536, usable.mtu(0));
    }
}
