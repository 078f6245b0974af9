package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * The allowed state transitions of a queue pair (IBA specification, section 10.3.1), for {@link SoftQueuePair}.
 * Stateless.
 */
final class States {
    private States() {}

    /** Returns whether a transition is allowed. */
    static boolean canGo(int from, int to) {
        if (to == VerbsConstants.RESET || to == VerbsConstants.ERR) {
            return true;
        }
        if (to == VerbsConstants.INIT) {
            return from == VerbsConstants.RESET || from == VerbsConstants.INIT;
        }
        if (to == VerbsConstants.RTR) {
            return from == VerbsConstants.INIT;
        }
        if (to == VerbsConstants.RTS) {
            return from == VerbsConstants.RTR
                    || from == VerbsConstants.RTS
                    || from == VerbsConstants.SQD
                    || from == VerbsConstants.SQE;
        }
        return to == VerbsConstants.SQD && (from == VerbsConstants.RTS || from == VerbsConstants.SQD);
    }

    /** Returns the mask of attributes that a transition requires (IBA specification, section 11.2.5.2). */
    static int required(int type, int from, int to) {
        if (from == VerbsConstants.RESET && to == VerbsConstants.INIT) {
            return rdma_h.IBV_QP_PKEY_INDEX()
                    | rdma_h.IBV_QP_PORT()
                    | (type == VerbsConstants.UD ? rdma_h.IBV_QP_QKEY() : rdma_h.IBV_QP_ACCESS_FLAGS());
        }
        if (from == VerbsConstants.INIT && to == VerbsConstants.RTR && type != VerbsConstants.UD) {
            int both =
                    rdma_h.IBV_QP_AV() | rdma_h.IBV_QP_PATH_MTU() | rdma_h.IBV_QP_DEST_QPN() | rdma_h.IBV_QP_RQ_PSN();
            return type == VerbsConstants.UC
                    ? both
                    : both | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC() | rdma_h.IBV_QP_MIN_RNR_TIMER();
        }
        if (from == VerbsConstants.RTR && to == VerbsConstants.RTS) {
            return type == VerbsConstants.RC
                    ? rdma_h.IBV_QP_SQ_PSN()
                            | rdma_h.IBV_QP_TIMEOUT()
                            | rdma_h.IBV_QP_RETRY_CNT()
                            | rdma_h.IBV_QP_RNR_RETRY()
                            | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC()
                    : rdma_h.IBV_QP_SQ_PSN();
        }
        return 0;
    }
}
