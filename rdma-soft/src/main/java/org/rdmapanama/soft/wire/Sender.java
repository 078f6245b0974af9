package org.rdmapanama.soft.wire;

import java.net.SocketAddress;
import java.nio.ByteBuffer;

/** Sends packets: a socket, or a {@link FaultySender} before it. */
@FunctionalInterface
public interface Sender {
    /**
     * Sends a packet.
     *
     * @param packet the packet with its checksum, from position to limit; the caller may reuse the buffer afterwards
     * @param localIndex the index of the local address to send from
     * @param to the destination
     * @return false if there is no room for the packet now: then nothing was sent and the position is unchanged;
     *     otherwise the position is at the limit
     */
    boolean send(ByteBuffer packet, int localIndex, SocketAddress to);
}
