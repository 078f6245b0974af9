package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.soft.wire.UdpFlow;

/** The GID table. */
class LocalAddressesTest {
    private static final LocalAddresses ALL = LocalAddresses.query("all");

    private static List<InetAddress> list(LocalAddresses addresses) {
        List<InetAddress> list = new ArrayList<>();
        for (int i = 0; i < addresses.count(); i++) {
            list.add(addresses.address(i));
        }
        return list;
    }

    @Test
    void shouldHaveAllOfVersion4First() {
        List<Boolean> others =
                list(ALL).stream().map(each -> !(each instanceof Inet4Address)).toList();
        assertEquals(others.stream().sorted().toList(), others);
    }

    @Test
    void shouldHaveThoseFirstThatOthersCanReach() {
        for (boolean version4 : new boolean[] {true, false}) {
            List<Boolean> loopback = list(ALL).stream()
                    .filter(each -> each instanceof Inet4Address == version4)
                    .map(InetAddress::isLoopbackAddress)
                    .toList();
            assertEquals(loopback.stream().sorted().toList(), loopback);
        }
    }

    @Test
    void shouldHaveThemInTheSamePlacesAtAnotherPort() {
        LocalAddresses others = ALL.atPort(UdpFlow.ROCE_PORT + 1);
        assertTrue(others.count() > 0);
        assertEquals(list(ALL).subList(0, others.count()), list(others));
        assertTrue(list(ALL).stream().skip(others.count()).noneMatch(each -> each instanceof Inet4Address));
    }

    /** Nothing comes from the network unless that is wanted. */
    @Test
    void shouldHaveTheLoopbackOnlyByDefault() {
        LocalAddresses usual = LocalAddresses.query(null);
        assertTrue(usual.count() > 0);
        assertTrue(list(usual).stream().allMatch(InetAddress::isLoopbackAddress));
        assertEquals(
                list(ALL).stream().filter(InetAddress::isLoopbackAddress).toList(), list(usual), "in the same order");
        assertTrue(usual.areLoopback());
        assertEquals(65536, usual.mtu());
    }

    @Test
    void shouldTakeAList() {
        List<String> each = list(ALL).stream().map(InetAddress::getHostAddress).toList();
        assertEquals(list(ALL), list(LocalAddresses.query(String.join(",", each))));
        assertEquals(list(ALL), list(LocalAddresses.query("127.0.0.1, all")));
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        assertEquals(List.of(loopback), list(LocalAddresses.query(" 127.0.0.1 ,127.0.0.1")));
    }

    @Test
    void shouldSayWhichOfAListIsWrong() {
        String message = assertThrows(
                        IllegalArgumentException.class, () -> LocalAddresses.query("127.0.0.1,203.0.113.7"))
                .getMessage();
        assertTrue(message.endsWith("'203.0.113.7'"), message);
        assertTrue(message.contains("'all'") && message.contains("RDMA_SOFT_ADDRESS"), message);
        assertThrows(IllegalArgumentException.class, () -> LocalAddresses.query("127.0.0.1,"));
    }

    @Test
    void shouldKnowThatPacketsOfTheLoopbackStayHere() {
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        InetAddress elsewhere = InetAddress.ofLiteral("203.0.113.7");
        LocalAddresses two = new LocalAddresses(List.of(InetAddress.ofLiteral("192.0.2.1"), loopback), 1500, 65536);
        assertTrue(two.leadsTo(0, elsewhere));
        assertFalse(two.leadsTo(1, elsewhere));
        assertTrue(two.leadsTo(1, InetAddress.ofLiteral("127.0.0.9")));
        assertTrue(two.leadsTo(1, InetAddress.ofLiteral("224.0.0.9")));
        for (InetAddress each : list(ALL)) {
            assertTrue(two.leadsTo(1, each), each::toString);
        }
    }

    /** The loopback interface takes the largest packets; on a machine of its own there is no other. */
    @Test
    void shouldTakeTheMtuOfTheInterfacesThatThereAre() {
        assertEquals(65536, LocalAddresses.query("127.0.0.1").mtu());
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        InetAddress other = InetAddress.ofLiteral("192.0.2.1");
        assertEquals(1400, new LocalAddresses(List.of(other, other, loopback), 9000, 1400, 65536).mtu());
    }
}
