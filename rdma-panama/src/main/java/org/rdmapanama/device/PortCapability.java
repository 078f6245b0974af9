package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What a port can do, {@code enum ibv_port_cap_flags}; see {@link PortAttributes#capabilities()} and ibv_query_port(3).
 */
public enum PortCapability {
    /** A subnet manager runs here. */
    SM(rdma_h.IBV_PORT_SM()),
    /** Notices. */
    NOTICE_SUP(rdma_h.IBV_PORT_NOTICE_SUP()),
    /** Traps. */
    TRAP_SUP(rdma_h.IBV_PORT_TRAP_SUP()),
    /** Optional values of the inter-packet delay. */
    OPT_IPD_SUP(rdma_h.IBV_PORT_OPT_IPD_SUP()),
    /** Connections can move to their alternate path by themselves. */
    AUTO_MIGR_SUP(rdma_h.IBV_PORT_AUTO_MIGR_SUP()),
    /** Service levels are mapped to virtual lanes. */
    SL_MAP_SUP(rdma_h.IBV_PORT_SL_MAP_SUP()),
    /** The M_Key survives a loss of power. */
    MKEY_NVRAM(rdma_h.IBV_PORT_MKEY_NVRAM()),
    /** P_Keys survive a loss of power. */
    PKEY_NVRAM(rdma_h.IBV_PORT_PKEY_NVRAM()),
    /** Its LED can be controlled. */
    LED_INFO_SUP(rdma_h.IBV_PORT_LED_INFO_SUP()),
    /** System image GUID. */
    SYS_IMAGE_GUID_SUP(rdma_h.IBV_PORT_SYS_IMAGE_GUID_SUP()),
    /** Traps of a switch for wrong P_Keys at external ports. */
    PKEY_SW_EXT_PORT_TRAP_SUP(rdma_h.IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP()),
    /** Extended link speeds: FDR and above. */
    EXTENDED_SPEEDS_SUP(rdma_h.IBV_PORT_EXTENDED_SPEEDS_SUP()),
    /** There is a second set: {@link PortAttributes#extendedCapabilities()}. */
    CAP_MASK2_SUP(rdma_h.IBV_PORT_CAP_MASK2_SUP()),
    /** Communication management. */
    CM_SUP(rdma_h.IBV_PORT_CM_SUP()),
    /** SNMP over InfiniBand. */
    SNMP_TUNNEL_SUP(rdma_h.IBV_PORT_SNMP_TUNNEL_SUP()),
    /** The node can be initialized again. */
    REINIT_SUP(rdma_h.IBV_PORT_REINIT_SUP()),
    /** Device management. */
    DEVICE_MGMT_SUP(rdma_h.IBV_PORT_DEVICE_MGMT_SUP()),
    /** Vendor specific management classes. */
    VENDOR_CLASS_SUP(rdma_h.IBV_PORT_VENDOR_CLASS_SUP()),
    /** Directed route notices. */
    DR_NOTICE_SUP(rdma_h.IBV_PORT_DR_NOTICE_SUP()),
    /** Notices when this set changes. */
    CAP_MASK_NOTICE_SUP(rdma_h.IBV_PORT_CAP_MASK_NOTICE_SUP()),
    /** Boot management. */
    BOOT_MGMT_SUP(rdma_h.IBV_PORT_BOOT_MGMT_SUP()),
    /** The latency of the link can be measured. */
    LINK_LATENCY_SUP(rdma_h.IBV_PORT_LINK_LATENCY_SUP()),
    /** Clients can be asked to register again. */
    CLIENT_REG_SUP(rdma_h.IBV_PORT_CLIENT_REG_SUP()),
    /** GIDs are made of IP addresses, as on RoCE. */
    IP_BASED_GIDS(rdma_h.IBV_PORT_IP_BASED_GIDS());

    private final int code;

    PortCapability(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
