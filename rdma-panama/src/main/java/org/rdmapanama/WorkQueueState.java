package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** State of a work queue, {@code enum ibv_wq_state}; see ibv_modify_wq(3). */
public enum WorkQueueState {
    /** Made, and nothing else. */
    RESET(rdma_h.IBV_WQS_RESET()),
    /** Ready: receives are posted and filled. */
    RDY(rdma_h.IBV_WQS_RDY()),
    /** In error: all that is posted completes as flushed. */
    ERR(rdma_h.IBV_WQS_ERR()),
    /** None of these. */
    UNKNOWN(rdma_h.IBV_WQS_UNKNOWN());

    private static final WorkQueueState[] VALUES = values();

    private final int code;

    WorkQueueState(int code) {
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

    /**
     * The constant of a value in C.
     *
     * @param code its number in {@code verbs.h}
     * @return the constant, UNKNOWN when there is none
     */
    public static WorkQueueState of(int code) {
        for (WorkQueueState value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
