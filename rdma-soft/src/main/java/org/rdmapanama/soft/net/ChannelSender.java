package org.rdmapanama.soft.net;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.soft.wire.Capture;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Sender;
import org.rdmapanama.soft.wire.UdpFlow;

/** Sends each packet by itself, on every system, and with injected faults where there are any. */
final class ChannelSender extends PacketSender {
    private final int index;
    private final Sender sender;
    private final InvariantCrc crc;
    private final Capture capture;
    private final ByteBuffer packet =
            KnownMemory.directBuffer(InvariantCrc.MAX_PACKET_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private final long address = MemorySegment.ofBuffer(packet).address();
    private Peer peer;

    /** Whether there was no room for the packet. */
    private boolean waits;

    /**
     * Creates a sender.
     *
     * @param index the index of the local address
     * @param capture where packets are recorded, or null
     */
    ChannelSender(int index, Sender sender, InvariantCrc crc, Capture capture) {
        this.index = index;
        this.sender = sender;
        this.crc = crc;
        this.capture = capture;
    }

    @Override
    long begin(Peer to) {
        if (waits && !flush()) {
            return 0;
        }
        peer = to;
        return address;
    }

    @Override
    void send(int bytes) {
        UdpFlow flow = peer.toThem(index);
        packet.clear();
        int length = crc.append(flow, packet, bytes);
        if (capture != null) {
            capture.write(flow, 0, packet, 0, length);
        }
        packet.limit(length).position(0);
        waits = true;
        flush();
    }

    @Override
    boolean flush() {
        if (waits) {
            waits = !sender.send(packet, index, peer.address);
        }
        return !waits;
    }
}
