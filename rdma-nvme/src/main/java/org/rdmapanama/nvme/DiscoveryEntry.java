package org.rdmapanama.nvme;

import java.net.InetSocketAddress;
import java.util.Optional;

/**
 * An entry of a discovery log: where a subsystem can be reached (Fabrics 1.1, 5.3). It comes from a peer: texts have printable
 * characters only, and nothing else is checked.
 *
 * @param transport the transport: 1 for RDMA, 3 for TCP
 * @param family the family of the address: 1 for IPv4, 2 for IPv6
 * @param type what it is: 1 another discovery service, 2 a subsystem with namespaces, 3 this discovery service
 * @param port the number of the target's port
 * @param controller the id of the controller, or 65535 for any
 * @param subsystem the name of the subsystem
 * @param address the address as text
 * @param service the service as text: with RDMA and TCP the number of the port
 */
public record DiscoveryEntry(
        int transport,
        int family,
        int type,
        int port,
        int controller,
        String subsystem,
        String address,
        String service) {
    /**
     * {@return whether it is a subsystem with namespaces}
     */
    public boolean isNvm() {
        return type == 2;
    }

    /**
     * {@return whether it can be reached by RDMA}
     */
    public boolean isRdma() {
        return transport == 1;
    }

    /**
     * {@return the address to connect to; empty if it is not a literal IP address with the number of a port}
     */
    public Optional<InetSocketAddress> socketAddress() {
        // Only literals: a name would make this ask a name server for what a peer wants.
        if (!address.matches("[0-9.]{7,15}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(%[0-9a-zA-Z]+)?")
                || !service.matches("[0-9]{1,5}")) {
            return Optional.empty();
        }
        try {
            return Optional.of(
                    new InetSocketAddress(java.net.InetAddress.ofLiteral(address), Integer.parseInt(service)));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }
}
