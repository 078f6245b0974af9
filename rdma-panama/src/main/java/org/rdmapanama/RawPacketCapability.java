package org.rdmapanama;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** What a device does with raw packets, {@code enum ibv_raw_packet_caps}; see
 * {@link DeviceAttributes#rawPacketCapabilities()}. */
public enum RawPacketCapability {
    /** The customer VLAN tag of a received packet is taken out and put into its completion. */
    CVLAN_STRIPPING(rdma_h.IBV_RAW_PACKET_CAP_CVLAN_STRIPPING()),
    /** Received packets can be delivered with their frame check sequence. */
    SCATTER_FCS(rdma_h.IBV_RAW_PACKET_CAP_SCATTER_FCS()),
    /** Checksums of IP are computed for packets sent and checked on those received. */
    IP_CSUM(rdma_h.IBV_RAW_PACKET_CAP_IP_CSUM()),
    /** A work queue without receives can delay the dropping of packets. */
    DELAY_DROP(rdma_h.IBV_RAW_PACKET_CAP_DELAY_DROP());

    private static final RawPacketCapability[] VALUES = values();

    private final int code;

    RawPacketCapability(int code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code verbs.h}
     */
    public int code() {
        return code;
    }

    /** The flags of a set as C gives it, unmodifiable; bits that have no constant are left out. */
    static Set<RawPacketCapability> of(int mask) {
        Set<RawPacketCapability> flags = EnumSet.noneOf(RawPacketCapability.class);
        for (RawPacketCapability flag : VALUES) {
            if ((mask & flag.code) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }
}
