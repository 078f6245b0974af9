package org.rdmapanama.soft.events;

import java.net.InetSocketAddress;

/** How events name peers. */
final class Peers {
    private Peers() {}

    /** Such as 127.0.0.1:4791; the null of a queue pair of the same device is "this device". */
    static String text(InetSocketAddress peer) {
        return peer == null ? "this device" : peer.getAddress().getHostAddress() + ":" + peer.getPort();
    }
}
