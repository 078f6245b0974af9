package org.rdmapanama.queue;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Attribute of a queue pair, {@code enum ibv_qp_attr_mask}; see ibv_modify_qp(3). */
public enum QueuePairAttribute {
    /** Next state. */
    STATE(rdma_h.IBV_QP_STATE()),
    /** Assumed current state. */
    CUR_STATE(rdma_h.IBV_QP_CUR_STATE()),
    /** Whether draining the send queue raises an event. */
    EN_SQD_ASYNC_NOTIFY(rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY()),
    /** Remote operations allowed. */
    ACCESS_FLAGS(rdma_h.IBV_QP_ACCESS_FLAGS()),
    /** Index of the P_Key. */
    PKEY_INDEX(rdma_h.IBV_QP_PKEY_INDEX()),
    /** Port number. */
    PORT(rdma_h.IBV_QP_PORT()),
    /** Q_Key, for datagrams. */
    QKEY(rdma_h.IBV_QP_QKEY()),
    /** Address vector of the path to the peer. */
    AV(rdma_h.IBV_QP_AV()),
    /** Path MTU. */
    PATH_MTU(rdma_h.IBV_QP_PATH_MTU()),
    /** Acknowledge timeout. */
    TIMEOUT(rdma_h.IBV_QP_TIMEOUT()),
    /** Transport retries. */
    RETRY_CNT(rdma_h.IBV_QP_RETRY_CNT()),
    /** Retries when the receiver is not ready. */
    RNR_RETRY(rdma_h.IBV_QP_RNR_RETRY()),
    /** First packet sequence number of the peer. */
    RQ_PSN(rdma_h.IBV_QP_RQ_PSN()),
    /** Reads and atomics outstanding as initiator. */
    MAX_QP_RD_ATOMIC(rdma_h.IBV_QP_MAX_QP_RD_ATOMIC()),
    /** Alternate path. */
    ALT_PATH(rdma_h.IBV_QP_ALT_PATH()),
    /** How long the peer waits if no receive is posted. */
    MIN_RNR_TIMER(rdma_h.IBV_QP_MIN_RNR_TIMER()),
    /** First packet sequence number of this side. */
    SQ_PSN(rdma_h.IBV_QP_SQ_PSN()),
    /** Reads and atomics outstanding as target. */
    MAX_DEST_RD_ATOMIC(rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()),
    /** Path migration state. */
    PATH_MIG_STATE(rdma_h.IBV_QP_PATH_MIG_STATE()),
    /** Sizes of the queues. */
    CAP(rdma_h.IBV_QP_CAP()),
    /** Queue pair number of the peer. */
    DEST_QPN(rdma_h.IBV_QP_DEST_QPN()),
    /** Rate limit of a raw packet queue pair. */
    RATE_LIMIT(rdma_h.IBV_QP_RATE_LIMIT());

    private final int code;

    QueuePairAttribute(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
