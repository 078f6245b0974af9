package org.rdmapanama;

import java.util.Objects;

/**
 * Where the frames of a way go on Ethernet.
 *
 * @param mac the address of the peer, or of the router on the way to it
 * @param vlan the virtual LAN, 0 to 4095, or -1 when frames carry none
 * @see Context#resolveEthernetAddress
 */
public record EthernetAddress(MacAddress mac, int vlan) {
    private static final int MAX_VLAN = 0xfff;

    /**
     * Checks both.
     *
     * @throws NullPointerException when the address is null
     * @throws IllegalArgumentException when the virtual LAN is out of range
     */
    public EthernetAddress {
        Objects.requireNonNull(mac, "mac");
        if (vlan < -1 || vlan > MAX_VLAN) {
            throw new IllegalArgumentException("a virtual LAN is 0 to " + MAX_VLAN + ", or -1 for none, not " + vlan);
        }
    }

    /**
     * Whether frames carry the tag of a virtual LAN.
     *
     * @return false when they carry none
     */
    public boolean hasVlan() {
        return vlan >= 0;
    }
}
