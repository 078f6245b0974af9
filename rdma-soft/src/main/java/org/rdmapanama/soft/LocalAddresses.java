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
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.rdmapanama.soft.wire.Flow;
import org.rdmapanama.soft.wire.Memory;

/**
 * The GID table: a GID for each address of the machine; RoCEv2, IBA specification, annex A17. An IPv4 address stands in
 * the last four bytes, behind {@code ::ffff:}.
 */
final class LocalAddresses {
    private static final long MAPPED = 0xffff_0000_0000L;
    private static final int ETHERNET_MTU = 1500;
    private static final int LOOPBACK_MTU = 65536;
    private static final List<InetAddress> NONE = List.of();

    /** How the addresses of groups begin. */
    private static final int IPV4_GROUP = 0xe;

    private static final int IPV6_GROUP = 0xff;

    private final List<InetAddress> addresses;
    private final long[] high;
    private final long[] low;
    private final int[] mtus;

    /** With the MTU of the interface that each is of. */
    LocalAddresses(List<InetAddress> addresses, int... mtus) {
        this.addresses = List.copyOf(addresses);
        this.mtus = mtus.clone();
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
        LocalAddresses others = only(each -> each instanceof Inet4Address);
        Arrays.fill(others.high, port);
        return others;
    }

    private LocalAddresses only(Predicate<InetAddress> which) {
        int[] places = IntStream.range(0, count())
                .filter(i -> which.test(addresses.get(i)))
                .toArray();
        return new LocalAddresses(
                IntStream.of(places).mapToObj(addresses::get).toList(),
                IntStream.of(places).map(i -> mtus[i]).toArray());
    }

    /** Those that sockets can be bound to. */
    LocalAddresses thatCanBeBound() {
        return only(Wire::canBind);
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

    private record Found(InetAddress address, String at, boolean loopback, int mtu) {
        boolean is(String named) {
            return named == null || at.equals(named) || address.equals(literal(named));
        }
    }

    private static List<Found> found() {
        List<Found> found = new ArrayList<>();
        try {
            for (NetworkInterface each : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                addAll(found, each);
            }
        } catch (SocketException e) {
            // Then there are those that were found.
        }
        return found;
    }

    private static void addAll(List<Found> found, NetworkInterface at) {
        try {
            boolean loopback = at.isLoopback();
            // Some systems have none for those.
            int mtu = loopback ? LOOPBACK_MTU : at.getMTU();
            for (InetAddress each : at.isUp() ? Collections.list(at.getInetAddresses()) : NONE) {
                // What only means something together with an interface is no GID that can be handed on.
                if (!each.isLinkLocalAddress()) {
                    found.add(new Found(each, at.getName(), loopback, mtu));
                }
            }
        } catch (SocketException e) {
            // The interface has just gone.
        }
    }

    private static boolean isVersion6(Found each) {
        return !(each.address() instanceof Inet4Address);
    }

    private static InetAddress literal(String text) {
        try {
            return InetAddress.ofLiteral(text);
        } catch (IllegalArgumentException noAddress) {
            return null;
        }
    }

    /**
     * Those that are there now, or of them the one that is named, or those of the interface that is: of IPv4 first, so
     * that each has the same place at any port, and of either kind those first that others can reach.
     *
     * @throws IllegalArgumentException when there is none that is named so
     */
    static LocalAddresses query(String named) {
        List<Found> found = found();
        found.removeIf(each -> !each.is(named));
        found.sort(Comparator.comparing(LocalAddresses::isVersion6).thenComparing(Found::loopback));
        LocalAddresses all = new LocalAddresses(
                        found.stream().map(Found::address).toList(),
                        found.stream().mapToInt(Found::mtu).toArray())
                .thatCanBeBound();
        if (all.count() > 0) {
            return all;
        }
        if (named != null) {
            throw new IllegalArgumentException(
                    "org.rdmapanama.soft.address is an address of this machine, but not a link-local one, or the name of an"
                            + " interface that is up and has one, not '" + named + "'");
        }
        return new LocalAddresses(List.of(InetAddress.getLoopbackAddress()), LOOPBACK_MTU);
    }

    int count() {
        return high.length;
    }

    /** Of the interfaces that others are reached by, in bytes: the smallest. */
    int mtu() {
        int least = Integer.MAX_VALUE;
        for (int i = 0; i < mtus.length; i++) {
            least = addresses.get(i).isLoopbackAddress() ? least : Math.min(least, mtus[i]);
        }
        return least == Integer.MAX_VALUE ? ETHERNET_MTU : least;
    }

    /** Of the interface of an address. */
    int mtu(int index) {
        return mtus[index];
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

    /** Whether a GID is that of a group. */
    static boolean isGroup(long gidHigh, long gidLow) {
        return isVersion4(gidHigh, gidLow) ? (int) gidLow >>> 28 == IPV4_GROUP : gidHigh >>> 56 == IPV6_GROUP;
    }

    static boolean isVersion4(long gidHigh, long gidLow) {
        return gidHigh >>> 16 == 0 && gidLow >>> 32 == MAPPED >>> 32;
    }
}
