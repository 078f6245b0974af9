package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_port_attr;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * State and abilities of a port: a snapshot of {@code struct ibv_port_attr}; see ibv_query_port(3). Safe for use by
 * any thread.
 */
public final class PortAttributes {
    private final int port;
    private final MemorySegment attributes;

    PortAttributes(int port, MemorySegment snapshot) {
        this.port = port;
        attributes = Snapshots.copy(snapshot);
    }

    /**
     * Which port this is.
     *
     * @return its number, from 1
     */
    public int port() {
        return port;
    }

    /**
     * State of the link.
     *
     * @return the state
     */
    public PortState state() {
        return PortState.of(ibv_port_attr.state(attributes));
    }

    /**
     * Largest path MTU that the port supports.
     *
     * @return the MTU, or null when the port does not tell
     */
    public Mtu maxMtu() {
        return Mtu.orNull(ibv_port_attr.max_mtu(attributes));
    }

    /**
     * Path MTU that the port uses now.
     *
     * @return the MTU, or null when the port does not tell
     */
    public Mtu activeMtu() {
        return Mtu.orNull(ibv_port_attr.active_mtu(attributes));
    }

    /**
     * What the port runs on.
     *
     * @return the link layer
     */
    public LinkLayer linkLayer() {
        return LinkLayer.of(Byte.toUnsignedInt(ibv_port_attr.link_layer(attributes)));
    }

    /**
     * Longest message.
     *
     * @return its size in bytes
     */
    public long maxMessageSize() {
        return Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(attributes));
    }

    /**
     * Places in the GID table.
     *
     * @return the number
     */
    public int gidTableLength() {
        return ibv_port_attr.gid_tbl_len(attributes);
    }

    /**
     * What the port can do.
     *
     * @return the capabilities that have a constant, unmodifiable; {@link #capabilityFlags()} are all bits
     */
    public Set<PortCapability> capabilities() {
        return PortCapability.of(capabilityFlags());
    }

    /**
     * What the port can do, the second set.
     *
     * @return the capabilities that have a constant, unmodifiable; {@link #capabilityMask2()} are all bits
     */
    public Set<ExtendedPortCapability> extendedCapabilities() {
        return ExtendedPortCapability.of(capabilityMask2());
    }

    /**
     * Capabilities, bits of {@code enum ibv_port_cap_flags}: what {@link #capabilities()} is made of.
     *
     * @return bits
     */
    public int capabilityFlags() {
        return ibv_port_attr.port_cap_flags(attributes);
    }

    /**
     * Packets with a wrong P_Key, since the counter was reset.
     *
     * @return the number, unsigned
     */
    public int badPkeyCounter() {
        return ibv_port_attr.bad_pkey_cntr(attributes);
    }

    /**
     * Packets with a wrong Q_Key, since the counter was reset.
     *
     * @return the number, unsigned
     */
    public int qkeyViolationCounter() {
        return ibv_port_attr.qkey_viol_cntr(attributes);
    }

    /**
     * Places in the P_Key table.
     *
     * @return the number
     */
    public int pkeyTableLength() {
        return Short.toUnsignedInt(ibv_port_attr.pkey_tbl_len(attributes));
    }

    /**
     * Local identifier on InfiniBand, 0 on Ethernet.
     *
     * @return 0 to 65535
     */
    public int lid() {
        return Short.toUnsignedInt(ibv_port_attr.lid(attributes));
    }

    /**
     * Local identifier of the subnet manager.
     *
     * @return 0 to 65535
     */
    public int subnetManagerLid() {
        return Short.toUnsignedInt(ibv_port_attr.sm_lid(attributes));
    }

    /**
     * How many low bits of the LID choose a path: {@link AddressVector#sourcePathBits()}.
     *
     * @return 0 to 7
     */
    public int lidMaskControl() {
        return Byte.toUnsignedInt(ibv_port_attr.lmc(attributes));
    }

    /**
     * Virtual lanes, coded: 1 is 1 lane, 2 is 2, 3 is 4, 4 is 8, 5 is 15.
     *
     * @return the code, 0 when it is not known
     */
    public int maxVirtualLanes() {
        return Byte.toUnsignedInt(ibv_port_attr.max_vl_num(attributes));
    }

    /**
     * Service level of the subnet manager.
     *
     * @return the number
     */
    public int subnetManagerServiceLevel() {
        return Byte.toUnsignedInt(ibv_port_attr.sm_sl(attributes));
    }

    /**
     * Subnet propagation delay: 4.096 microseconds times two to this power.
     *
     * @return 0 to 31
     */
    public int subnetTimeout() {
        return Byte.toUnsignedInt(ibv_port_attr.subnet_timeout(attributes));
    }

    /**
     * What the subnet manager did when it initialised the port.
     *
     * @return the number
     */
    public int initTypeReply() {
        return Byte.toUnsignedInt(ibv_port_attr.init_type_reply(attributes));
    }

    /**
     * Width of the link, coded: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x, 16 is 2x; see {@link #lanes()}.
     *
     * @return 8 bits
     */
    public int activeWidth() {
        return Byte.toUnsignedInt(ibv_port_attr.active_width(attributes));
    }

    /**
     * Speed of a lane, coded: 1 is 2.5 Gb/s, 2 is 5, 4 and 8 are 10, 16 is 14, 32 is 25, 64 is 50, 128 is 100, 256 is
     * 200; see {@link #gigabitsPerSecondOfLane()}.
     *
     * @return the code, of 32 bits where the library and the driver know the wide field, else of 8
     */
    public int activeSpeed() {
        // Wider than a byte since rdma-core 49; older libraries leave it zero.
        int extended = ibv_port_attr.active_speed_ex(attributes);
        return extended != 0 ? extended : Byte.toUnsignedInt(ibv_port_attr.active_speed(attributes));
    }

    /**
     * Lanes of the link.
     *
     * @return 1, 2, 4, 8 or 12; 0 when the width is not known
     */
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
     * Speed of one lane, as it is called: what the link signals may be some percent more.
     *
     * @return gigabits (10<sup>9</sup> bits) a second; 0 when the speed is not known
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
     * Speed of the link: that of a lane times the lanes.
     *
     * @return gigabits (10<sup>9</sup> bits) a second; 0 when width or speed are not known
     */
    public double gigabitsPerSecond() {
        return lanes() * gigabitsPerSecondOfLane();
    }

    /**
     * Physical state: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 recovery, 7 test.
     *
     * @return the number
     */
    public int physicalState() {
        return Byte.toUnsignedInt(ibv_port_attr.phys_state(attributes));
    }

    /**
     * Flags; see {@link #grhRequired()}.
     *
     * @return 8 bits, 1 where a global routing header is required
     */
    public int flags() {
        return Byte.toUnsignedInt(ibv_port_attr.flags(attributes));
    }

    /**
     * Whether an InfiniBand port takes packets with a global routing header only. On Ethernet it is always there, and
     * this need not be set.
     *
     * @return true when each path must be {@link AddressVector#global()}
     */
    public boolean grhRequired() {
        return (flags() & rdma_h.IB_UVERBS_QPF_GRH_REQUIRED()) != 0;
    }

    /**
     * Further capabilities, bits of {@code enum ibv_port_cap_flags2}: what {@link #extendedCapabilities()} is made of.
     *
     * @return 16 bits
     */
    public int capabilityMask2() {
        return Short.toUnsignedInt(ibv_port_attr.port_cap_flags2(attributes));
    }

    /**
     * Whether messages can move.
     *
     * @return true when the port is active
     */
    public boolean isUp() {
        return state() == PortState.ACTIVE || state() == PortState.ACTIVE_DEFER;
    }

    /** Whether paths from here go by GID; the others go by LID. */
    boolean needsGid(NodeType nodeType) {
        return linkLayer() == LinkLayer.ETHERNET || grhRequired() || nodeType == NodeType.UNSPECIFIED;
    }
}
