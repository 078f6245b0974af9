package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * The allowed state transitions of a queue pair (IBA specification, section 10.3.1), and the attributes that each
 * requires or permits (section 11.2.5.2, and ibv_modify_qp(3)), for {@link SoftQueuePair}. Stateless.
 */
final class States {
    private States() {}

    /** Returns whether a transition is allowed. */
    static boolean canGo(int from, int to) {
        if (to == VerbsConstants.RESET) {
            return true;
        }
        if (to == VerbsConstants.ERR) {
            return from != VerbsConstants.RESET;
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

    /** Returns whether a mask contains the attributes that an allowed transition requires, and no others than it permits. */
    static boolean isComplete(int type, int from, int to, int mask) {
        int required = required(type, from, to);
        int permitted = required | optional(type, from, to) | rdma_h.IBV_QP_STATE();
        return (mask & required) == required && (mask & ~permitted) == 0;
    }

    private static int required(int type, int from, int to) {
        if (from == VerbsConstants.RESET && to == VerbsConstants.INIT) {
            return initial(type);
        }
        if (from == VerbsConstants.INIT && to == VerbsConstants.RTR && type != VerbsConstants.UD) {
            int both =
                    rdma_h.IBV_QP_AV() | rdma_h.IBV_QP_PATH_MTU() | rdma_h.IBV_QP_DEST_QPN() | rdma_h.IBV_QP_RQ_PSN();
            return type == VerbsConstants.UC
                    ? both
                    : both | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC() | rdma_h.IBV_QP_MIN_RNR_TIMER();
        }
        if (from == VerbsConstants.RTR && to == VerbsConstants.RTS) {
            return rdma_h.IBV_QP_SQ_PSN() | (type == VerbsConstants.RC ? ofRequester() : 0);
        }
        return 0;
    }

    private static int initial(int type) {
        return rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT() | rights(type);
    }

    /** Returns what says who may send to the queue pair. */
    private static int rights(int type) {
        return type == VerbsConstants.UD ? rdma_h.IBV_QP_QKEY() : rdma_h.IBV_QP_ACCESS_FLAGS();
    }

    private static int ofRequester() {
        return rdma_h.IBV_QP_TIMEOUT()
                | rdma_h.IBV_QP_RETRY_CNT()
                | rdma_h.IBV_QP_RNR_RETRY()
                | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC();
    }

    private static int optional(int type, int from, int to) {
        if (from == VerbsConstants.INIT && to == VerbsConstants.INIT) {
            return initial(type);
        }
        if (from == VerbsConstants.INIT && to == VerbsConstants.RTR) {
            return rdma_h.IBV_QP_PKEY_INDEX() | rights(type) | alternatePath(type);
        }
        if (from == VerbsConstants.SQE && to == VerbsConstants.RTS) {
            return rdma_h.IBV_QP_CUR_STATE() | rights(type);
        }
        if (to == VerbsConstants.RTS) {
            return rdma_h.IBV_QP_CUR_STATE() | whileConnected(type);
        }
        if (from == VerbsConstants.RTS && to == VerbsConstants.SQD) {
            return rdma_h.IBV_QP_EN_SQD_ASYNC_NOTIFY();
        }
        if (from == VerbsConstants.SQD && to == VerbsConstants.SQD) {
            return whileConnected(type) | rdma_h.IBV_QP_PKEY_INDEX() | whileDrained(type);
        }
        return 0;
    }

    private static int alternatePath(int type) {
        return type == VerbsConstants.UD ? 0 : rdma_h.IBV_QP_ALT_PATH();
    }

    /** Returns what may change while messages are under way. */
    private static int whileConnected(int type) {
        int migration = type == VerbsConstants.UD ? 0 : rdma_h.IBV_QP_PATH_MIG_STATE();
        int reliable = type == VerbsConstants.RC ? rdma_h.IBV_QP_MIN_RNR_TIMER() : 0;
        return rights(type) | alternatePath(type) | migration | reliable;
    }

    /** Returns what else may change while nothing is being sent. */
    private static int whileDrained(int type) {
        if (type == VerbsConstants.UD) {
            return 0;
        }
        return type == VerbsConstants.UC
                ? rdma_h.IBV_QP_AV()
                : rdma_h.IBV_QP_AV() | rdma_h.IBV_QP_PORT() | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC() | ofRequester();
    }
}
