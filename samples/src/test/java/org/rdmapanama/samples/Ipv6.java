package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.testing.Lab;

/** Addresses of IPv6 that the devices of the tests have. */
public final class Ipv6 {
    private Ipv6() {}

    /**
     * An address by which the second device reaches itself: in the lab that of its link, elsewhere that of the loopback
     * interface. Skips the test where the device has none.
     */
    public static String ofSecondHost() throws SocketException, UnknownHostException {
        if (Lab.isInLab()) {
            return ofLink("veth1");
        }
        assumeTrue(hasGid("::1"), () -> Lab.SECOND_DEVICE + " has no addresses of this kind");
        return "::1";
    }

    private static boolean hasGid(String address) throws UnknownHostException {
        InetAddress wanted = InetAddress.getByName(address);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            return Context.open(arena, Lab.SECOND_DEVICE).queryGidTable().stream()
                    .anyMatch(entry -> entry.gid().toInetAddress().equals(wanted));
        }
    }

    /** The address of a network interface, with its name. */
    static String ofLink(String name) throws SocketException {
        return NetworkInterface.getByName(name)
                .inetAddresses()
                .filter(each -> each instanceof Inet6Address)
                .findFirst()
                .orElseThrow()
                .getHostAddress();
    }
}
