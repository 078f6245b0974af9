package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.soft.wire.Flow;

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
        LocalAddresses others = ALL.atPort(Flow.ROCE_PORT + 1);
        assertTrue(others.count() > 0);
        assertEquals(list(ALL).subList(0, others.count()), list(others));
        assertTrue(list(ALL).stream().skip(others.count()).noneMatch(each -> each instanceof Inet4Address));
    }
}
