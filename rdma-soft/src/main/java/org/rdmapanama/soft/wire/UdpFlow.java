package org.rdmapanama.soft.wire;

import java.net.InetSocketAddress;
import java.util.Arrays;

/**
 * The addresses and UDP ports of packets in one direction, both IPv4 or both IPv6, with the precomputed headers for
 * their checksum. Created once per peer and direction. Immutable.
 */
public final class UdpFlow {
    /** The UDP port that RoCEv2 packets are sent to. (Annex A17.3.2.2) */
    public static final int ROCE_PORT = 4791;

    /** The first of the UDP ports that packets of connections are to be sent from. (Annex A17) */
    public static final int FIRST_SOURCE_PORT = 0xc000;

    private static final int PORT_BITS = 14;
    private static final int LABEL_BITS = 20;

    static final int IPV4_BYTES = 20;
    static final int IPV6_BYTES = 40;
    static final int UDP_BYTES = 8;

    /** The eight bytes that the checksum starts with. */
    static final int DUMMY_BYTES = 8;

    /**
     * The bytes that the checksum of each packet starts with: eight bytes of ones, the IP header and the UDP header,
     * with all ones in fields that change on the way. The lengths are filled in per packet.
     */
    final byte[] template;

    private UdpFlow(byte[] source, byte[] destination, int sourcePort, int destinationPort) {
        boolean ipv6 = source.length == 16;
        int udp = DUMMY_BYTES + (ipv6 ? IPV6_BYTES : IPV4_BYTES);
        template = new byte[udp + UDP_BYTES];
        Arrays.fill(template, 0, DUMMY_BYTES, (byte) 0xFF);
        int at = DUMMY_BYTES;
        if (ipv6) {
            // Version, traffic class and flow label; length; UDP, hop limit.
            put(at, 0x6F, 0xFF, 0xFF, 0xFF, 0, 0, 17, 0xFF);
            at += 8;
        } else {
            // Version and length of this header, type of service, length; identification, not to be fragmented; time to
            // live, UDP, checksum.
            put(at, 0x45, 0xFF, 0, 0, 0, 0, 0x40, 0, 0xFF, 17, 0xFF, 0xFF);
            at += 12;
        }
        System.arraycopy(source, 0, template, at, source.length);
        System.arraycopy(destination, 0, template, at + source.length, source.length);
        put(udp, sourcePort >> 8, sourcePort, destinationPort >> 8, destinationPort, 0, 0, 0xFF, 0xFF);
    }

    private void put(int at, int... bytes) {
        for (int i = 0; i < bytes.length; i++) {
            template[at + i] = (byte) bytes[i];
        }
    }

    /**
     * The flow between two sockets.
     *
     * @throws IllegalArgumentException when one address is of IPv4 and the other of IPv6
     * @throws NullPointerException when an address is null or not resolved
     */
    public static UdpFlow of(InetSocketAddress from, InetSocketAddress to) {
        byte[] source = from.getAddress().getAddress();
        byte[] destination = to.getAddress().getAddress();
        if (source.length != destination.length) {
            throw new IllegalArgumentException("both addresses must be IPv4, or both IPv6: " + from + " and " + to);
        }
        return new UdpFlow(source, destination, from.getPort(), to.getPort());
    }

    /**
     * Returns the source port of the packets that two queue pairs exchange, the same in both directions: a hash of their
     * numbers, so that routers with several paths of equal cost spread connections over them. Linux and the drivers of
     * network cards compute it so where no flow label is set: they fold the product of the numbers to the 20 bits of a flow
     * label, and this to the 14 bits of the port.
     */
    public static int sourcePort(int queuePair, int other) {
        long product = (long) queuePair * other;
        product ^= product >>> LABEL_BITS;
        product ^= product >>> (2 * LABEL_BITS);
        int label = (int) product & ((1 << LABEL_BITS) - 1);
        return FIRST_SOURCE_PORT | ((label ^ (label >>> PORT_BITS)) & ((1 << PORT_BITS) - 1));
    }

    public boolean isIpv6() {
        return template.length == DUMMY_BYTES + IPV6_BYTES + UDP_BYTES;
    }

    /** Returns the size of the IP and UDP headers that precede a packet, in bytes. */
    public int headerBytes() {
        return template.length - DUMMY_BYTES;
    }
}
