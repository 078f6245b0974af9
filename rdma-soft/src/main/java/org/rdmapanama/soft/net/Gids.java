package org.rdmapanama.soft.net;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * The GIDs of addresses and sockets, each in two halves; RoCEv2, IBA specification, annex A17. An IPv4 address stands in
 * the last four bytes, behind {@code ::ffff:}.
 */
public final class Gids {
    /** What precedes an IPv4 address in the last eight bytes. */
    static final long MAPPED = 0xffff_0000_0000L;

    /** How the addresses of groups begin. */
    private static final int IPV4_GROUP = 0xe;

    private static final int IPV6_GROUP = 0xff;

    private Gids() {}

    /** The first eight bytes of the GID of an address. */
    public static long high(InetAddress address) {
        return address instanceof Inet4Address ? 0 : number(address.getAddress(), 0, Long.BYTES);
    }

    /** The last eight bytes of the GID of an address. */
    public static long low(InetAddress address) {
        byte[] bytes = address.getAddress();
        return address instanceof Inet4Address
                ? MAPPED | number(bytes, 0, Integer.BYTES)
                : number(bytes, Long.BYTES, Long.BYTES);
    }

    /** The first eight bytes of the GID of a device at a socket, which tell its port if it is not that of RoCEv2. */
    public static long high(InetSocketAddress socket) {
        boolean tells = socket.getAddress() instanceof Inet4Address && socket.getPort() != UdpFlow.ROCE_PORT;
        return tells ? socket.getPort() : high(socket.getAddress());
    }

    /** The socket that a GID stands for, or null. */
    public static InetSocketAddress socketOf(long gidHigh, long gidLow) {
        boolean version4 = isVersion4(gidHigh, gidLow);
        ByteBuffer bytes = ByteBuffer.allocate(version4 ? Integer.BYTES : 2 * Long.BYTES);
        if (version4) {
            bytes.putInt((int) gidLow);
        } else {
            bytes.putLong(gidHigh).putLong(gidLow);
        }
        int port = version4 && gidHigh != 0 ? (int) gidHigh : UdpFlow.ROCE_PORT;
        return new InetSocketAddress(SocketAddresses.host(bytes.array()), port);
    }

    private static long number(byte[] bytes, int from, int count) {
        long value = 0;
        for (int i = from; i < from + count; i++) {
            value = value << 8 | Byte.toUnsignedInt(bytes[i]);
        }
        return value;
    }

    /** Whether a GID is that of a group. */
    public static boolean isGroup(long gidHigh, long gidLow) {
        return isVersion4(gidHigh, gidLow) ? (int) gidLow >>> 28 == IPV4_GROUP : gidHigh >>> 56 == IPV6_GROUP;
    }

    public static boolean isVersion4(long gidHigh, long gidLow) {
        return gidHigh >>> 16 == 0 && gidLow >>> 32 == MAPPED >>> 32;
    }
}
