package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.VerbsConstants;
import org.rdmapanama.soft.memory.Memory;

/**
 * Writes the attributes that a queue pair needs for its next state, as a struct ibv_qp_attr and its mask: the reply of
 * rdma_init_qp_attr(3). {@link ConnectionExchange} and {@link ServiceResolutionExchange} call it with the lock of the device held;
 * it has no state.
 */
final class CmQueuePair {
    /** The Q_Key of all datagram queue pairs of the connection manager. */
    static final int DATAGRAM_QKEY = 0x0123_4567;

    private CmQueuePair() {}

    /** Writes the attributes of a datagram queue pair, for any state. */
    static void writeDatagram(MemorySegment attr, long mask, int psn) {
        writeBasics(attr);
        ibv_qp_attr.qkey(attr, DATAGRAM_QKEY);
        if (ibv_qp_attr.qp_state(attr) == VerbsConstants.RTR) {
            ibv_qp_attr.rq_psn(attr, psn);
        }
        Memory.putInt(mask, basics() | rdma_h.IBV_QP_QKEY());
    }

    private static void writeBasics(MemorySegment attr) {
        ibv_qp_attr.pkey_index(attr, (short) 0);
        ibv_qp_attr.port_num(attr, (byte) 1);
    }

    private static int basics() {
        return rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT();
    }

    /** Writes the attributes for INIT, with the access rights of the peer (enum ibv_access_flags). */
    static void writeInit(MemorySegment attr, long mask, int access) {
        writeBasics(attr);
        ibv_qp_attr.qp_access_flags(attr, access);
        Memory.putInt(mask, basics() | rdma_h.IBV_QP_ACCESS_FLAGS());
    }

    /** Writes the attributes for RTR. */
    static void writeReadyToReceive(MemorySegment attr, long mask, CmTerms terms, boolean reliable) {
        int all = rdma_h.IBV_QP_STATE()
                | rdma_h.IBV_QP_AV()
                | rdma_h.IBV_QP_PATH_MTU()
                | rdma_h.IBV_QP_DEST_QPN()
                | rdma_h.IBV_QP_RQ_PSN();
        ibv_qp_attr.path_mtu(attr, terms.mtu);
        ibv_qp_attr.dest_qp_num(attr, terms.remoteQueuePair);
        ibv_qp_attr.rq_psn(attr, terms.localPsn);
        if (reliable) {
            all |= rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC() | rdma_h.IBV_QP_MIN_RNR_TIMER();
            ibv_qp_attr.max_dest_rd_atomic(attr, (byte) terms.responderResources);
            ibv_qp_attr.min_rnr_timer(attr, (byte) 0);
        }
        Memory.putInt(mask, all);
    }

    /** Writes the attributes for RTS. */
    static void writeReadyToSend(MemorySegment attr, long mask, CmTerms terms, boolean reliable) {
        int all = rdma_h.IBV_QP_STATE() | rdma_h.IBV_QP_SQ_PSN();
        ibv_qp_attr.sq_psn(attr, terms.remotePsn);
        if (reliable) {
            all |= rdma_h.IBV_QP_TIMEOUT()
                    | rdma_h.IBV_QP_RETRY_CNT()
                    | rdma_h.IBV_QP_RNR_RETRY()
                    | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC();
            ibv_qp_attr.timeout(attr, (byte) terms.ackTimeout);
            ibv_qp_attr.retry_cnt(attr, (byte) terms.retryCount);
            ibv_qp_attr.rnr_retry(attr, (byte) terms.rnrRetryCount);
            ibv_qp_attr.max_rd_atomic(attr, (byte) terms.initiatorDepth);
        }
        Memory.putInt(mask, all);
    }
}
