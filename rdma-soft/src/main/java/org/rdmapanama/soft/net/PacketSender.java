package org.rdmapanama.soft.net;

/**
 * A way out for packets. A packet is written where {@link #begin} says and sent by {@link #send}, at once or together with
 * those that follow: {@link #flush} sends what waits. The kernel may have no room for a packet. It is not lost then, and
 * nothing more can be sent until there is room. {@link Wire} owns the senders. Callers must hold the lock of the device.
 */
abstract class PacketSender {
    /**
     * Begins a packet.
     *
     * @param to the peer
     * @return where to write it, or 0 if there is no room now
     */
    abstract long begin(Peer to);

    /**
     * Returns how many bytes of a message the packet that was begun last can carry: the path MTU, or a multiple of it where
     * one packet can stand for several.
     */
    int payload(int mtu) {
        return mtu;
    }

    /**
     * Sends the packet that was begun last.
     *
     * @param bytes its size without the checksum, a multiple of four
     */
    abstract void send(int bytes);

    /** Sends what waits. Returns whether nothing waits any more. */
    abstract boolean flush();
}
