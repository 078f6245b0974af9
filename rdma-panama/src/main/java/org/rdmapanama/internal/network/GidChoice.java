package org.rdmapanama.internal.network;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.GidType;

/**
 * Chooses a GID of a table when the caller has not. The table has the addresses of all network interfaces on a port,
 * including VLANs and other interfaces on top of it, and those assigned to containers.
 */
public final class GidChoice {
    private static final int LONGEST_PREFIX = 128;

    /** Distances. A subnet that contains the peer is nearer. */
    private static final int SOURCE = LONGEST_PREFIX + 1;

    private static final int SAME_INTERFACE = SOURCE + 1;
    private static final int ELSEWHERE = SAME_INTERFACE + 1;

    private static final String CURE = "choose another GID on one side with ConnectOptions.gidIndex, or pass the"
            + " peer's endpoint with ConnectOptions.remote on the side that creates its endpoint second";

    private final Network network;
    private final List<Network.Address> addresses;
    private final InetAddress peer;
    private final InetAddress source;
    private final Map<Integer, Boolean> present = new HashMap<>();

    private GidChoice(Network network, InetAddress peer) {
        this.network = network;
        this.peer = peer;
        addresses = network.addresses();
        source = peer == null ? null : network.sourceTo(peer);
    }

    /**
     * Returns the best entry of a port's table.
     *
     * @param peer the peer's address, or null if it is not known
     * @param remote the peer's endpoint, or null
     */
    public static Optional<GidEntry> best(List<GidEntry> table, InetAddress peer, Endpoint remote, Network network) {
        List<GidEntry> filled = table.stream()
                .filter(entry -> !entry.gid().isZero())
                .sorted(Comparator.comparingInt(GidChoice::rank).thenComparingInt(GidEntry::index))
                .toList();
        if (filled.isEmpty() || !asksTheNetwork(filled, peer, remote)) {
            return filled.stream().findFirst();
        }
        GidChoice choice = new GidChoice(network, addressOf(peer, remote));
        // Among equal entries the first wins.
        return filled.stream()
                .min(Comparator.comparing((GidEntry entry) -> !choice.isHere(entry))
                        .thenComparing(entry -> remote != null && obstacle(entry, remote) != null)
                        .thenComparingInt(choice::distance)
                        .thenComparing(entry -> !choice.isSource(entry)));
    }

    /**
     * Whether the choice depends on the network. Examining it takes a while on a machine with many interfaces, and most
     * tables have one IP address and one link-local address.
     */
    private static boolean asksTheNetwork(List<GidEntry> filled, InetAddress peer, Endpoint remote) {
        if (filled.getFirst().type() == GidType.IB) {
            return false;
        }
        long interfaces =
                filled.stream().mapToInt(GidEntry::netDeviceIndex).distinct().count();
        long ipAddresses = filled.stream()
                .map(GidEntry::gid)
                .filter(gid -> !gid.isLinkLocal())
                .distinct()
                .count();
        boolean told = peer != null || remote != null;
        return told ? filled.size() > 1 : interfaces > 1 || (ipAddresses > 1 && hasInterfaces(filled));
    }

    private static boolean hasInterfaces(List<GidEntry> filled) {
        return filled.stream().anyMatch(entry -> entry.netDeviceIndex() != 0);
    }

    /**
     * Returns the source address of the peer's packets: its GID, unless that is local to an unknown link. Returns null
     * if it is not known. A loopback address only says that the peer is on this machine, which any address reaches.
     */
    private static InetAddress addressOf(InetAddress peer, Endpoint remote) {
        boolean told = remote != null
                && !remote.gid().isZero()
                && (peer == null || !remote.gid().isLinkLocal());
        InetAddress address = told ? ipAddress(remote.gid()) : peer;
        return address == null || address.isLoopbackAddress() ? null : address;
    }

    /** Returns the rank of an entry; lower is better. On InfiniBand all are equal, and the first wins. */
    private static int rank(GidEntry entry) {
        if (entry.type() == GidType.IB) {
            return 0;
        }
        int version = entry.type() == GidType.ROCE_V2 ? 0 : 3;
        if (entry.gid().isIpv4Mapped()) {
            return version;
        }
        return version + (entry.gid().isLinkLocal() ? 2 : 1);
    }

    /**
     * Whether this process's network namespace has the address. Interfaces of two namespaces may have the same index,
     * so the index alone does not decide. The port's own link-local address need not be one of its interface.
     */
    private boolean isHere(GidEntry entry) {
        if (entry.netDeviceIndex() == 0) {
            return true;
        }
        if (!present.computeIfAbsent(entry.netDeviceIndex(), network::hasInterface)) {
            return false;
        }
        // A virtual machine that is configured for IPv4 only does not list other addresses.
        Class<?> version = ipAddress(entry.gid()).getClass();
        return entry.gid().isLinkLocal()
                || addresses.stream().noneMatch(each -> version.isInstance(each.address()))
                || addresses.stream().anyMatch(each -> isOf(entry, each));
    }

    private static boolean isOf(GidEntry entry, Network.Address address) {
        return (entry.netDeviceIndex() == 0 || entry.netDeviceIndex() == address.interfaceIndex())
                && address.address().equals(ipAddress(entry.gid()));
    }

    private boolean isSource(GidEntry entry) {
        return source != null && source.equals(ipAddress(entry.gid()));
    }

    /**
     * Returns how far the peer is from an entry; lower is better. An entry whose subnet contains the peer comes first,
     * the longest prefix before others; then the source address of the route to the peer; then entries of the same
     * interface.
     */
    private int distance(GidEntry entry) {
        if (peer == null) {
            return 0;
        }
        int prefix = -1;
        boolean sameInterface = false;
        for (Network.Address each : addresses) {
            boolean leadsToPeer = contains(each, peer);
            if (leadsToPeer && isOf(entry, each)) {
                prefix = Math.max(prefix, each.prefixLength());
            }
            sameInterface |= entry.netDeviceIndex() == each.interfaceIndex()
                    && (leadsToPeer || each.address().equals(source));
        }
        if (prefix >= 0) {
            return LONGEST_PREFIX - prefix;
        }
        if (isSource(entry)) {
            return SOURCE;
        }
        return sameInterface ? SAME_INTERFACE : ELSEWHERE;
    }

    private static boolean contains(Network.Address subnet, InetAddress peer) {
        byte[] own = subnet.address().getAddress();
        byte[] other = peer.getAddress();
        if (subnet.prefixLength() <= 0 || own.length != other.length || !isSameLink(subnet, peer)) {
            return false;
        }
        for (int bit = 0; bit < Math.min(subnet.prefixLength(), own.length * Byte.SIZE); bit++) {
            int mask = 0x80 >>> bit % Byte.SIZE;
            if (((own[bit / Byte.SIZE] ^ other[bit / Byte.SIZE]) & mask) != 0) {
                return false;
            }
        }
        return true;
    }

    /** The peer's link-local address may name the interface through which it was seen. */
    private static boolean isSameLink(Network.Address subnet, InetAddress peer) {
        return !(peer instanceof Inet6Address version6)
                || version6.getScopeId() == 0
                || version6.getScopeId() == subnet.interfaceIndex();
    }

    /** Returns why a peer certainly cannot be reached from a GID, and the cure; null if there is no such reason. */
    public static String obstacle(GidEntry local, Endpoint remote) {
        boolean roce = local.type() == GidType.ROCE_V1 || local.type() == GidType.ROCE_V2;
        if (remote.gidType() != GidType.UNKNOWN
                && local.type() != GidType.UNKNOWN
                && remote.gidType() != local.type()) {
            return "this side's " + describe(local) + " is of type " + local.type() + " and the peer's GID "
                    + remote.gid() + " is of type " + remote.gidType() + ", which cannot reach each other; " + CURE;
        }
        if (roce && remote.gid().isZero()) {
            return "the peer's endpoint has no GID, and Ethernet needs one; make the peer's program use one"
                    + " (option -g of the C programs)";
        }
        if (local.type() == GidType.ROCE_V2
                && !remote.gid().isMulticast()
                && carriesIpv4(local.gid()) != carriesIpv4(remote.gid())) {
            return "this side's " + describe(local) + " is " + version(local.gid()) + " and the peer's GID "
                    + remote.gid() + " is " + version(remote.gid()) + ", which cannot reach each other; " + CURE;
        }
        return null;
    }

    /**
     * Returns why a peer that was met at an address is not where its GID leads, and the cure; null if it may be there. A
     * loopback address leads to this machine only.
     *
     * @param peer the peer's address, or null if it is not known
     */
    public static String obstacleOfLoopback(Endpoint remote, InetAddress peer, Network network) {
        if (peer == null
                || peer.isLoopbackAddress()
                || remote.gid().isZero()
                || !ipAddress(remote.gid()).isLoopbackAddress()
                || peer.equals(network.sourceTo(peer))) {
            return null;
        }
        return "the peer is at " + peer.getHostAddress() + ", and its GID " + remote.gid() + " is a loopback address,"
                + " which leads to this machine only; soft0 has other addresses if both sides start with"
                + " -Dorg.rdmapanama.soft.address=all";
    }

    /**
     * Whether a GID contains an IPv4 address: mapped, or in the form of soft0 with another UDP port than RoCE's, which
     * then comes first.
     */
    public static boolean carriesIpv4(Gid gid) {
        return gid.subnetPrefix() >>> 16 == 0 && gid.interfaceId() >>> 32 == 0xffff;
    }

    /** Returns the IP address that a GID contains on RoCE. */
    private static InetAddress ipAddress(Gid gid) {
        return (carriesIpv4(gid) ? new Gid(0, gid.interfaceId()) : gid).toInetAddress();
    }

    private static String describe(GidEntry entry) {
        return "GID " + entry.gid() + " (index " + entry.index() + " of port " + entry.port() + ")";
    }

    private static String version(Gid gid) {
        return carriesIpv4(gid) ? "IPv4" : "IPv6";
    }
}
