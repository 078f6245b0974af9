package org.rdmapanama.address;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.rdmapanama.device.PortAttributes;
import org.rdmapanama.device.Rate;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.internal.AddressStructs;

/**
 * The path to a peer, {@code struct ibv_ah_attr}; see ibv_create_ah(3).
 *
 * @param port local port, from 1; 0 if none is set
 * @param lid local identifier of the peer's port on InfiniBand, otherwise 0
 * @param global whether packets carry a global routing header; always on RoCE
 * @param destination the peer's GID, when global
 * @param sourceGidIndex index of this side's address in the port's GID table, when global
 * @param hopLimit how many routers packets may pass, 0 to 255, when global
 * @param trafficClass DSCP and ECN bits, 0 to 255, when global
 * @param flowLabel 20 bits, when global
 * @param serviceLevel InfiniBand service level, or Ethernet priority, 0 to 15
 * @param sourcePathBits low bits of the LID, among those of this port, that packets come from, 0 to 127; see {@link
 *     PortAttributes#lidMaskControl()}
 * @param staticRate the maximum rate of this path; {@link Rate#MAX} for no limit
 */
public record AddressVector(
        int port,
        int lid,
        boolean global,
        Gid destination,
        int sourceGidIndex,
        int hopLimit,
        int trafficClass,
        int flowLabel,
        int serviceLevel,
        int sourcePathBits,
        Rate staticRate) {
    private static final int DEFAULT_HOP_LIMIT = 64;

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException when a number is out of its range
     * @throws NullPointerException when the destination or the rate is null
     */
    public AddressVector {
        check("port", port, 0, 255);
        check("LID", lid, 0, 0xffff);
        check("source GID index", sourceGidIndex, 0, 255);
        check("hop limit", hopLimit, 0, 255);
        check("traffic class", trafficClass, 0, 255);
        check("flow label", flowLabel, 0, 0xf_ffff);
        check("service level", serviceLevel, 0, 15);
        check("source path bits", sourcePathBits, 0, 127);
        Objects.requireNonNull(destination, "destination");
        Objects.requireNonNull(staticRate, "staticRate");
    }

    /**
     * Creates a path without source path bits and without a rate limit, which suits nearly every peer.
     *
     * @param port local port, from 1; 0 if none is set
     * @param lid local identifier of the peer's port on InfiniBand, otherwise 0
     * @param global whether packets carry a global routing header; always on RoCE
     * @param destination the peer's GID, when global
     * @param sourceGidIndex index of this side's address in the port's GID table, when global
     * @param hopLimit how many routers packets may pass, 0 to 255, when global
     * @param trafficClass DSCP and ECN bits, 0 to 255, when global
     * @param flowLabel 20 bits, when global
     * @param serviceLevel InfiniBand service level, or Ethernet priority, 0 to 15
     * @throws IllegalArgumentException when a number is out of its range
     * @throws NullPointerException when the destination is null
     */
    public AddressVector(
            int port,
            int lid,
            boolean global,
            Gid destination,
            int sourceGidIndex,
            int hopLimit,
            int trafficClass,
            int flowLabel,
            int serviceLevel) {
        this(
                port,
                lid,
                global,
                destination,
                sourceGidIndex,
                hopLimit,
                trafficClass,
                flowLabel,
                serviceLevel,
                0,
                Rate.MAX);
    }

    private static void check(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " must be between " + min + " and " + max + ": " + value);
        }
    }

    /**
     * Returns a path by GID, as RoCE needs it.
     *
     * @param port local port, from 1
     * @param sourceGidIndex index of this side's address in the port's GID table
     * @param destination the peer's GID
     * @return the path, with a hop limit of 64 and everything else 0
     * @throws IllegalArgumentException when a number is out of its range
     */
    public static AddressVector toGid(int port, int sourceGidIndex, Gid destination) {
        return new AddressVector(port, 0, true, destination, sourceGidIndex, DEFAULT_HOP_LIMIT, 0, 0, 0);
    }

    /**
     * Returns a path by LID, within one InfiniBand subnet.
     *
     * @param port local port, from 1
     * @param lid the peer's LID
     * @return the path
     * @throws IllegalArgumentException when a number is out of its range
     */
    public static AddressVector toLid(int port, int lid) {
        return new AddressVector(port, lid, false, Gid.ZERO, 0, 0, 0, 0, 0);
    }

    /**
     * Returns this path with a rate limit.
     *
     * @param rate the maximum rate, {@link Rate#MAX} for no limit
     * @return a new path
     * @throws NullPointerException when the rate is null
     */
    @CheckReturnValue
    public AddressVector withStaticRate(Rate rate) {
        return with(sourcePathBits, rate);
    }

    /**
     * Returns this path from another LID of the local port.
     *
     * @param bits low bits of the LID, 0 to 127
     * @return a new path
     * @throws IllegalArgumentException when the number is out of its range
     */
    @CheckReturnValue
    public AddressVector withSourcePathBits(int bits) {
        return with(bits, staticRate);
    }

    private AddressVector with(int pathBits, Rate rate) {
        return new AddressVector(
                port,
                lid,
                global,
                destination,
                sourceGidIndex,
                hopLimit,
                trafficClass,
                flowLabel,
                serviceLevel,
                pathBits,
                rate);
    }

    /**
     * Returns the UDP source port of RoCE version 2 packets on this path, for devices that derive it from the flow
     * label; see {@code ibv_flow_label_to_udp_sport}. Switches use it to spread packets over links.
     *
     * @return 0xc000 to 0xffff
     *
     * @verb ibv_flow_label_to_udp_sport
     */
    public int udpSourcePort() {
        int low = flowLabel & 0x3fff;
        int high = flowLabel >>> 14;
        return (low ^ high) | 0xc000;
    }

    /**
     * Returns a path that other native code has written, such as the one in an event of librdmacm.
     *
     * @param struct a {@code struct ibv_ah_attr}
     * @return the path
     * @throws IllegalArgumentException when the memory does not have the alignment of the structure, or a field is out
     *     of its range
     * @throws IndexOutOfBoundsException when the memory is smaller than the structure
     * @throws NullPointerException when the memory is null
     */
    @CheckReturnValue
    public static AddressVector ofNative(MemorySegment struct) {
        return AddressStructs.readVector(struct.asSlice(0, ibv_ah_attr.layout()));
    }
}
