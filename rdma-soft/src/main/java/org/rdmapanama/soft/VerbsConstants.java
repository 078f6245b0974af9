package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Constants of {@code verbs.h} that the data path uses, and errnos. */
public final class VerbsConstants {

    static final int RESET = rdma_h.IBV_QPS_RESET();
    public static final int INIT = rdma_h.IBV_QPS_INIT();
    public static final int RTR = rdma_h.IBV_QPS_RTR();
    public static final int RTS = rdma_h.IBV_QPS_RTS();
    static final int SQD = rdma_h.IBV_QPS_SQD();
    static final int SQE = rdma_h.IBV_QPS_SQE();
    static final int ERR = rdma_h.IBV_QPS_ERR();

    public static final int RC = rdma_h.IBV_QPT_RC();
    public static final int UC = rdma_h.IBV_QPT_UC();
    public static final int UD = rdma_h.IBV_QPT_UD();

    static final int WR_WRITE = rdma_h.IBV_WR_RDMA_WRITE();
    static final int WR_WRITE_IMM = rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM();
    static final int WR_SEND = rdma_h.IBV_WR_SEND();
    static final int WR_SEND_IMM = rdma_h.IBV_WR_SEND_WITH_IMM();
    static final int WR_READ = rdma_h.IBV_WR_RDMA_READ();
    static final int WR_COMPARE_SWAP = rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP();
    static final int WR_FETCH_ADD = rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD();
    static final int WR_LOCAL_INV = rdma_h.IBV_WR_LOCAL_INV();
    static final int WR_BIND_MW = rdma_h.IBV_WR_BIND_MW();
    static final int WR_SEND_INV = rdma_h.IBV_WR_SEND_WITH_INV();

    static final int WC_SEND = rdma_h.IBV_WC_SEND();
    static final int WC_WRITE = rdma_h.IBV_WC_RDMA_WRITE();
    static final int WC_READ = rdma_h.IBV_WC_RDMA_READ();
    static final int WC_COMPARE_SWAP = rdma_h.IBV_WC_COMP_SWAP();
    static final int WC_FETCH_ADD = rdma_h.IBV_WC_FETCH_ADD();
    static final int WC_BIND_MW = rdma_h.IBV_WC_BIND_MW();
    static final int WC_LOCAL_INV = rdma_h.IBV_WC_LOCAL_INV();
    static final int WC_RECV = rdma_h.IBV_WC_RECV();
    static final int WC_RECV_WITH_IMM = rdma_h.IBV_WC_RECV_RDMA_WITH_IMM();

    static final int WC_FLAG_GRH = rdma_h.IBV_WC_GRH();
    static final int WC_FLAG_IMM = rdma_h.IBV_WC_WITH_IMM();
    static final int WC_FLAG_INV = rdma_h.IBV_WC_WITH_INV();

    static final int SUCCESS = rdma_h.IBV_WC_SUCCESS();
    static final int GENERAL_ERR = rdma_h.IBV_WC_GENERAL_ERR();
    static final int LOC_LEN_ERR = rdma_h.IBV_WC_LOC_LEN_ERR();
    static final int LOC_QP_OP_ERR = rdma_h.IBV_WC_LOC_QP_OP_ERR();
    static final int LOC_PROT_ERR = rdma_h.IBV_WC_LOC_PROT_ERR();
    static final int WR_FLUSH_ERR = rdma_h.IBV_WC_WR_FLUSH_ERR();
    static final int MW_BIND_ERR = rdma_h.IBV_WC_MW_BIND_ERR();
    static final int REM_INV_REQ_ERR = rdma_h.IBV_WC_REM_INV_REQ_ERR();
    static final int REM_ACCESS_ERR = rdma_h.IBV_WC_REM_ACCESS_ERR();
    static final int REM_OP_ERR = rdma_h.IBV_WC_REM_OP_ERR();
    static final int BAD_RESP_ERR = rdma_h.IBV_WC_BAD_RESP_ERR();
    static final int REM_INV_RD_REQ_ERR = rdma_h.IBV_WC_REM_INV_RD_REQ_ERR();
    static final int RETRY_EXC_ERR = rdma_h.IBV_WC_RETRY_EXC_ERR();
    static final int RNR_RETRY_EXC_ERR = rdma_h.IBV_WC_RNR_RETRY_EXC_ERR();

    static final int FLAG_SIGNALED = rdma_h.IBV_SEND_SIGNALED();
    static final int FLAG_SOLICITED = rdma_h.IBV_SEND_SOLICITED();
    static final int FLAG_FENCE = rdma_h.IBV_SEND_FENCE();
    static final int FLAG_INLINE = rdma_h.IBV_SEND_INLINE();

    static final int LOCAL_WRITE = rdma_h.IBV_ACCESS_LOCAL_WRITE();
    public static final int REMOTE_WRITE = rdma_h.IBV_ACCESS_REMOTE_WRITE();
    public static final int REMOTE_READ = rdma_h.IBV_ACCESS_REMOTE_READ();
    public static final int REMOTE_ATOMIC = rdma_h.IBV_ACCESS_REMOTE_ATOMIC();
    static final int MW_BIND = rdma_h.IBV_ACCESS_MW_BIND();
    static final int ZERO_BASED = rdma_h.IBV_ACCESS_ZERO_BASED();

    static final int MW_TYPE_1 = rdma_h.IBV_MW_TYPE_1();
    static final int MW_TYPE_2 = rdma_h.IBV_MW_TYPE_2();

    private VerbsConstants() {}
}
