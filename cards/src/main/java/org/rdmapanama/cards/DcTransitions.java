package org.rdmapanama.cards;

import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.rdma_h;

/** Which attributes the kernel's driver of ConnectX takes for queue pairs of the dynamically connected transport. */
final class DcTransitions {
    private static final int RESET = rdma_h.IBV_QPS_RESET();
    private static final int INIT = rdma_h.IBV_QPS_INIT();
    private static final int RTR = rdma_h.IBV_QPS_RTR();
    private static final int RTS = rdma_h.IBV_QPS_RTS();
    private static final int ERR = rdma_h.IBV_QPS_ERR();

    /** What the driver tells of a target. Of the path it takes the question, and leaves the answer empty. */
    private static final int TOLD_OF_TARGETS = rdma_h.IBV_QP_STATE()
            | rdma_h.IBV_QP_ACCESS_FLAGS()
            | rdma_h.IBV_QP_PORT()
            | rdma_h.IBV_QP_MIN_RNR_TIMER()
            | rdma_h.IBV_QP_AV()
            | rdma_h.IBV_QP_PATH_MTU()
            | rdma_h.IBV_QP_PKEY_INDEX();

    private static final int PLACE = rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT();

    private DcTransitions() {}

    /** Checks a MODIFY_QP of an initiator. */
    static void checkInitiator(int from, int to, int mask) throws CommandException {
        if (to == RESET || (to == ERR && from != RESET)) {
            check(mask, 0, 0);
        } else if (from == RESET && to == INIT) {
            check(mask, PLACE, 0);
        } else if (from == INIT && to == INIT) {
            check(mask, 0, PLACE);
        } else if (from == INIT && to == RTR) {
            check(mask, rdma_h.IBV_QP_PATH_MTU(), rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_AV());
        } else if (from == RTR && to == RTS) {
            int required = rdma_h.IBV_QP_TIMEOUT()
                    | rdma_h.IBV_QP_RETRY_CNT()
                    | rdma_h.IBV_QP_RNR_RETRY()
                    | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC()
                    | rdma_h.IBV_QP_SQ_PSN();
            check(mask, required, rdma_h.IBV_QP_MIN_RNR_TIMER());
        } else if (from == RTS && to == RTS) {
            check(mask, 0, rdma_h.IBV_QP_MIN_RNR_TIMER());
        } else {
            throw new CommandException(Errno.EINVAL);
        }
    }

    /** Checks a MODIFY_QP of a target, which goes no way back. */
    static void checkTarget(int from, int to, int mask) throws CommandException {
        if (from == RESET && to == INIT) {
            check(mask, PLACE | rdma_h.IBV_QP_ACCESS_FLAGS(), 0);
        } else if (from == INIT && to == RTR) {
            check(mask, rdma_h.IBV_QP_MIN_RNR_TIMER() | rdma_h.IBV_QP_AV() | rdma_h.IBV_QP_PATH_MTU(), 0);
        } else {
            throw new CommandException(Errno.EINVAL);
        }
    }

    /** Checks a QUERY_QP of a target, which the device has only in RTR. */
    static void checkQueryOfTarget(int state, int mask) throws CommandException {
        if ((mask & ~TOLD_OF_TARGETS) != 0 || state != RTR) {
            throw new CommandException(Errno.EINVAL);
        }
    }

    /** Each transition names its state, even where that stays the same. */
    private static void check(int mask, int required, int optional) throws CommandException {
        int needed = required | rdma_h.IBV_QP_STATE();
        if ((mask & needed) != needed || (mask & ~needed & ~optional) != 0) {
            throw new CommandException(Errno.EINVAL);
        }
    }

    /**
     * Returns the mask for the soft0 queue pair of type UD that keeps the state: this transport has no Q_Key, and the rest is
     * for connections.
     */
    static int softMask(int mask) {
        int kept = mask
                & (rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT() | rdma_h.IBV_QP_SQ_PSN());
        return (mask & rdma_h.IBV_QP_PORT()) == 0 ? kept : kept | rdma_h.IBV_QP_QKEY();
    }
}
