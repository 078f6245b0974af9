package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What a device can do with raw packets, {@code enum ibv_raw_packet_caps}; see {@link
 * DeviceAttributes#rawPacketCapabilities()}.
 */
public enum RawPacketCapability {
    /** The customer VLAN tag of a received packet is moved to its completion. */
    CVLAN_STRIPPING(rdma_h.IBV_RAW_PACKET_CAP_CVLAN_STRIPPING()),
    /** Received packets can be delivered with their frame check sequence. */
    SCATTER_FCS(rdma_h.IBV_RAW_PACKET_CAP_SCATTER_FCS()),
    /** Checksums of IP are computed for packets sent and checked on those received. */
    IP_CSUM(rdma_h.IBV_RAW_PACKET_CAP_IP_CSUM()),
    /** A work queue without receives can delay the dropping of packets. */
    DELAY_DROP(rdma_h.IBV_RAW_PACKET_CAP_DELAY_DROP());

    private final int code;

    RawPacketCapability(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
