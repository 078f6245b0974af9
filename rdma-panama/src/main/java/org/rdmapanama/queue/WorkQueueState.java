package org.rdmapanama.queue;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** State of a work queue, {@code enum ibv_wq_state}; see ibv_modify_wq(3). */
public enum WorkQueueState {
    /** Just created. */
    RESET(rdma_h.IBV_WQS_RESET()),
    /** Ready: receives are posted and filled. */
    RDY(rdma_h.IBV_WQS_RDY()),
    /** In error: all posted requests complete as flushed. */
    ERR(rdma_h.IBV_WQS_ERR()),
    /** None of these. */
    UNKNOWN(rdma_h.IBV_WQS_UNKNOWN());

    private static final WorkQueueState[] VALUES = values();

    private final int code;

    WorkQueueState(int code) {
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
     * @return the constant, or UNKNOWN if there is none
     */
    public static WorkQueueState of(int code) {
        return Codes.find(VALUES, WorkQueueState::code, code, UNKNOWN);
    }
}
