package org.rdmapanama.completion;

import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * A field of a completion that an {@link ExtendedCompletionQueue} can provide besides identifier, status, opcode and
 * flags, {@code enum ibv_create_cq_wc_flags}; see ibv_create_cq_ex(3). Fewer fields mean less work for the driver.
 */
public enum CompletionField {
    /** The length of the data: {@link PollCursor#byteLength}. */
    BYTE_LEN(rdma_h.IBV_WC_EX_WITH_BYTE_LEN()),
    /**
     * Immediate data or an invalidated key: {@link PollCursor#immediate} and
     * {@link PollCursor#invalidatedRkey}.
     */
    IMM(rdma_h.IBV_WC_EX_WITH_IMM()),
    /** The local queue pair: {@link PollCursor#queuePairNumber}. */
    QP_NUM(rdma_h.IBV_WC_EX_WITH_QP_NUM()),
    /** The queue pair that a datagram came from: {@link PollCursor#sourceQueuePair}. */
    SRC_QP(rdma_h.IBV_WC_EX_WITH_SRC_QP()),
    /** The local identifier that a datagram came from: {@link PollCursor#sourceLid}. */
    SLID(rdma_h.IBV_WC_EX_WITH_SLID()),
    /** The service level of a datagram: {@link PollCursor#serviceLevel}. */
    SL(rdma_h.IBV_WC_EX_WITH_SL()),
    /** The path bits of a datagram: {@link PollCursor#destinationPathBits}. */
    DLID_PATH_BITS(rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS()),
    /** The completion time by the device's clock: {@link PollCursor#timestamp}. */
    COMPLETION_TIMESTAMP(rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP()),
    /** The VLAN tag that was removed from a raw packet: {@link PollCursor#vlan}. */
    CVLAN(rdma_h.IBV_WC_EX_WITH_CVLAN()),
    /** The tag of the flow rule that steered a packet here: {@link PollCursor#flowTag}. */
    FLOW_TAG(rdma_h.IBV_WC_EX_WITH_FLOW_TAG()),
    /**
     * The result of tag matching: {@link PollCursor#tag} and {@link
     * PollCursor#tagPrivateData}.
     */
    TM_INFO(rdma_h.IBV_WC_EX_WITH_TM_INFO()),
    /** The completion time by the wall clock: {@link PollCursor#wallClockNanos}. */
    COMPLETION_TIMESTAMP_WALLCLOCK(rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK());

    private final int code;

    CompletionField(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
