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
    /**
     * An address.
     *
     * @throws NullPointerException when the MAC address is null
     */
    public EthernetAddress {
        Objects.requireNonNull(mac, "mac");
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
