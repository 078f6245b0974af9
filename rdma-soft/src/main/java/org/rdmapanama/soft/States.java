package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Which states of a queue pair follow which; IBA specification, 10.3.1. */
final class States {
    private States() {}

    static boolean canGo(int from, int to) {
        if (to == Verbs.RESET || to == Verbs.ERR) {
            return true;
        }
        if (to == Verbs.INIT) {
            return from == Verbs.RESET || from == Verbs.INIT;
        }
        if (to == Verbs.RTR) {
            return from == Verbs.INIT;
        }
        if (to == Verbs.RTS) {
            return from == Verbs.RTR || from == Verbs.RTS || from == Verbs.SQD || from == Verbs.SQE;
        }
        return to == Verbs.SQD && (from == Verbs.RTS || from == Verbs.SQD);
    }

    /** Which attributes must be given on the way, as a mask; IBA specification, 11.2.5.2. */
    static int required(int type, int from, int to) {
        if (from == Verbs.RESET && to == Verbs.INIT) {
            return rdma_h.IBV_QP_PKEY_INDEX()
                    | rdma_h.IBV_QP_PORT()
                    | (type == Verbs.UD ? rdma_h.IBV_QP_QKEY() : rdma_h.IBV_QP_ACCESS_FLAGS());
        }
        if (from == Verbs.INIT && to == Verbs.RTR && type != Verbs.UD) {
            int both =
                    rdma_h.IBV_QP_AV() | rdma_h.IBV_QP_PATH_MTU() | rdma_h.IBV_QP_DEST_QPN() | rdma_h.IBV_QP_RQ_PSN();
            return type == Verbs.UC ? both : both | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC() | rdma_h.IBV_QP_MIN_RNR_TIMER();
        }
        if (from == Verbs.RTR && to == Verbs.RTS) {
            return type == Verbs.RC
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
