package org.rdmapanama.device;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.ffm.verbs.ibv_port_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.Snapshots;

/**
 * State and abilities of a port: a snapshot of {@code struct ibv_port_attr}; see ibv_query_port(3). Safe for use by
 * any thread.
 */
public final class PortAttributes {
    private final int port;
    private final MemorySegment attributes;

    private PortAttributes(int port, MemorySegment snapshot) {
        this.port = port;
        attributes = snapshot;
    }

    /**
     * Copies the attributes that native code has read of a port.
     *
     * @param port its number, from 1
     * @param struct a {@code struct ibv_port_attr}; it is not used after this call
     * @return the attributes
     */
    public static PortAttributes ofNative(int port, MemorySegment struct) {
        return new PortAttributes(port, Snapshots.copy(struct));
    }

    /** {@return the port number, from 1} */
    public int port() {
        return port;
    }

    /** {@return the state of the link} */
    public PortState state() {
        return PortState.of(ibv_port_attr.state(attributes));
    }

    /** {@return the largest path MTU that the port supports, or null if the port does not report it} */
    public @Nullable Mtu maxMtu() {
        return mtu(ibv_port_attr.max_mtu(attributes));
    }

    /** {@return the path MTU that the port uses now, or null if the port does not report it} */
    public @Nullable Mtu activeMtu() {
        return mtu(ibv_port_attr.active_mtu(attributes));
    }

    /** {@return the link layer} */
    public LinkLayer linkLayer() {
        return LinkLayer.of(Byte.toUnsignedInt(ibv_port_attr.link_layer(attributes)));
    }

    /** {@return the size of the longest message, in bytes} */
    public long maxMessageSize() {
        return Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(attributes));
    }

    /** {@return the number of entries of the GID table} */
    public int gidTableLength() {
        return ibv_port_attr.gid_tbl_len(attributes);
    }

    /**
     * {@return the capabilities that have a constant, an unmodifiable set. {@link #capabilityFlags()} returns all bits}
     */
    public Set<PortCapability> capabilities() {
        return Codes.flags(PortCapability.class, PortCapability::code, capabilityFlags());
    }

    /**
     * {@return the second set of capabilities, as far as they have a constant, an unmodifiable set. {@link
     * #capabilityMask2()} returns all bits}
     */
    public Set<ExtendedPortCapability> extendedCapabilities() {
        return Codes.flags(ExtendedPortCapability.class, ExtendedPortCapability::code, capabilityMask2());
    }

    /** {@return all bits of {@code enum ibv_port_cap_flags}, which {@link #capabilities()} uses} */
    public int capabilityFlags() {
        return ibv_port_attr.port_cap_flags(attributes);
    }

    /** {@return the number of packets with a wrong P_Key since the counter was reset, unsigned} */
    public int badPkeyCounter() {
        return ibv_port_attr.bad_pkey_cntr(attributes);
    }

    /** {@return the number of packets with a wrong Q_Key since the counter was reset, unsigned} */
    public int qkeyViolationCounter() {
        return ibv_port_attr.qkey_viol_cntr(attributes);
    }

    /** {@return the number of entries of the P_Key table} */
    public int pkeyTableLength() {
        return Short.toUnsignedInt(ibv_port_attr.pkey_tbl_len(attributes));
    }

    /** {@return the local identifier on InfiniBand, 0 to 65535; 0 on Ethernet} */
    public int lid() {
        return Short.toUnsignedInt(ibv_port_attr.lid(attributes));
    }

    /** {@return the local identifier of the subnet manager, 0 to 65535} */
    public int subnetManagerLid() {
        return Short.toUnsignedInt(ibv_port_attr.sm_lid(attributes));
    }

    /**
     * {@return the number of low bits of the LID that choose a path, 0 to 7; see {@link
     * AddressVector#sourcePathBits()}}
     */
    public int lidMaskControl() {
        return Byte.toUnsignedInt(ibv_port_attr.lmc(attributes));
    }

    /**
     * {@return the coded number of virtual lanes: 1 is 1 lane, 2 is 2, 3 is 4, 4 is 8, 5 is 15; 0 if it is not known}
     */
    public int maxVirtualLanes() {
        return Byte.toUnsignedInt(ibv_port_attr.max_vl_num(attributes));
    }

    /** {@return the service level of the subnet manager} */
    public int subnetManagerServiceLevel() {
        return Byte.toUnsignedInt(ibv_port_attr.sm_sl(attributes));
    }

    /** {@return the subnet propagation delay, as the exponent n, 0 to 31, in 4.096 microseconds * 2<sup>n</sup>} */
    public int subnetTimeout() {
        return Byte.toUnsignedInt(ibv_port_attr.subnet_timeout(attributes));
    }

    /** {@return the number that says what the subnet manager did when it initialized the port} */
    public int initTypeReply() {
        return Byte.toUnsignedInt(ibv_port_attr.init_type_reply(attributes));
    }

    /**
     * {@return the coded width of the link, 8 bits: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x, 16 is 2x; see {@link
     * #lanes()}}
     */
    public int activeWidth() {
        return Byte.toUnsignedInt(ibv_port_attr.active_width(attributes));
    }

    /**
     * {@return the coded speed of a lane: 1 is 2.5 Gb/s, 2 is 5, 4 and 8 are 10, 16 is 14, 32 is 25, 64 is 50, 128 is
     * 100, 256 is 200; see {@link #gigabitsPerSecondOfLane()}} It has 32 bits if the library and the driver know the
     * wide field, otherwise 8.
     */
    public int activeSpeed() {
        // Wider than a byte since rdma-core 49; older libraries leave it zero.
        int extended = ibv_port_attr.active_speed_ex(attributes);
        return extended != 0 ? extended : Byte.toUnsignedInt(ibv_port_attr.active_speed(attributes));
    }

    /** {@return the number of lanes of the link, 1, 2, 4, 8 or 12; 0 if the width is not known} */
    public int lanes() {
        return switch (activeWidth()) {
            case 1 -> 1;
            case 2 -> 4;
            case 4 -> 8;
            case 8 -> 12;
            case 16 -> 2;
            default -> 0;
        };
    }

    /**
     * {@return the nominal speed of one lane in gigabits (10<sup>9</sup> bits) per second, which may be some percent
     * below the signaling rate; 0 if it is not known}
     */
    public double gigabitsPerSecondOfLane() {
        return switch (activeSpeed()) {
            case 1 -> 2.5;
            case 2 -> 5;
            case 4, 8 -> 10;
            case 16 -> 14;
            case 32 -> 25;
            case 64 -> 50;
            case 128 -> 100;
            case 256 -> 200;
            default -> 0;
        };
    }

    /**
     * {@return the speed of the link in gigabits (10<sup>9</sup> bits) per second, the speed of a lane times the number
     * of lanes; 0 if width or speed is not known}
     */
    public double gigabitsPerSecond() {
        return lanes() * gigabitsPerSecondOfLane();
    }

    /** {@return the physical state: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 recovery, 7 test} */
    public int physicalState() {
        return Byte.toUnsignedInt(ibv_port_attr.phys_state(attributes));
    }

    /** {@return the flags, 8 bits, 1 if a global routing header is required; see {@link #grhRequired()}} */
    public int flags() {
        return Byte.toUnsignedInt(ibv_port_attr.flags(attributes));
    }

    /**
     * {@return whether an InfiniBand port requires a global routing header, so that each path must be {@link
     * AddressVector#global()}} On Ethernet packets always have one, and this need not be set.
     */
    public boolean grhRequired() {
        return (flags() & rdma_h.IB_UVERBS_QPF_GRH_REQUIRED()) != 0;
    }

    /** {@return all 16 bits of {@code enum ibv_port_cap_flags2}, which {@link #extendedCapabilities()} uses} */
    public int capabilityMask2() {
        return Short.toUnsignedInt(ibv_port_attr.port_cap_flags2(attributes));
    }

    /** {@return whether the port is active, so that messages can move} */
    public boolean isUp() {
        return state() == PortState.ACTIVE || state() == PortState.ACTIVE_DEFER;
    }

    /** Returns null for a port that does not tell its MTU. */
    private static @Nullable Mtu mtu(int code) {
        return Codes.find(Mtu.values(), Mtu::code, code, null);
    }

    /** Number, state, link layer, path MTU, LID, size of the GID table and speed. */
    @Override
    public String toString() {
        return "port " + port + ", " + state() + ", " + linkLayer() + ", path MTU " + bytes(activeMtu())
                + " of at most "
                + bytes(maxMtu()) + ", LID " + lid() + ", GID table of " + gidTableLength() + ", "
                + (gigabitsPerSecond() == 0 ? "unknown speed" : gigabitsPerSecond() + " Gb/s");
    }

    private static String bytes(@Nullable Mtu mtu) {
        return mtu == null ? "unknown" : String.valueOf(mtu.bytes());
    }
}
