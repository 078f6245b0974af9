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

    /** Returns whether {@link #sendMarked} marks packets, because the device reacts to marks. */
    default boolean canMark() {
        return false;
    }

    /** Like {@link #send}, but marks the packet, if this can, as a switch does that is congested. */
    default boolean sendMarked(ByteBuffer packet, int localIndex, SocketAddress to) {
        return send(packet, localIndex, to);
    }
}
