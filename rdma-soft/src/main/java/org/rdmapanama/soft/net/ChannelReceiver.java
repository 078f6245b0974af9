package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.DatagramChannel;
import org.rdmapanama.soft.wire.InvariantCrc;

/** Receives each packet by itself, on every system. */
final class ChannelReceiver extends PacketReceiver {
    private final DatagramChannel channel;
    private final Peers peers;

    /** The address object that the channel returned last; it returns the same one as long as the sender is the same. */
    private SocketAddress seen;

    ChannelReceiver(DatagramChannel channel, Peers peers) {
        // One byte more than a packet can have, to recognize those that are too long.
        super(InvariantCrc.MAX_PACKET_BYTES + 1);
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
            from(peers.at((InetSocketAddress) sender));
        }
        at(0, buffer.position(), 0);
        return true;
    }
}
