package org.rdmapanama.queue;

import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** An operation that an extended queue pair can post, {@code enum ibv_qp_create_send_ops_flags}; see ibv_wr_post(3). */
public enum SendOperation {
    /** {@link WorkRequestBuilder#rdmaWrite}. */
    RDMA_WRITE(rdma_h.IBV_QP_EX_WITH_RDMA_WRITE()),
    /** {@link WorkRequestBuilder#rdmaWriteWithImmediate}. */
    RDMA_WRITE_WITH_IMM(rdma_h.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM()),
    /** {@link WorkRequestBuilder#send}. */
    SEND(rdma_h.IBV_QP_EX_WITH_SEND()),
    /** {@link WorkRequestBuilder#sendWithImmediate}. */
    SEND_WITH_IMM(rdma_h.IBV_QP_EX_WITH_SEND_WITH_IMM()),
    /** {@link WorkRequestBuilder#rdmaRead}. */
    RDMA_READ(rdma_h.IBV_QP_EX_WITH_RDMA_READ()),
    /** {@link WorkRequestBuilder#compareAndSwap}. */
    ATOMIC_CMP_AND_SWP(rdma_h.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP()),
    /** {@link WorkRequestBuilder#fetchAndAdd}. */
    ATOMIC_FETCH_AND_ADD(rdma_h.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD()),
    /** {@link WorkRequestBuilder#localInvalidate}. */
    LOCAL_INV(rdma_h.IBV_QP_EX_WITH_LOCAL_INV()),
    /** Binding a memory window of type 2. */
    BIND_MW(rdma_h.IBV_QP_EX_WITH_BIND_MW()),
    /** {@link WorkRequestBuilder#sendWithInvalidate}. */
    SEND_WITH_INV(rdma_h.IBV_QP_EX_WITH_SEND_WITH_INV()),
    /** {@link WorkRequestBuilder#tso}. */
    TSO(rdma_h.IBV_QP_EX_WITH_TSO()),
    /** {@link WorkRequestBuilder#flush}. */
    FLUSH(rdma_h.IBV_QP_EX_WITH_FLUSH()),
    /** {@link WorkRequestBuilder#atomicWrite}. */
    ATOMIC_WRITE(rdma_h.IBV_QP_EX_WITH_ATOMIC_WRITE());

    private static final SendOperation[] VALUES = values();

    private final int code;

    SendOperation(int code) {
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
    public static SendOperation of(int code) {
        return Codes.require(VALUES, SendOperation::code, code);
    }
}
