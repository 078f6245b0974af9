package org.rdmapanama.internal.network;

import java.net.InetAddress;
import java.util.List;
import org.rdmapanama.VerbsException;

/**
 * The network of a machine, as this process's network namespace has it. Each method throws {@link VerbsException} when
 * too many files are open to examine it.
 */
public interface Network {
    /**
     * An address of a network interface.
     *
     * @param interfaceIndex the index of the interface
     * @param address IPv4 or IPv6
     * @param prefixLength the number of leading bits that all addresses of its subnet share
     */
    record Address(int interfaceIndex, InetAddress address, int prefixLength) {}

    /** The addresses of all interfaces. */
    List<Address> addresses();

    /** Whether an interface has this index; it may be down, and have no address. */
    boolean hasInterface(int index);

    /** The source address of packets to a peer, or null if there is no route. */
    InetAddress sourceTo(InetAddress peer);
}
