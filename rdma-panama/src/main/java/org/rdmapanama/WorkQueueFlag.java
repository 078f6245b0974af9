package org.rdmapanama;

import java.util.Collection;
import org.rdmapanama.ffm.verbs.rdma_h;

/** What a work queue does with packets, {@code enum ibv_wq_flags}; see ibv_create_wq(3). */
public enum WorkQueueFlag {
    /** The customer VLAN tag is taken out of packets. */
    CVLAN_STRIPPING(rdma_h.IBV_WQ_FLAGS_CVLAN_STRIPPING()),
    /** The frame check sequence is written to memory as well. */
    SCATTER_FCS(rdma_h.IBV_WQ_FLAGS_SCATTER_FCS()),
    /** A packet for which no receive is posted is not dropped at once. */
    DELAY_DROP(rdma_h.IBV_WQ_FLAGS_DELAY_DROP()),
    /** Writes to memory are padded to whole cache lines. */
    PCI_WRITE_END_PADDING(rdma_h.IBV_WQ_FLAGS_PCI_WRITE_END_PADDING());

    private final int code;

    WorkQueueFlag(int code) {
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

    /** The set of flags as C takes it. */
    static int mask(Collection<WorkQueueFlag> flags) {
        int mask = 0;
        for (WorkQueueFlag flag : flags) {
            mask |= flag.code;
        }
        return mask;
    }
}
