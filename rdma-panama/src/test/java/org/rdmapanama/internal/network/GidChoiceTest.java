package org.rdmapanama.internal.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.GidType;

class GidChoiceTest {
    private static final int ETHERNET = 3;
    private static final int VLAN = 7;
    private static final int DOWN = 8;
    private static final int CONTAINER = 40;

    private static final Gid IPV4 = gid("10.77.0.1");
    private static final Gid IPV6 = gid("2001:db8::1");
    private static final Gid LINK_LOCAL = gid("fe80::1");

    /** One interface with addresses of both versions and a default route, a VLAN upon it, and one without addresses. */
    private static final Network HERE = new MadeUp(
            List.of(
                    address(1, "127.0.0.1", 8),
                    address(1, "::1", 128),
                    address(ETHERNET, "10.77.0.1", 16),
                    address(ETHERNET, "10.77.9.1", 24),
                    address(ETHERNET, "2001:db8::1", 64),
                    address(ETHERNET, "fe80::1", 64),
                    address(VLAN, "10.99.7.1", 24),
                    address(VLAN, "fe80::7", 64)),
            Set.of(1, ETHERNET, VLAN, DOWN),
            Map.of("192.0.2.9", "10.77.9.1", "192.0.2.7", "10.99.7.1"));

    private record MadeUp(List<Address> addresses, Set<Integer> interfaces, Map<String, String> sources)
            implements Network {
        @Override
        public boolean hasInterface(int index) {
            return interfaces.contains(index);
        }

        @Override
        public InetAddress sourceTo(InetAddress peer) {
            String source = sources.get(peer.getHostAddress());
            return source == null ? null : InetAddress.ofLiteral(source);
        }
    }

    private static Network.Address address(int index, String text, int prefixLength) {
        return new Network.Address(index, InetAddress.ofLiteral(text), prefixLength);
    }

    private static Gid gid(String address) {
        return Gid.of(InetAddress.ofLiteral(address));
    }

    private static GidEntry entry(int index, Gid gid, GidType type) {
        return entry(index, gid, type, ETHERNET);
    }

    private static GidEntry entry(int index, Gid gid, GidType type, int netDevice) {
        return new GidEntry(1, index, gid, type, netDevice);
    }

    private static GidEntry entry(int index, String address, int netDevice) {
        return entry(index, gid(address), GidType.ROCE_V2, netDevice);
    }

    private static Optional<GidEntry> best(List<GidEntry> table) {
        return GidChoice.best(table, null, null, HERE);
    }

    private static int chosen(GidEntry... table) {
        return best(Arrays.asList(table)).orElseThrow().index();
    }

    private static int towards(String peer, GidEntry... table) {
        return GidChoice.best(Arrays.asList(table), InetAddress.ofLiteral(peer), null, HERE)
                .orElseThrow()
                .index();
    }

    private static int answering(Endpoint remote, InetAddress peer, GidEntry... table) {
        return GidChoice.best(Arrays.asList(table), peer, remote, HERE)
                .orElseThrow()
                .index();
    }

    private static Endpoint remote(String address, GidType type) {
        return new Endpoint(0, 1, 2, gid(address), type, null, Endpoint.UNKNOWN, Endpoint.UNKNOWN);
    }

    @Test
    void shouldRankVersionBeforeAddress() {
        // From best to worst, as a driver would never list them.
        List<GidEntry> best = List.of(
                entry(9, IPV4, GidType.ROCE_V2),
                entry(8, IPV6, GidType.ROCE_V2),
                entry(7, LINK_LOCAL, GidType.ROCE_V2),
                entry(6, IPV4, GidType.ROCE_V1),
                entry(5, IPV6, GidType.ROCE_V1),
                entry(4, LINK_LOCAL, GidType.ROCE_V1));
        for (int i = 0; i < best.size(); i++) {
            List<GidEntry> rest = new ArrayList<>(best.subList(i, best.size()));
            Collections.reverse(rest);
            assertEquals(Optional.of(best.get(i)), best(rest));
        }
    }

    @Test
    void shouldTakeTheFirstOfEquals() {
        assertEquals(2, chosen(entry(5, IPV4, GidType.ROCE_V2), entry(2, IPV4, GidType.ROCE_V2)));
        assertEquals(
                0, chosen(entry(1, IPV6, GidType.IB), entry(0, LINK_LOCAL, GidType.IB)), "on InfiniBand the first");
        assertEquals(
                0,
                towards("2001:db8::2", entry(1, IPV6, GidType.IB), entry(0, LINK_LOCAL, GidType.IB)),
                "where addresses are not those of IP");
    }

    @Test
    void shouldLeaveOutEmptyPlaces() {
        assertEquals(4, chosen(entry(0, Gid.ZERO, GidType.ROCE_V2), entry(4, LINK_LOCAL, GidType.ROCE_V1)));
        assertEquals(Optional.empty(), best(List.of(entry(0, Gid.ZERO, GidType.ROCE_V2))));
        assertEquals(Optional.empty(), best(List.of()));
        assertEquals(
                Optional.empty(),
                GidChoice.best(List.of(), InetAddress.getLoopbackAddress(), remote("::1", GidType.IB), HERE));
    }

    @Test
    void shouldPutAddressesOfOtherNamespacesBehind() {
        GidEntry own = entry(4, "10.77.0.1", ETHERNET);
        GidEntry ownLinkLocal = entry(5, LINK_LOCAL, GidType.ROCE_V1, ETHERNET);
        GidEntry ofContainer = entry(0, "10.88.0.1", CONTAINER);
        // The container's interface has the index of one here.
        GidEntry ofSameIndex = entry(1, "10.77.0.5", ETHERNET);
        GidEntry linkLocalOfContainer = entry(2, LINK_LOCAL, GidType.ROCE_V2, CONTAINER);
        assertEquals(4, chosen(ofContainer, ofSameIndex, linkLocalOfContainer, own));
        assertEquals(5, chosen(ofContainer, ofSameIndex, linkLocalOfContainer, ownLinkLocal));
        assertEquals(4, towards("10.88.0.2", ofContainer, own), "the subnet is another one's, too");
        assertEquals(0, chosen(ofContainer, linkLocalOfContainer), "rather than none");
    }

    @Test
    void shouldNotTakeAnInterfaceWithoutAddressForAnotherNamespaces() {
        assertEquals(2, chosen(entry(2, LINK_LOCAL, GidType.ROCE_V2, DOWN), entry(1, "10.88.0.1", CONTAINER)));
    }

    @Test
    void shouldTrustTheTableWhereTheNetworkIsNotKnown() {
        Network unknown = new MadeUp(List.of(), Set.of(ETHERNET, VLAN), Map.of());
        List<GidEntry> table =
                List.of(entry(0, "fe80::1", ETHERNET), entry(1, "10.99.7.1", VLAN), entry(2, "10.77.0.1", ETHERNET));
        assertEquals(1, GidChoice.best(table, null, null, unknown).orElseThrow().index());
        assertEquals(
                1,
                GidChoice.best(table, InetAddress.ofLiteral("10.77.0.2"), null, unknown)
                        .orElseThrow()
                        .index());
    }

    @ParameterizedTest
    @CsvSource({
        // In the subnet of one address.
        "10.77.3.3, 1",
        "10.99.7.9, 3",
        "2001:db8::9, 4",
        // In two subnets of one interface: the longer prefix.
        "10.77.9.9, 2",
        // Through a router.
        "192.0.2.9, 2",
        "192.0.2.7, 3",
        // Without a route: as if nothing was known.
        "203.0.113.9, 1",
        // To itself.
        "10.77.9.1, 2",
        "10.99.7.1, 3",
        // On this machine, which any address reaches.
        "127.0.0.1, 1",
        "::1, 1",
    })
    void shouldChooseTheAddressThatLeadsToThePeer(String peer, int index) {
        assertEquals(
                index,
                towards(
                        peer,
                        entry(0, "fe80::1", ETHERNET),
                        entry(1, "10.77.0.1", ETHERNET),
                        entry(2, "10.77.9.1", ETHERNET),
                        entry(3, "10.99.7.1", VLAN),
                        entry(4, "2001:db8::1", ETHERNET),
                        entry(5, "fe80::7", VLAN),
                        entry(6, IPV4, GidType.ROCE_V1, ETHERNET),
                        entry(7, "127.0.0.1", 1),
                        entry(8, "::1", 1)));
    }

    @Test
    void shouldChooseTheInterfaceThatLeadsToThePeer() {
        // The table has none of the addresses in the peer's subnet, or where the route begins.
        assertEquals(5, towards("10.99.7.9", entry(0, "fe80::1", ETHERNET), entry(5, "fe80::7", VLAN)));
        assertEquals(5, towards("192.0.2.7", entry(0, "fe80::1", ETHERNET), entry(5, "fe80::7", VLAN)));
    }

    @Test
    void shouldChooseTheLinkThatThePeerWasSeenOn() throws Exception {
        GidEntry first = entry(0, "fe80::1", ETHERNET);
        GidEntry second = entry(1, "fe80::7", VLAN);
        GidEntry version4 = entry(2, "10.77.0.1", ETHERNET);
        byte[] bytes = InetAddress.ofLiteral("fe80::99").getAddress();
        List<GidEntry> table = List.of(first, second, version4);
        InetAddress onVlan = Inet6Address.getByAddress(null, bytes, VLAN);
        assertEquals(Optional.of(second), GidChoice.best(table, onVlan, null, HERE));
        InetAddress anywhere = InetAddress.getByAddress(bytes);
        assertEquals(Optional.of(first), GidChoice.best(table, anywhere, null, HERE));
    }

    @Test
    void shouldPreferTheSourceOfTheRouteAmongAddressesOfOneSubnet() {
        Network network = new MadeUp(
                List.of(address(ETHERNET, "10.77.0.1", 16), address(ETHERNET, "10.77.0.2", 16)),
                Set.of(ETHERNET),
                Map.of("10.77.0.9", "10.77.0.2"));
        List<GidEntry> table = List.of(entry(0, "10.77.0.1", ETHERNET), entry(1, "10.77.0.2", ETHERNET));
        InetAddress peer = InetAddress.ofLiteral("10.77.0.9");
        assertEquals(1, GidChoice.best(table, peer, null, network).orElseThrow().index());
    }

    @Test
    void shouldChooseTheAddressOfADeviceAtAnotherPort() {
        // As soft0 makes them at UDP port 4792.
        GidEntry vlan = entry(0, new Gid(0x12b8, gid("10.99.7.1").interfaceId()), GidType.ROCE_V2, 0);
        GidEntry ethernet = entry(1, new Gid(0x12b8, IPV4.interfaceId()), GidType.ROCE_V2, 0);
        assertEquals(0, towards("10.99.7.9", vlan, ethernet));
        assertEquals(1, towards("10.77.0.9", vlan, ethernet));
        assertNull(GidChoice.obstacle(entry(0, IPV4, GidType.ROCE_V2), new Endpoint(0, 1, 2, ethernet.gid())));
    }

    @Test
    void shouldChooseWhatThePeerCanBeReachedFrom() {
        GidEntry version4 = entry(0, "10.77.0.1", ETHERNET);
        GidEntry version6 = entry(1, "2001:db8::1", ETHERNET);
        GidEntry linkLocal = entry(2, "fe80::1", ETHERNET);
        GidEntry linkLocalOfVlan = entry(3, "fe80::7", VLAN);
        GidEntry old = entry(4, IPV4, GidType.ROCE_V1);
        GidEntry[] table = {version4, version6, linkLocal, linkLocalOfVlan, old};
        assertEquals(0, answering(remote("10.77.0.9", GidType.UNKNOWN), null, table));
        assertEquals(1, answering(remote("2001:db8:5::9", GidType.UNKNOWN), null, table), "in another subnet");
        assertEquals(2, answering(remote("fe80::99", GidType.UNKNOWN), null, table));
        assertEquals(4, answering(remote("10.77.0.9", GidType.ROCE_V1), null, table));
        InetAddress met = InetAddress.ofLiteral("10.99.7.9");
        assertEquals(3, answering(remote("fe80::99", GidType.ROCE_V2), met, table), "where the two have met");
        assertEquals(0, answering(remote("10.77.0.9", GidType.ROCE_V2), met, table), "the GID goes before that");
    }

    private static void cannotMeet(String why, GidEntry local, Endpoint remote) {
        String obstacle = GidChoice.obstacle(local, remote);
        assertTrue(obstacle != null && obstacle.contains(why), () -> why + " is not in " + obstacle);
    }

    @Test
    void shouldSayWhyTwoSidesCannotMeet() {
        GidEntry version4 = entry(1, IPV4, GidType.ROCE_V2);
        cannotMeet("is IPv4 and the peer's", version4, remote("2001:db8::9", GidType.UNKNOWN));
        cannotMeet("IPv6, which cannot reach each other", version4, remote("fe80::9", GidType.ROCE_V2));
        cannotMeet("(index 1 of port 1) is of type ROCE_V2", version4, remote("10.77.0.2", GidType.ROCE_V1));
        cannotMeet("of type IB", version4, remote("10.77.0.2", GidType.IB));
        cannotMeet("has no GID", version4, new Endpoint(0, 1, 2, Gid.ZERO));
        cannotMeet("is IPv6", entry(1, LINK_LOCAL, GidType.ROCE_V2), remote("10.77.0.2", GidType.ROCE_V2));
    }

    /** As of soft0, if nobody has told it to use other addresses. */
    @Test
    void shouldSayThatALoopbackAddressIsNotThatOfAPeerElsewhere() {
        Network network = new MadeUp(List.of(), Set.of(), Map.of("192.0.2.9", "10.77.0.1", "10.77.0.1", "10.77.0.1"));
        InetAddress elsewhere = InetAddress.ofLiteral("192.0.2.9");
        InetAddress here = InetAddress.ofLiteral("10.77.0.1");
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        Endpoint atPort = new Endpoint(0, 1, 2, new Gid(0x12b8, gid("127.0.0.1").interfaceId()));
        for (Endpoint each : List.of(remote("127.0.0.1", GidType.UNKNOWN), remote("::1", GidType.ROCE_V2), atPort)) {
            String obstacle = GidChoice.obstacleOfLoopback(each, elsewhere, network);
            assertTrue(obstacle != null && obstacle.contains("the peer is at 192.0.2.9"), () -> "" + obstacle);
            assertNull(GidChoice.obstacleOfLoopback(each, here, network));
            assertNull(GidChoice.obstacleOfLoopback(each, loopback, network));
            assertNull(GidChoice.obstacleOfLoopback(each, null, network));
        }
        Endpoint other = remote("10.77.0.9", GidType.ROCE_V2);
        assertNull(GidChoice.obstacleOfLoopback(other, elsewhere, network));
        assertNull(GidChoice.obstacleOfLoopback(new Endpoint(5, 1, 2, Gid.ZERO), elsewhere, network));
    }

    @Test
    void shouldSayNothingAgainstWhatMayWork() {
        GidEntry version4 = entry(1, IPV4, GidType.ROCE_V2);
        assertNull(GidChoice.obstacle(version4, remote("192.0.2.9", GidType.ROCE_V2)), "behind a router");
        assertNull(GidChoice.obstacle(version4, remote("192.0.2.9", GidType.UNKNOWN)));
        assertNull(GidChoice.obstacle(version4, remote("ff0e::1", GidType.UNKNOWN)), "a group");
        // Version 1 has no IP.
        assertNull(GidChoice.obstacle(entry(1, IPV4, GidType.ROCE_V1), remote("fe80::9", GidType.ROCE_V1)));
        assertNull(GidChoice.obstacle(entry(1, LINK_LOCAL, GidType.IB), new Endpoint(5, 1, 2, Gid.ZERO)));
        assertNull(GidChoice.obstacle(entry(1, IPV4, GidType.UNKNOWN), remote("fe80::9", GidType.ROCE_V1)));
    }
}
