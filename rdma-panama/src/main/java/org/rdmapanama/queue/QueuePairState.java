package org.rdmapanama.queue;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/**
 * State of a queue pair, {@code enum ibv_qp_state}; see ibv_modify_qp(3) and InfiniBand Architecture volume 1, 10.3.1.
 */
public enum QueuePairState {
    /** Just created. */
    RESET(rdma_h.IBV_QPS_RESET()),
    /** Receives may be posted; nothing moves yet. */
    INIT(rdma_h.IBV_QPS_INIT()),
    /** Ready to receive. */
    RTR(rdma_h.IBV_QPS_RTR()),
    /** Ready to send, and to receive. */
    RTS(rdma_h.IBV_QPS_RTS()),
    /** Send queue drained: sends in progress finish, and no new one begins. */
    SQD(rdma_h.IBV_QPS_SQD()),
    /** Send queue in error: UC and UD after a failed send. */
    SQE(rdma_h.IBV_QPS_SQE()),
    /** In error: all posted requests complete as flushed. */
    ERR(rdma_h.IBV_QPS_ERR()),
    /** None of these. */
    UNKNOWN(rdma_h.IBV_QPS_UNKNOWN());

    private static final QueuePairState[] VALUES = values();

    private final int code;

    QueuePairState(int code) {
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
    public static QueuePairState of(int code) {
        return Codes.find(VALUES, QueuePairState::code, code, UNKNOWN);
    }
}
