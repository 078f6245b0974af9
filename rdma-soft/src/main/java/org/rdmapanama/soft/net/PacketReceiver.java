package org.rdmapanama.soft.net;

import java.nio.ByteBuffer;

/**
 * Receives the packets that arrive at one local address, one after the other. {@link Wire} owns the receivers. Callers must
 * hold the lock of the device.
 */
abstract class PacketReceiver {
    /** Takes the next packet. Returns false if there is none. */
    abstract boolean next();

    /** Returns whether there are packets that have left the socket, so that nothing else tells of them. */
    boolean hasMore() {
        return false;
    }

    /** Returns the sender of the packet taken last. */
    abstract Peer from();

    /** Returns a buffer that contains the packet taken last. */
    abstract ByteBuffer buffer();

    /** Returns the index in the buffer at which the packet begins. */
    abstract int start();

    /** Returns the size of the packet with its checksum, in bytes. */
    abstract int length();

    /** Returns the address of the packet. */
    abstract long address();
}
