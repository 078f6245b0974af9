package org.rdmapanama.soft;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.rdmapanama.soft.wire.Memory;

/**
 * The GID table: a GID for each address of the machine; RoCEv2, IBA specification, annex A17. An IPv4 address stands in
 * the last four bytes, behind {@code ::ffff:}.
 */
final class LocalAddresses {
    private static final long MAPPED = 0xffff_0000_0000L;
    private static final int ETHERNET_MTU = 1500;

    private final List<InetAddress> addresses = new ArrayList<>();
    private final long[] high;
    private final long[] low;
    private final int mtu;

    private LocalAddresses(List<InetAddress> addresses, int mtu) {
        this.addresses.addAll(addresses);
        this.mtu = mtu;
        high = new long[addresses.size()];
        low = new long[addresses.size()];
        for (int i = 0; i < high.length; i++) {
            byte[] bytes = addresses.get(i).getAddress();
            if (bytes.length == Integer.BYTES) {
                low[i] = MAPPED | number(bytes, 0, Integer.BYTES);
            } else {
                high[i] = number(bytes, 0, Long.BYTES);
                low[i] = number(bytes, Long.BYTES, Long.BYTES);
            }
        }
    }

    private static long number(byte[] bytes, int from, int count) {
        long value = 0;
        for (int i = from; i < from + count; i++) {
            value = value << 8 | Byte.toUnsignedInt(bytes[i]);
        }
        return value;
    }

    /** Those that are there now: others can reach the first ones, and only this machine the last. */
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
        outer.sort(LocalAddresses::version4First);
        loopback.sort(LocalAddresses::version4First);
        if (loopback.isEmpty()) {
            loopback.add(InetAddress.getLoopbackAddress());
        }
        outer.addAll(loopback);
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
        return gidHigh == 0 && gidLow >>> 32 == MAPPED >>> 32;
    }
}
