package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;

/**
 * Finds out whether a host reports a UDP port unreachable (ICMP), so that a connection attempt can fail early. Many
 * hosts report nothing. The probe is a datagram of one byte, which a device at that port ignores as too short. {@link
 * CmExchange} owns one while answers are late. Callers must hold the lock of the device.
 */
public final class PortProbe {
    /** Null if no probe socket can be opened. */
    private final DatagramChannel channel;

    private final ByteBuffer buffer = ByteBuffer.allocateDirect(1);

    public PortProbe(InetSocketAddress to) {
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

    /** Returns whether the host has reported the port unreachable, and sends another probe. */
    public boolean isRefused() {
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

    public void close() {
        close(channel);
    }

    private static void close(DatagramChannel channel) {
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException e) {
                // It is not used any more in any case.
            }
        }
    }
}
