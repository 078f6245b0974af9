package org.rdmapanama.soft.net;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import org.rdmapanama.soft.wire.InvariantCrc;

/** Receives each packet by itself, on every system. */
final class ChannelReceiver extends PacketReceiver {
    private final DatagramChannel channel;
    private final Peers peers;

    /** One byte more than a packet can have, to recognize those that are too long. */
    private final ByteBuffer buffer =
            ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES + 1).order(ByteOrder.LITTLE_ENDIAN);

    private final long address = MemorySegment.ofBuffer(buffer).address();

    /** The address object that the channel returned last; it returns the same one as long as the sender is the same. */
    private SocketAddress seen;

    private Peer from;

    ChannelReceiver(DatagramChannel channel, Peers peers) {
        this.channel = channel;
        this.peers = peers;
    }

    @Override
    @SuppressWarnings("ReferenceEquality")
    boolean next() {
        buffer.clear();
        SocketAddress sender;
        try {
            sender = channel.receive(buffer);
        } catch (IOException e) {
            // For example an ICMP port unreachable message.
            return false;
        }
        if (sender == null) {
            return false;
        }
        if (sender != seen) {
            seen = sender;
            from = peers.at((InetSocketAddress) sender);
        }
        return true;
    }

    @Override
    Peer from() {
        return from;
    }

    @Override
    ByteBuffer buffer() {
        return buffer;
    }

    @Override
    int start() {
        return 0;
    }

    @Override
    int length() {
        return buffer.position();
    }

    @Override
    long address() {
        return address;
    }
}
