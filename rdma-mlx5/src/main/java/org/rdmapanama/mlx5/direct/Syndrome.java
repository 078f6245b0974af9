package org.rdmapanama.mlx5.direct;

import java.util.Arrays;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.verbs.rdma_h;

/** What the device says of a work request that has failed. */
final class Syndrome {
    private static final int[] STATUSES = statuses();

    private Syndrome() {}

    private static int[] statuses() {
        int[] statuses = new int[1 << Byte.SIZE];
        Arrays.fill(statuses, rdma_h.IBV_WC_GENERAL_ERR());
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR()] = rdma_h.IBV_WC_LOC_LEN_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR()] = rdma_h.IBV_WC_LOC_QP_OP_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_LOCAL_PROT_ERR()] = rdma_h.IBV_WC_LOC_PROT_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_WR_FLUSH_ERR()] = rdma_h.IBV_WC_WR_FLUSH_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_MW_BIND_ERR()] = rdma_h.IBV_WC_MW_BIND_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_BAD_RESP_ERR()] = rdma_h.IBV_WC_BAD_RESP_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR()] = rdma_h.IBV_WC_LOC_ACCESS_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR()] = rdma_h.IBV_WC_REM_INV_REQ_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR()] = rdma_h.IBV_WC_REM_ACCESS_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_REMOTE_OP_ERR()] = rdma_h.IBV_WC_REM_OP_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR()] = rdma_h.IBV_WC_RETRY_EXC_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR()] = rdma_h.IBV_WC_RNR_RETRY_EXC_ERR();
        statuses[mlx5dv_h.MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR()] = rdma_h.IBV_WC_REM_ABORT_ERR();
        return statuses;
    }

    /** Returns the status of enum ibv_wc_status for a byte of the device. */
    static int status(int syndrome) {
        return STATUSES[syndrome];
    }
}
