package org.rdmapanama;

import java.net.InetAddress;
import java.util.List;

/** What a machine knows of its network, as this process's network namespace has it. */
interface Network {
    /**
     * An address of a network interface.
     *
     * @param interfaceIndex of the interface
     * @param address IPv4 or IPv6
     * @param prefixLength how many bits at its beginning all addresses of its subnet share
     */
    record Address(int interfaceIndex, InetAddress address, int prefixLength) {}

    /** The addresses of all interfaces. */
    List<Address> addresses();

    /** Whether an interface has this index; it may be down, and have no address. */
    boolean hasInterface(int index);

    /** The address that packets to a peer would come from, or null when there is no route. */
    InetAddress sourceTo(InetAddress peer);
}
