package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.soft.wire.Bth;

/**
 * Finds out whether a host reports a UDP port unreachable (ICMP), so that a connection attempt can fail early. Many
 * hosts report nothing. {@link CmExchange} owns one while answers are late. Callers must hold the lock of the device.
 *
 * <p>The probe is a base transport header without anything behind it, to queue pair 0, which a device at that port ignores. It
 * must not be shorter: Soft-RoCE of Linux 6.1 takes a reference from a queue pair when it drops a datagram that has no room for
 * that header, though it knows of none yet. Over IPv6 it finds a number of other meaning there, and the kernel crashes.
 */
public final class PortProbe {
    /** The length of the question. No packet is so short. */
    static final int BYTES = Bth.BYTES;

    /** Null if no probe socket can be opened. */
    private final DatagramChannel channel;

    private final ByteBuffer buffer = KnownMemory.directBuffer(BYTES);

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
