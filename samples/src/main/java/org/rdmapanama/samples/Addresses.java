package org.rdmapanama.samples;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** Addresses as people write them. */
final class Addresses {
    /** The wildcard: all addresses of this machine. */
    static final String WILDCARD = "0.0.0.0";

    private Addresses() {}

    static InetSocketAddress resolve(String host, int port) {
        try {
            return new InetSocketAddress(InetAddress.getByName(host), port);
        } catch (UnknownHostException e) {
            throw new Failure("cannot resolve '" + host + "': check the name, or give the address", e);
        }
    }

    static String text(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
    }
}
