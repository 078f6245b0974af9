package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.Arrays;
import java.util.List;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.soft.wire.Ecn;
import org.rdmapanama.soft.wire.Sender;

/**
 * Sends packets from sockets of the device, marked on request as by a congested switch. If the device reacts to marks, it says
 * so in all packets that it sends. Callers must hold the lock of the device.
 */
final class MarkingSender implements Sender {
    private static final Logger LOG = Logging.logger(MarkingSender.class);

    private final Sender next;
    private final boolean capable;

    /** By the number of the socket. */
    private final List<DatagramChannel> channels;

    /** What each socket writes in the packets that it sends, of {@link Ecn}. */
    private int[] codepoints = {};

    /**
     * Prepares sockets.
     *
     * @param next sends from them
     * @param capable whether the device reacts to marks
     * @param channels the sockets of the device, to which others may be added
     */
    MarkingSender(Sender next, boolean capable, List<DatagramChannel> channels) {
        this.next = next;
        this.capable = capable;
        this.channels = channels;
        prepare();
    }

    /** Prepares the sockets that were added since the last call. */
    void prepare() {
        int known = codepoints.length;
        codepoints = Arrays.copyOf(codepoints, channels.size());
        for (int i = known; i < codepoints.length && capable; i++) {
            write(i, Ecn.CAPABLE);
        }
    }

    private void write(int index, int codepoint) {
        if (codepoints[index] == codepoint) {
            return;
        }
        try {
            channels.get(index).setOption(StandardSocketOptions.IP_TOS, codepoint);
            codepoints[index] = codepoint;
        } catch (IOException e) {
            // Switches drop packets then, instead of marking them.
            LOG.warn("cannot set the ECN field of packets to {}: {}", codepoint, e.toString());
        }
    }

    @Override
    public boolean send(ByteBuffer packet, int index, SocketAddress to) {
        write(index, capable ? Ecn.CAPABLE : Ecn.NOT_CAPABLE);
        return next.send(packet, index, to);
    }

    @Override
    public boolean canMark() {
        return capable;
    }

    @Override
    public boolean sendMarked(ByteBuffer packet, int index, SocketAddress to) {
        if (capable) {
            write(index, Ecn.CONGESTED);
        }
        return next.send(packet, index, to);
    }
}
