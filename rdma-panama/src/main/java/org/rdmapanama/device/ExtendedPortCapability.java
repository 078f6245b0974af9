package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What a port can do, the second set, {@code enum ibv_port_cap_flags2}; see
 * {@link PortAttributes#extendedCapabilities()} and ibv_query_port(3). */
public enum ExtendedPortCapability {
    /** The description of the node can be set. */
    SET_NODE_DESC_SUP(rdma_h.IBV_PORT_SET_NODE_DESC_SUP()),
    /** Extended information on ports. */
    INFO_EXT_SUP(rdma_h.IBV_PORT_INFO_EXT_SUP()),
    /** Virtual ports. */
    VIRT_SUP(rdma_h.IBV_PORT_VIRT_SUP()),
    /** A switch reports the state of all its ports at once. */
    SWITCH_PORT_STATE_TABLE_SUP(rdma_h.IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP()),
    /** Links of two lanes. */
    LINK_WIDTH_2X_SUP(rdma_h.IBV_PORT_LINK_WIDTH_2X_SUP()),
    /** Speed HDR, 50 Gb/s a lane. */
    LINK_SPEED_HDR_SUP(rdma_h.IBV_PORT_LINK_SPEED_HDR_SUP()),
    /** Speed NDR, 100 Gb/s a lane. */
    LINK_SPEED_NDR_SUP(rdma_h.IBV_PORT_LINK_SPEED_NDR_SUP()),
    /** Speed XDR, 200 Gb/s a lane. */
    LINK_SPEED_XDR_SUP(rdma_h.IBV_PORT_LINK_SPEED_XDR_SUP());

    private final int code;

    ExtendedPortCapability(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
