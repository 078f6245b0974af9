package org.rdmapanama.soft.wire;

import java.net.SocketAddress;
import java.nio.ByteBuffer;

/** What sends packets. */
@FunctionalInterface
public interface Sender {
    /**
     * Sends a packet.
     *
     * @param packet the packet is what lies between the position and the limit, with its checksum; it may be used anew
     *     when this returns
     * @param localIndex which of the local addresses it leaves from
     * @param to where it goes
     * @return false if there is no room for it now: then nothing was sent, and the position is as it was; otherwise the
     *     position is at the limit
     */
    boolean send(ByteBuffer packet, int localIndex, SocketAddress to);
}
