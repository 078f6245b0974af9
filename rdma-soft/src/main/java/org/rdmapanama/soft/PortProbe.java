package org.rdmapanama.soft;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;

/**
 * Whether a host says that nothing receives at a UDP port. Many say nothing; but where one does, nobody need wait. To a
 * device that receives there, what this sends is too short to be a packet.
 */
final class PortProbe {
    /** Null where that cannot be found out. */
    private final DatagramChannel channel;

    private final ByteBuffer buffer = ByteBuffer.allocateDirect(1);

    PortProbe(InetSocketAddress to) {
        DatagramChannel opened = null;
        try {
            opened = DatagramChannel.open(Wire.family(to.getAddress()));
            opened.configureBlocking(false);
            opened.connect(to);
        } catch (IOException | RuntimeException e) {
            close(opened);
            opened = null;
        }
        channel = opened;
    }

    /** Whether the host has said so; asks it once more. */
    boolean isRefused() {
        if (channel == null) {
            return false;
        }
        try {
            channel.read(buffer.clear());
            channel.write(buffer.clear());
            return false;
        } catch (PortUnreachableException e) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    void close() {
        close(channel);
    }

    private static void close(DatagramChannel channel) {
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException e) {
                // It is of no use any more, in any case.
            }
        }
    }
}
