package org.rdmapanama.queue;

import org.rdmapanama.ffm.verbs.rdma_h;

/** How a work queue treats packets, {@code enum ibv_wq_flags}; see ibv_create_wq(3). */
public enum WorkQueueFlag {
    /** The customer VLAN tag is removed from packets. */
    CVLAN_STRIPPING(rdma_h.IBV_WQ_FLAGS_CVLAN_STRIPPING()),
    /** The frame check sequence is also written to memory. */
    SCATTER_FCS(rdma_h.IBV_WQ_FLAGS_SCATTER_FCS()),
    /** A packet for which no receive is posted is not dropped immediately. */
    DELAY_DROP(rdma_h.IBV_WQ_FLAGS_DELAY_DROP()),
    /** Writes to memory are padded to whole cache lines. */
    PCI_WRITE_END_PADDING(rdma_h.IBV_WQ_FLAGS_PCI_WRITE_END_PADDING());

    private final int code;

    WorkQueueFlag(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
