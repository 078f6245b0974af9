package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.soft.wire.UdpFlow;

/** The GID table. */
class LocalAddressesTest {
    private static final LocalAddresses ALL = LocalAddresses.query(null);

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

    /** The loopback interface takes the largest packets; on a machine of its own there is no other. */
    @Test
    void shouldTakeTheMtuOfTheInterfacesThatThereAre() {
        assertEquals(65536, LocalAddresses.query("127.0.0.1").mtu());
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        InetAddress other = InetAddress.ofLiteral("192.0.2.1");
        assertEquals(1400, new LocalAddresses(List.of(other, other, loopback), 9000, 1400, 65536).mtu());
    }
}
