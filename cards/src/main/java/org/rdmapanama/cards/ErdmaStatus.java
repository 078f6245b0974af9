package org.rdmapanama.cards;

import org.rdmapanama.ffm.verbs.rdma_h;

/** How a work request of an eRDMA card ended: {@code enum erdma_wc_status} of the driver's erdma_hw.h. */
enum ErdmaStatus {
    SUCCESS,
    GENERAL_ERR,
    RECV_WQE_FORMAT_ERR,
    RECV_STAG_INVALID_ERR,
    RECV_ADDR_VIOLATION_ERR,
    RECV_RIGHT_VIOLATION_ERR,
    RECV_PDID_ERR,
    RECV_WRAPPING_ERR,
    SEND_WQE_FORMAT_ERR,
    SEND_WQE_ORD_EXCEED,
    SEND_STAG_INVALID_ERR,
    SEND_ADDR_VIOLATION_ERR,
    SEND_RIGHT_VIOLATION_ERR,
    SEND_PDID_ERR,
    SEND_WRAPPING_ERR,
    FLUSH_ERR,
    RETRY_EXC_ERR;

    int code() {
        return ordinal();
    }

    /**
     * Returns the one that fits best a status of soft0, of enum ibv_wc_status, which knows others: a peer's refusal is one of
     * its rights here, and what fits none is a general error.
     *
     * @param receive whether it is that of a receive
     */
    static ErdmaStatus of(int status, boolean receive) {
        if (status == rdma_h.IBV_WC_SUCCESS()) {
            return SUCCESS;
        } else if (status == rdma_h.IBV_WC_WR_FLUSH_ERR()) {
            return FLUSH_ERR;
        } else if (status == rdma_h.IBV_WC_LOC_QP_OP_ERR()) {
            return receive ? RECV_WQE_FORMAT_ERR : SEND_WQE_FORMAT_ERR;
        } else if (status == rdma_h.IBV_WC_LOC_LEN_ERR()) {
            return receive ? RECV_ADDR_VIOLATION_ERR : SEND_WQE_FORMAT_ERR;
        } else if (status == rdma_h.IBV_WC_LOC_PROT_ERR()) {
            return receive ? RECV_STAG_INVALID_ERR : SEND_STAG_INVALID_ERR;
        } else if (status == rdma_h.IBV_WC_REM_ACCESS_ERR()) {
            return RECV_RIGHT_VIOLATION_ERR;
        } else if (status == rdma_h.IBV_WC_RETRY_EXC_ERR() || status == rdma_h.IBV_WC_RNR_RETRY_EXC_ERR()) {
            return RETRY_EXC_ERR;
        }
        return GENERAL_ERR;
    }

    /** Returns what a card says that fails a work request so. */
    InjectedError error() {
        return new InjectedError(code(), 0);
    }
}
