package org.rdmapanama;

import java.lang.foreign.MemorySegment;
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
     * Capabilities, bits of {@code enum ibv_port_cap_flags}.
     *
     * @return the number
     */
    public int capabilityFlags() {
        return ibv_port_attr.port_cap_flags(attributes);
    }

    /**
     * Packets with a wrong P_Key.
     *
     * @return the number
     */
    public int badPkeyCounter() {
        return ibv_port_attr.bad_pkey_cntr(attributes);
    }

    /**
     * Packets with a wrong Q_Key.
     *
     * @return the number
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
     * @return the number
     */
    public int lid() {
        return Short.toUnsignedInt(ibv_port_attr.lid(attributes));
    }

    /**
     * Local identifier of the subnet manager.
     *
     * @return the number
     */
    public int subnetManagerLid() {
        return Short.toUnsignedInt(ibv_port_attr.sm_lid(attributes));
    }

    /**
     * How many low bits of the LID choose a path.
     *
     * @return the number
     */
    public int lidMaskControl() {
        return Byte.toUnsignedInt(ibv_port_attr.lmc(attributes));
    }

    /**
     * Virtual lanes, coded as in the specification.
     *
     * @return the number
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
     * @return the number
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
     * Width of the link: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x, 16 is 2x.
     *
     * @return the number
     */
    public int activeWidth() {
        return Byte.toUnsignedInt(ibv_port_attr.active_width(attributes));
    }

    /**
     * Speed of a lane, coded as in the specification: 1 is 2.5 Gb/s, 2 is 5, 4 and 8 are 10, 16 is 14, 32 is 25, 64 is 50, 128 is 100, 256 is 200.
     *
     * @return the number
     */
    public int activeSpeed() {
        // Wider than a byte since rdma-core 49; older libraries leave it zero.
        int extended = ibv_port_attr.active_speed_ex(attributes);
        return extended != 0 ? extended : Byte.toUnsignedInt(ibv_port_attr.active_speed(attributes));
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
     * Flags, 1 where a GRH is required.
     *
     * @return the number
     */
    public int flags() {
        return Byte.toUnsignedInt(ibv_port_attr.flags(attributes));
    }

    /**
     * Further capabilities, bits of {@code enum ibv_port_cap_flags2}.
     *
     * @return the number
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
        return linkLayer() == LinkLayer.ETHERNET
                || (flags() & rdma_h.IB_UVERBS_QPF_GRH_REQUIRED()) != 0
                || nodeType == NodeType.UNSPECIFIED;
    }
}
