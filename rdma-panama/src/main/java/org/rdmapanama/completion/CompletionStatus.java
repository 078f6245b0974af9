package org.rdmapanama.completion;

import org.rdmapanama.ffm.verbs.rdma_h;

/** The result of a work request, {@code enum ibv_wc_status}; see ibv_poll_cq(3). */
public enum CompletionStatus {
    /** The work request succeeded. */
    SUCCESS(rdma_h.IBV_WC_SUCCESS()),
    /** Local length error: the message does not fit the receive, or is longer than the port allows. */
    LOC_LEN_ERR(rdma_h.IBV_WC_LOC_LEN_ERR()),
    /** Local queue pair operation error: the request is not valid on this queue pair. */
    LOC_QP_OP_ERR(rdma_h.IBV_WC_LOC_QP_OP_ERR()),
    /** Local end-to-end context operation error; obsolete. */
    LOC_EEC_OP_ERR(rdma_h.IBV_WC_LOC_EEC_OP_ERR()),
    /** Local protection error: the local key does not cover the memory, or does not allow the access. */
    LOC_PROT_ERR(rdma_h.IBV_WC_LOC_PROT_ERR()),
    /** Flushed: the queue pair was in the error state, or moved to it. */
    WR_FLUSH_ERR(rdma_h.IBV_WC_WR_FLUSH_ERR()),
    /** Memory window bind error. */
    MW_BIND_ERR(rdma_h.IBV_WC_MW_BIND_ERR()),
    /** Bad response: the peer sent an opcode that was not expected. */
    BAD_RESP_ERR(rdma_h.IBV_WC_BAD_RESP_ERR()),
    /**
     * Local access error: a peer's write with immediate data into memory that does not allow it; on eRDMA any local key that
     * does not cover the memory, or does not allow the access.
     */
    LOC_ACCESS_ERR(rdma_h.IBV_WC_LOC_ACCESS_ERR()),
    /** Remote invalid request: the peer's queue pair does not accept this operation, or has no room for it. */
    REM_INV_REQ_ERR(rdma_h.IBV_WC_REM_INV_REQ_ERR()),
    /** Remote access error: the remote key does not cover the memory, or does not allow the access. */
    REM_ACCESS_ERR(rdma_h.IBV_WC_REM_ACCESS_ERR()),
    /** Remote operation error: the peer could not complete it. */
    REM_OP_ERR(rdma_h.IBV_WC_REM_OP_ERR()),
    /** Transport retries exceeded: the peer does not answer. */
    RETRY_EXC_ERR(rdma_h.IBV_WC_RETRY_EXC_ERR()),
    /** Receiver-not-ready retries exceeded: the peer has no receive posted. */
    RNR_RETRY_EXC_ERR(rdma_h.IBV_WC_RNR_RETRY_EXC_ERR()),
    /** Local reliable datagram domain violation; obsolete. */
    LOC_RDD_VIOL_ERR(rdma_h.IBV_WC_LOC_RDD_VIOL_ERR()),
    /** Remote invalid reliable datagram request; obsolete. */
    REM_INV_RD_REQ_ERR(rdma_h.IBV_WC_REM_INV_RD_REQ_ERR()),
    /** Remote aborted. */
    REM_ABORT_ERR(rdma_h.IBV_WC_REM_ABORT_ERR()),
    /** Invalid end-to-end context number; obsolete. */
    INV_EECN_ERR(rdma_h.IBV_WC_INV_EECN_ERR()),
    /** Invalid end-to-end context state; obsolete. */
    INV_EEC_STATE_ERR(rdma_h.IBV_WC_INV_EEC_STATE_ERR()),
    /** Fatal: the device is no longer usable. */
    FATAL_ERR(rdma_h.IBV_WC_FATAL_ERR()),
    /** No response in time. */
    RESP_TIMEOUT_ERR(rdma_h.IBV_WC_RESP_TIMEOUT_ERR()),
    /** Any other error. */
    GENERAL_ERR(rdma_h.IBV_WC_GENERAL_ERR()),
    /** Tag matching error. */
    TM_ERR(rdma_h.IBV_WC_TM_ERR()),
    /** Tag matching: the rendezvous is left to software. */
    TM_RNDV_INCOMPLETE(rdma_h.IBV_WC_TM_RNDV_INCOMPLETE());

    private static final CompletionStatus[] VALUES = values();

    private final int code;

    CompletionStatus(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }

    /**
     * Returns a description for people to read.
     *
     * @return a phrase in lower case, without a full stop
     * @verb ibv_wc_status_str
     */
    public String description() {
        return switch (this) {
            case SUCCESS -> "success";
            case LOC_LEN_ERR -> "message does not fit the receive, or is longer than the port allows";
            case LOC_QP_OP_ERR -> "request is not valid on this queue pair";
            case LOC_EEC_OP_ERR -> "local end-to-end context failed";
            case LOC_PROT_ERR -> "local key does not cover the memory, or does not allow the access";
            case WR_FLUSH_ERR -> "flushed: the queue pair is in the error state";
            case MW_BIND_ERR -> "memory window could not be bound";
            case BAD_RESP_ERR -> "peer answered with an unexpected opcode";
            case LOC_ACCESS_ERR ->
                "local memory does not allow the access, such as that of a peer's write with immediate data";
            case REM_INV_REQ_ERR -> "peer's queue pair does not accept this operation, or has no room for it";
            case REM_ACCESS_ERR -> "remote key does not cover the peer's memory, or does not allow the access";
            case REM_OP_ERR -> "peer could not complete the operation";
            case RETRY_EXC_ERR -> "peer does not answer, and the retries are used up";
            case RNR_RETRY_EXC_ERR -> "peer has no receive posted, and the retries are used up";
            case LOC_RDD_VIOL_ERR -> "local reliable datagram domain does not match";
            case REM_INV_RD_REQ_ERR -> "peer refused a reliable datagram";
            case REM_ABORT_ERR -> "peer aborted the operation";
            case INV_EECN_ERR -> "end-to-end context number is invalid";
            case INV_EEC_STATE_ERR -> "end-to-end context is in a wrong state";
            case FATAL_ERR -> "device failed";
            case RESP_TIMEOUT_ERR -> "no response in time";
            case GENERAL_ERR -> "other error";
            case TM_ERR -> "tag matching failed";
            case TM_RNDV_INCOMPLETE -> "tag matching left the rendezvous to software";
        };
    }

    /**
     * Returns which operations end with this status. A failed completion does not tell its own; see ibv_poll_cq(3).
     *
     * @return a phrase in lower case with an article, such as "an RDMA write, read or atomic"
     */
    public String operation() {
        return switch (this) {
            case REM_ACCESS_ERR -> "an RDMA write, read or atomic";
            case RNR_RETRY_EXC_ERR -> "a send or a write with immediate data";
            case RETRY_EXC_ERR, REM_OP_ERR, BAD_RESP_ERR, REM_ABORT_ERR, RESP_TIMEOUT_ERR ->
                "a send, RDMA write, read or atomic";
            case LOC_LEN_ERR -> "a send or a receive";
            case MW_BIND_ERR -> "the binding of a memory window";
            case TM_ERR, TM_RNDV_INCOMPLETE -> "a receive with a tag";
            default -> "a work request";
        };
    }

    /**
     * Returns what to do about this status.
     *
     * @return a phrase in lower case, without a full stop
     */
    public String cure() {
        return switch (this) {
            case SUCCESS -> "nothing is to be done";
            case LOC_LEN_ERR -> "post receives as long as the longest message, and send no more than 2 GiB at once";
            case LOC_QP_OP_ERR -> "check the opcode, the flags and the sizes of the request";
            case LOC_PROT_ERR ->
                "check that the region is open, belongs to the protection domain of the queue pair, and has LOCAL_WRITE"
                        + " if the device is to write there";
            case WR_FLUSH_ERR ->
                "look for an earlier completion with another status, which has the cause; without one, this side or the"
                        + " peer ended the connection, or the peer made a request that is not allowed";
            case MW_BIND_ERR -> "check that the region was registered with MW_BIND, and the rights of the window";
            case LOC_ACCESS_ERR ->
                "check that the region is open and has the access that this side and the peer need, and the address, the"
                        + " length and the key of the request";
            case REM_ACCESS_ERR ->
                "check the address, the length and the rkey of the request, and that the memory is still registered, with"
                        + " remote access for this operation";
            case REM_INV_REQ_ERR ->
                "check that the peer's receives are long enough, and that it answers RDMA reads and atomics, and as many"
                        + " at once";
            case REM_OP_ERR, BAD_RESP_ERR, REM_ABORT_ERR -> "look for errors on the side of the peer";
            case RETRY_EXC_ERR, RESP_TIMEOUT_ERR ->
                "check that the peer's process runs and its connection is open, and the network in between; then connect"
                        + " again";
            case RNR_RETRY_EXC_ERR ->
                "have the peer post receives before they are needed, or allow more retries with rnrRetry";
            case FATAL_ERR -> "close the device and open it again";
            case TM_ERR, TM_RNDV_INCOMPLETE -> "check the tags that are posted";
            case LOC_EEC_OP_ERR, LOC_RDD_VIOL_ERR, REM_INV_RD_REQ_ERR, INV_EECN_ERR, INV_EEC_STATE_ERR, GENERAL_ERR ->
                "see the vendor error, and the log of the kernel";
        };
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or GENERAL_ERR if there is none
     */
    public static CompletionStatus of(int code) {
        for (CompletionStatus value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return GENERAL_ERR;
    }
}
