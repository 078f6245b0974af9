package org.rdmapanama.soft.net;

import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * The GID table of the device: one GID for each IP address that it uses (RoCEv2; IBA specification, annex A17). An
 * IPv4 address is in the last four bytes, after {@code ::ffff:}. {@link SoftDevice} builds it once when the device is
 * opened; after that it does not change, and any thread may read it.
 */
public final class LocalAddresses {
    private static final int LOOPBACK_MTU = 65536;
    private static final List<InetAddress> NONE = List.of();

    /** The first bits of a multicast address. */
    private final List<InetAddress> addresses;

    private final long[] high;
    private final long[] low;
    private final int[] mtus;

    /** Creates a table of addresses, each with the MTU of its interface. */
    public LocalAddresses(List<InetAddress> addresses, int... mtus) {
        this.addresses = List.copyOf(addresses);
        this.mtus = mtus.clone();
        high = new long[addresses.size()];
        low = new long[addresses.size()];
        for (int i = 0; i < high.length; i++) {
            high[i] = Gids.high(addresses.get(i));
            low[i] = Gids.low(addresses.get(i));
        }
    }

    /**
     * Returns the table for a device at a UDP port other than 4791. Each IPv4 GID then contains the port, {@code
     * ::PORT:0:ffff:a.b.c.d}, so that a process that gets the GID finds the device. IPv6 addresses have no room for the
     * port and are left out.
     */
    public LocalAddresses atPort(int port) {
        if (port == UdpFlow.ROCE_PORT) {
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

    /** Returns the addresses that sockets can be bound to. */
    public LocalAddresses thatCanBeBound() {
        return only(Wire::canBind);
    }

    public InetAddress address(int index) {
        return addresses.get(index);
    }

    /** Place of an address in the table, or -1. */
    public int indexOf(InetAddress address) {
        return addresses.indexOf(address);
    }

    private record Found(InetAddress address, String at, boolean loopback, int mtu) {
        boolean is(String named) {
            return named == null
                    ? address.isLoopbackAddress()
                    : named.equals(SoftSettings.ALL_ADDRESSES) || at.equals(named) || address.equals(literal(named));
        }
    }

    private static List<Found> found() {
        List<Found> found = new ArrayList<>();
        try {
            for (NetworkInterface each : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                addAll(found, each);
            }
        } catch (SocketException e) {
            // Continue with the addresses found so far.
        }
        return found;
    }

    private static void addAll(List<Found> found, NetworkInterface at) {
        try {
            boolean loopback = at.isLoopback();
            // On some systems the loopback interface reports no MTU.
            int mtu = loopback ? LOOPBACK_MTU : at.getMTU();
            for (InetAddress each : at.isUp() ? Collections.list(at.getInetAddresses()) : NONE) {
                // A link-local address is meaningless without its interface, so its GID cannot be passed on.
                if (!each.isLinkLocalAddress()) {
                    found.add(new Found(each, at.getName(), loopback, mtu));
                }
            }
        } catch (SocketException e) {
            // The interface has just disappeared.
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
     * Queries the current addresses of the machine that are to be used. IPv4 comes first, so that an address has the same
     * index at any port; within each family, loopback comes last.
     *
     * @param named what {@link SoftSettings#address} says
     * @throws IllegalArgumentException when no address matches one of the names
     */
    public static LocalAddresses query(String named) {
        List<Found> found = found();
        found.sort(Comparator.comparing(LocalAddresses::isVersion6).thenComparing(Found::loopback));
        if (named == null) {
            LocalAddresses loopback = those(found, each -> each.is(null));
            return loopback.count() > 0
                    ? loopback
                    : new LocalAddresses(List.of(InetAddress.getLoopbackAddress()), LOOPBACK_MTU);
        }
        List<String> names = Stream.of(named.split(",", -1)).map(String::strip).toList();
        for (String each : names) {
            if (those(found, address -> address.is(each)).count() == 0) {
                throw new IllegalArgumentException(SoftSettings.ADDRESS + " (or " + SoftSettings.ADDRESS_VARIABLE
                        + ") must be '" + SoftSettings.ALL_ADDRESSES + "', or addresses of this machine that are not"
                        + " link-local, or names of interfaces that are up and have such an address, separated by"
                        + " commas: '" + each + "'");
            }
        }
        return those(found, address -> names.stream().anyMatch(address::is));
    }

    private static LocalAddresses those(List<Found> found, Predicate<Found> which) {
        List<Found> those = found.stream().filter(which).toList();
        return new LocalAddresses(
                        those.stream().map(Found::address).toList(),
                        those.stream().mapToInt(Found::mtu).toArray())
                .thatCanBeBound();
    }

    /** Returns whether packets from one of the addresses can leave the machine or need not: those of the loopback stay. */
    public boolean leadsTo(int index, InetAddress destination) {
        return !address(index).isLoopbackAddress()
                || destination.isLoopbackAddress()
                || destination.isMulticastAddress()
                || Wire.canBind(destination)
                // Without a descriptor it cannot be told.
                || FreeDescriptors.check(1) < 0;
    }

    /** Whether others cannot reach this machine at any of the addresses. */
    public boolean areLoopback() {
        return addresses.stream().allMatch(InetAddress::isLoopbackAddress);
    }

    /** Returns the addresses as people write them. */
    @Override
    public String toString() {
        return addresses.stream().map(LocalAddresses::text).collect(Collectors.joining(", "));
    }

    private static String text(InetAddress address) {
        return address instanceof Inet6Address && address.isLoopbackAddress() ? "::1" : address.getHostAddress();
    }

    public int count() {
        return high.length;
    }

    /** Of the interfaces that others are reached by, in bytes: the smallest; that of the loopback takes as much as any. */
    public int mtu() {
        return IntStream.of(mtus).min().orElse(LOOPBACK_MTU);
    }

    /** Of the interface of an address. */
    public int mtu(int index) {
        return mtus[index];
    }

    /** What precedes the IPv4 addresses in their GIDs: the port, if it is not that of RoCEv2. */
    public long highOfVersion4() {
        for (int i = 0; i < high.length; i++) {
            if (Gids.isVersion4(high[i], low[i])) {
                return high[i];
            }
        }
        return 0;
    }

    /** Returns the index of a GID, or -1. */
    public int indexOf(long gidHigh, long gidLow) {
        for (int i = 0; i < high.length; i++) {
            if (high[i] == gidHigh && low[i] == gidLow) {
                return i;
            }
        }
        return -1;
    }

    /** Writes a GID as union ibv_gid. */
    public void writeGid(int index, long to) {
        Memory.putNetLong(to, high[index]);
        Memory.putNetLong(to + Long.BYTES, low[index]);
    }

    public long high(int index) {
        return high[index];
    }

    public long low(int index) {
        return low[index];
    }
}
