package org.rdmapanama.cards;

import java.util.Map;
import org.rdmapanama.ffm.verbs.rdma_h;

/** The syndromes of a ConnectX card's completions with errors: {@code MLX5_CQE_SYNDROME_...} of mlx5dv.h. */
final class Mlx5Syndrome {
    private static final int UNKNOWN = 0xff;

    private static final Map<Integer, Integer> OF_STATUS = Map.ofEntries(
            Map.entry(rdma_h.IBV_WC_LOC_LEN_ERR(), 0x01),
            Map.entry(rdma_h.IBV_WC_LOC_QP_OP_ERR(), 0x02),
            Map.entry(rdma_h.IBV_WC_LOC_PROT_ERR(), 0x04),
            Map.entry(rdma_h.IBV_WC_WR_FLUSH_ERR(), 0x05),
            Map.entry(rdma_h.IBV_WC_MW_BIND_ERR(), 0x06),
            Map.entry(rdma_h.IBV_WC_BAD_RESP_ERR(), 0x10),
            Map.entry(rdma_h.IBV_WC_LOC_ACCESS_ERR(), 0x11),
            Map.entry(rdma_h.IBV_WC_REM_INV_REQ_ERR(), 0x12),
            Map.entry(rdma_h.IBV_WC_REM_ACCESS_ERR(), 0x13),
            Map.entry(rdma_h.IBV_WC_REM_OP_ERR(), 0x14),
            Map.entry(rdma_h.IBV_WC_RETRY_EXC_ERR(), 0x15),
            Map.entry(rdma_h.IBV_WC_RNR_RETRY_EXC_ERR(), 0x16),
            Map.entry(rdma_h.IBV_WC_REM_ABORT_ERR(), 0x22));

    private Mlx5Syndrome() {}

    /** Returns the syndrome for a status of enum ibv_wc_status. */
    static int of(int status) {
        return OF_STATUS.getOrDefault(status, UNKNOWN);
    }
}
