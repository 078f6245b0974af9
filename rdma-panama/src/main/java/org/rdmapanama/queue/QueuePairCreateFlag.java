package org.rdmapanama.queue;

import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** An option of a queue pair, {@code enum ibv_qp_create_flags}; see ibv_create_qp_ex(3). */
public enum QueuePairCreateFlag {
    /** Datagrams that it sends to a multicast group do not come back to it. */
    BLOCK_SELF_MCAST_LB(rdma_h.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB()),
    /** The frame check sequence of each raw packet is received after the packet. */
    SCATTER_FCS(rdma_h.IBV_QP_CREATE_SCATTER_FCS()),
    /** The customer VLAN tag is removed from received raw packets. */
    CVLAN_STRIPPING(rdma_h.IBV_QP_CREATE_CVLAN_STRIPPING()),
    /** It sends under another number; set by {@link QueuePairOptions#sourceQueuePair}. */
    SOURCE_QPN(rdma_h.IBV_QP_CREATE_SOURCE_QPN()),
    /** What the device writes is padded to whole cache lines. */
    PCI_WRITE_END_PADDING(rdma_h.IBV_QP_CREATE_PCI_WRITE_END_PADDING());

    private static final QueuePairCreateFlag[] VALUES = values();

    private final int code;

    QueuePairCreateFlag(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant
     * @throws IllegalArgumentException when there is none
     */
    public static QueuePairCreateFlag of(int code) {
        return Codes.require(VALUES, QueuePairCreateFlag::code, code);
    }
}
