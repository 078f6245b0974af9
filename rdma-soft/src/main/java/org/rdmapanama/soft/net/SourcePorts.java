package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.Arrays;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * The sockets that packets of connections are sent from, so that routers see several flows between two hosts: a few for each
 * of the own addresses, which are made when a connection first needs one. The connections are spread over them by their
 * hash. The port of a socket is that of its first connection, or the next one that is free.
 *
 * <p>A socket stays until the device closes: another program must not get the port of a connection. And what a hash has got
 * stays the same even if it was no port, because the peer has noted where the packets of the connection come from.
 *
 * <p>Nobody has a reason to send to these sockets, and nothing is read from them: the kernel keeps a few KiB and drops the
 * rest. {@link Wire} owns this. Callers must hold the lock of the device.
 */
final class SourcePorts {
    private static final Logger LOG = Logging.logger(SourcePorts.class);

    /** How many there can be for an address, and how many there are unless the settings say otherwise. */
    static final int MOST = 64;

    static final int USUAL = 16;

    /** The requested size of the receive buffers, which the kernel rounds up to the least that it allows. */
    static final int RECEIVE_BYTES = 1;

    /** How many ports to try, starting from that of the connection. */
    private static final int PORTS_TO_TRY = 64;

    private static final int LAST_PORT = 0xffff;

    /** In place of the number of a socket that nobody has needed. */
    private static final int NOT_YET = -1;

    /** Takes a socket into use. */
    interface Opened {
        /** Takes a socket that was bound to an address, and will close it. Returns its number. */
        int add(DatagramChannel channel, InetSocketAddress from);
    }

    private final String device;
    private final int count;
    private final Opened opened;
    private final InetSocketAddress[] own;

    /** The numbers of the sockets by the index of the address and the remainder of the hash. */
    private final int[][] sockets;

    /**
     * Creates this without any sockets.
     *
     * @param device the name of the device, for the log
     * @param count how many sockets an address gets at most
     * @param own the sockets that receive, whose addresses the others get
     */
    SourcePorts(String device, int count, Opened opened, InetSocketAddress... own) {
        this.device = device;
        this.count = count;
        this.opened = opened;
        this.own = own.clone();
        sockets = new int[own.length][count];
        for (int[] each : sockets) {
            Arrays.fill(each, NOT_YET);
        }
    }

    /**
     * Returns the number of the socket of a connection.
     *
     * @param index the index of the address
     * @param port the port that the connection should have
     * @return the number; the index of the address, which is that of the socket that receives, if there can be no other one
     */
    int socket(int index, int port) {
        int[] those = sockets[index];
        int place = port % count;
        if (those[place] == NOT_YET) {
            those[place] = open(index, port);
        }
        return those[place];
    }

    private int open(int index, int first) {
        for (int i = 0; i < PORTS_TO_TRY; i++) {
            // The last port is followed by the first one.
            int port = UdpFlow.FIRST_SOURCE_PORT | ((first + i) & LAST_PORT);
            try {
                return begin(new InetSocketAddress(own[index].getAddress(), port));
            } catch (BindException taken) {
                // The next one may be free.
            } catch (IOException | OutOfMemoryError e) {
                // For want of descriptors, or of memory for packets.
                LOG.warn("{}: connections send from UDP port {}: {}", device, own[index].getPort(), e.toString());
                return index;
            }
        }
        LOG.warn(
                "{}: connections send from UDP port {}: {} ports from {} on are taken",
                device,
                own[index].getPort(),
                PORTS_TO_TRY,
                first);
        return index;
    }

    private int begin(InetSocketAddress from) throws IOException {
        DatagramChannel channel = Wire.open(from, RECEIVE_BYTES);
        boolean used = false;
        try {
            int number = opened.add(channel, from);
            used = true;
            return number;
        } finally {
            if (!used) {
                channel.close();
            }
        }
    }
}
