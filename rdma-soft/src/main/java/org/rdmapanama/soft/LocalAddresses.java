package org.rdmapanama.soft;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.rdmapanama.soft.wire.Flow;
import org.rdmapanama.soft.wire.Memory;

/**
 * The GID table: a GID for each address of the machine; RoCEv2, IBA specification, annex A17. An IPv4 address stands in
 * the last four bytes, behind {@code ::ffff:}.
 */
final class LocalAddresses {
    private static final long MAPPED = 0xffff_0000_0000L;
    private static final int ETHERNET_MTU = 1500;

    private final List<InetAddress> addresses;
    private final long[] high;
    private final long[] low;
    private final int mtu;

    private LocalAddresses(List<InetAddress> addresses, int mtu) {
        this.addresses = List.copyOf(addresses);
        this.mtu = mtu;
        high = new long[addresses.size()];
        low = new long[addresses.size()];
        for (int i = 0; i < high.length; i++) {
            high[i] = high(addresses.get(i));
            low[i] = low(addresses.get(i));
        }
    }

    /** The first eight bytes of the GID of an address. */
    static long high(InetAddress address) {
        return address instanceof Inet4Address ? 0 : number(address.getAddress(), 0, Long.BYTES);
    }

    /** The last eight bytes of the GID of an address. */
    static long low(InetAddress address) {
        byte[] bytes = address.getAddress();
        return address instanceof Inet4Address
                ? MAPPED | number(bytes, 0, Integer.BYTES)
                : number(bytes, Long.BYTES, Long.BYTES);
    }

    /**
     * These, for a device at another port than that of RoCEv2: it stands in the two bytes before those of an IPv4
     * address, {@code ::PORT:0:ffff:a.b.c.d}, so that who gets the GID finds the device. An IPv6 address has no room for
     * it, and is left out.
     */
    LocalAddresses atPort(int port) {
        if (port == Flow.ROCE_PORT) {
            return this;
        }
        LocalAddresses others = new LocalAddresses(
                addresses.stream().filter(each -> each instanceof Inet4Address).toList(), mtu);
        Arrays.fill(others.high, port);
        return others;
    }

    InetAddress address(int index) {
        return addresses.get(index);
    }

    /** Place of an address in the table, or -1. */
    int indexOf(InetAddress address) {
        return addresses.indexOf(address);
    }

    /** The first eight bytes of the GID of a device at a socket, which tell its port if it is not that of RoCEv2. */
    static long high(InetSocketAddress socket) {
        boolean tells = socket.getAddress() instanceof Inet4Address && socket.getPort() != Flow.ROCE_PORT;
        return tells ? socket.getPort() : high(socket.getAddress());
    }

    /** The socket that a GID stands for, or null. */
    static InetSocketAddress socketOf(long gidHigh, long gidLow) {
        boolean version4 = isVersion4(gidHigh, gidLow);
        ByteBuffer bytes = ByteBuffer.allocate(version4 ? Integer.BYTES : 2 * Long.BYTES);
        if (version4) {
            bytes.putInt((int) gidLow);
        } else {
            bytes.putLong(gidHigh).putLong(gidLow);
        }
        int port = version4 && gidHigh != 0 ? (int) gidHigh : Flow.ROCE_PORT;
        try {
            return new InetSocketAddress(InetAddress.getByAddress(bytes.array()), port);
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    private static long number(byte[] bytes, int from, int count) {
        long value = 0;
        for (int i = from; i < from + count; i++) {
            value = value << 8 | Byte.toUnsignedInt(bytes[i]);
        }
        return value;
    }

    /**
     * Those that are there now: of IPv4 first, so that each has the same place at any port, and of either kind those first
     * that others can reach.
     */
    static LocalAddresses query() {
        List<InetAddress> outer = new ArrayList<>();
        List<InetAddress> loopback = new ArrayList<>();
        int mtu = Integer.MAX_VALUE;
        try {
            for (NetworkInterface each : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                if (!each.isUp()) {
                    continue;
                }
                for (InetAddress address : Collections.list(each.getInetAddresses())) {
                    // What only means something together with an interface is no GID that can be handed on.
                    if (!address.isLinkLocalAddress()) {
                        (each.isLoopback() ? loopback : outer).add(address);
                        mtu = each.isLoopback() ? mtu : Math.min(mtu, each.getMTU());
                    }
                }
            }
        } catch (SocketException e) {
            // Then there are none but this.
            outer.clear();
        }
        if (loopback.isEmpty()) {
            loopback.add(InetAddress.getLoopbackAddress());
        }
        outer.addAll(loopback);
        outer.sort(LocalAddresses::version4First);
        return new LocalAddresses(outer, mtu == Integer.MAX_VALUE ? ETHERNET_MTU : mtu);
    }

    private static int version4First(InetAddress one, InetAddress other) {
        return Boolean.compare(other instanceof Inet4Address, one instanceof Inet4Address);
    }

    int count() {
        return high.length;
    }

    /** Of the interfaces, in bytes: the smallest. */
    int mtu() {
        return mtu;
    }

    /** What precedes the IPv4 addresses in their GIDs: the port, if it is not that of RoCEv2. */
    long highOfVersion4() {
        for (int i = 0; i < high.length; i++) {
            if (isVersion4(high[i], low[i])) {
                return high[i];
            }
        }
        return 0;
    }

    /** Place of a GID in the table, or -1. */
    int indexOf(long gidHigh, long gidLow) {
        for (int i = 0; i < high.length; i++) {
            if (high[i] == gidHigh && low[i] == gidLow) {
                return i;
            }
        }
        return -1;
    }

    /** Writes a GID as union ibv_gid. */
    void writeGid(int index, long to) {
        Memory.putNetLong(to, high[index]);
        Memory.putNetLong(to + Long.BYTES, low[index]);
    }

    long high(int index) {
        return high[index];
    }

    long low(int index) {
        return low[index];
    }

    static boolean isVersion4(long gidHigh, long gidLow) {
        return gidHigh >>> 16 == 0 && gidLow >>> 32 == MAPPED >>> 32;
    }
}
