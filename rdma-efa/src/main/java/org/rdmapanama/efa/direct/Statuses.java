package org.rdmapanama.efa.direct;

import java.util.Arrays;
import org.rdmapanama.ffm.verbs.rdma_h;

/** How a work request ended, in the words of the device: {@code enum efa_io_comp_status}. */
final class Statuses {
    private static final int[] STATUSES = statuses();

    private Statuses() {}

    private static int[] statuses() {
        int[] statuses = new int[1 << Byte.SIZE];
        Arrays.fill(statuses, rdma_h.IBV_WC_GENERAL_ERR());
        statuses[0] = rdma_h.IBV_WC_SUCCESS();
        // Flushed.
        statuses[1] = rdma_h.IBV_WC_WR_FLUSH_ERR();
        // An internal error of the queue pair, an operation that is not supported, a bad address handle.
        statuses[2] = rdma_h.IBV_WC_LOC_QP_OP_ERR();
        statuses[3] = rdma_h.IBV_WC_LOC_QP_OP_ERR();
        statuses[4] = rdma_h.IBV_WC_LOC_QP_OP_ERR();
        // A bad local key, and too long a message.
        statuses[5] = rdma_h.IBV_WC_LOC_PROT_ERR();
        statuses[6] = rdma_h.IBV_WC_LOC_LEN_ERR();
        // From the peer: a bad remote key or address, an abort, no such queue pair, no receive, too short a receive, an
        // answer
        // that makes no sense.
        statuses[7] = rdma_h.IBV_WC_REM_ACCESS_ERR();
        statuses[8] = rdma_h.IBV_WC_REM_ABORT_ERR();
        statuses[9] = rdma_h.IBV_WC_REM_INV_RD_REQ_ERR();
        statuses[10] = rdma_h.IBV_WC_RNR_RETRY_EXC_ERR();
        statuses[11] = rdma_h.IBV_WC_REM_INV_REQ_ERR();
        statuses[12] = rdma_h.IBV_WC_BAD_RESP_ERR();
        // A peer that no longer answers, one that does not know the sender, and one that never answered.
        statuses[13] = rdma_h.IBV_WC_RESP_TIMEOUT_ERR();
        statuses[14] = rdma_h.IBV_WC_REM_OP_ERR();
        statuses[15] = rdma_h.IBV_WC_RESP_TIMEOUT_ERR();
        // A peer whose device lacks a feature.
        statuses[18] = rdma_h.IBV_WC_REM_INV_REQ_ERR();
        return statuses;
    }

    /** Returns the status of enum ibv_wc_status for a byte of the device. */
    static int status(int code) {
        return STATUSES[code];
    }
}
