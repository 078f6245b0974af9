package org.rdmapanama.completion;

import org.rdmapanama.ffm.verbs.rdma_h;

/** The kind of a completed work request, {@code enum ibv_wc_opcode}; see ibv_poll_cq(3). */
public enum CompletionOpcode {
    /** A send, with or without immediate data. */
    SEND(rdma_h.IBV_WC_SEND()),
    /** An RDMA write, with or without immediate data. */
    RDMA_WRITE(rdma_h.IBV_WC_RDMA_WRITE()),
    /** An RDMA read. */
    RDMA_READ(rdma_h.IBV_WC_RDMA_READ()),
    /** An atomic compare and swap. */
    COMP_SWAP(rdma_h.IBV_WC_COMP_SWAP()),
    /** An atomic fetch and add. */
    FETCH_ADD(rdma_h.IBV_WC_FETCH_ADD()),
    /** A memory window bind. */
    BIND_MW(rdma_h.IBV_WC_BIND_MW()),
    /** A local invalidation. */
    LOCAL_INV(rdma_h.IBV_WC_LOCAL_INV()),
    /** A segmented send. */
    TSO(rdma_h.IBV_WC_TSO()),
    /** A flush. */
    FLUSH(rdma_h.IBV_WC_FLUSH()),
    /** An atomic write. */
    ATOMIC_WRITE(rdma_h.IBV_WC_ATOMIC_WRITE()),
    /** A receive that a send consumed. */
    RECV(rdma_h.IBV_WC_RECV()),
    /** A receive that an RDMA write with immediate data consumed. */
    RECV_RDMA_WITH_IMM(rdma_h.IBV_WC_RECV_RDMA_WITH_IMM()),
    /** A tag was added. */
    TM_ADD(rdma_h.IBV_WC_TM_ADD()),
    /** A tag was removed. */
    TM_DEL(rdma_h.IBV_WC_TM_DEL()),
    /** Tags were synchronized. */
    TM_SYNC(rdma_h.IBV_WC_TM_SYNC()),
    /** A tagged receive. */
    TM_RECV(rdma_h.IBV_WC_TM_RECV()),
    /** A message without a tag. */
    TM_NO_TAG(rdma_h.IBV_WC_TM_NO_TAG()),
    /** Defined by the driver. */
    DRIVER1(rdma_h.IBV_WC_DRIVER1()),
    /** Defined by the driver. */
    DRIVER2(rdma_h.IBV_WC_DRIVER2()),
    /** Defined by the driver. */
    DRIVER3(rdma_h.IBV_WC_DRIVER3()),
    /** A value that this version does not know. */
    UNKNOWN(-1);

    private static final CompletionOpcode[] VALUES = values();

    private final int code;

    CompletionOpcode(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}, -1 for UNKNOWN} */
    public int code() {
        return code;
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or UNKNOWN if there is none
     */
    public static CompletionOpcode of(int code) {
        for (CompletionOpcode value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
