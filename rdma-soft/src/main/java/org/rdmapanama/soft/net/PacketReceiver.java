package org.rdmapanama.soft.net;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.rdmapanama.ffm.internal.KnownMemory;

/**
 * Receives the packets that arrive at one local address, one after the other. {@link Wire} owns the receivers. Callers must
 * hold the lock of the device.
 */
abstract class PacketReceiver {
    /** The length of a datagram that wakes up a device and says no more. No packet is so short. */
    static final int BELL_BYTES = 1;

    /** Contains the packet taken last. */
    final ByteBuffer buffer;

    /** The address of the buffer. */
    final long address;

    /** The sender of the packet taken last; null before the first one. */
    private Peer from;

    private int start;
    private int length;
    private int place;
    private boolean marked;

    PacketReceiver(int bytes) {
        buffer = KnownMemory.directBuffer(bytes).order(ByteOrder.LITTLE_ENDIAN);
        address = MemorySegment.ofBuffer(buffer).address();
    }

    /** Takes the next packet. Returns false if there is none. */
    abstract boolean next();

    /** Returns whether there are packets that have left the socket, so that nothing else tells of them. */
    boolean hasMore() {
        return false;
    }

    /** Notes the sender of the next packets. */
    final void from(Peer peer) {
        from = peer;
    }

    /** Notes where in the buffer the packet is that is taken, and how many were taken before it of those that came with it. */
    final void at(int newStart, int newLength, int newPlace) {
        start = newStart;
        length = newLength;
        place = newPlace;
    }

    /** Notes whether the next packets were marked on their way. */
    final void marked(boolean congested) {
        marked = congested;
    }

    /** Returns whether a switch has marked the packet taken last, because it is congested, as far as the system tells. */
    final boolean isMarked() {
        return marked;
    }

    /** Returns the sender of the packet taken last. */
    final Peer from() {
        return from;
    }

    /** Returns the index in the buffer at which the packet begins. */
    final int start() {
        return start;
    }

    /** Returns how many packets were taken before this one of those that came with it, of which each has its number. */
    final int place() {
        return place;
    }

    /** Returns the size of the packet with its checksum, in bytes. */
    final int length() {
        return length;
    }
}
