package org.rdmapanama.address;

import java.util.Objects;
import org.rdmapanama.Context;

/**
 * The Ethernet destination of the frames on a path.
 *
 * @param mac the address of the peer, or of the router on the path to it
 * @param vlan the virtual LAN, 0 to 4095, or -1 if frames carry no tag
 * @see Context#resolveEthernetAddress
 */
public record EthernetAddress(MacAddress mac, int vlan) {
    private static final int MAX_VLAN = 0xfff;

    /**
     * Checks the arguments.
     *
     * @throws NullPointerException when the address is null
     * @throws IllegalArgumentException when the virtual LAN is out of range
     */
    public EthernetAddress {
        Objects.requireNonNull(mac, "mac");
        if (vlan < -1 || vlan > MAX_VLAN) {
            throw new IllegalArgumentException("vlan must be between 0 and " + MAX_VLAN + ", or -1 for none: " + vlan);
        }
    }

    /** {@return whether frames carry a VLAN tag} */
    public boolean hasVlan() {
        return vlan >= 0;
    }
}
