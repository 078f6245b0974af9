package org.rdmapanama.memory;

import org.rdmapanama.ffm.verbs.rdma_h;

/** The operations that registered memory or a queue pair allows, {@code enum ibv_access_flags}; see ibv_reg_mr(3). */
public enum AccessFlag {
    /**
     * This device may write: receives, RDMA reads and atomics land in it. Needed by the remote write and atomic flags.
     */
    LOCAL_WRITE(rdma_h.IBV_ACCESS_LOCAL_WRITE()),
    /** Peers may write with RDMA WRITE. */
    REMOTE_WRITE(rdma_h.IBV_ACCESS_REMOTE_WRITE()),
    /** Peers may read with RDMA READ. */
    REMOTE_READ(rdma_h.IBV_ACCESS_REMOTE_READ()),
    /** Peers may use atomic operations. */
    REMOTE_ATOMIC(rdma_h.IBV_ACCESS_REMOTE_ATOMIC()),
    /** Memory windows may be bound to it. */
    MW_BIND(rdma_h.IBV_ACCESS_MW_BIND()),
    /** Offsets count from the start of the region, not from address zero. */
    ZERO_BASED(rdma_h.IBV_ACCESS_ZERO_BASED()),
    /** Pages are not pinned but faulted in when the device touches them. */
    ON_DEMAND(rdma_h.IBV_ACCESS_ON_DEMAND()),
    /** The memory consists of huge pages. */
    HUGETLB(rdma_h.IBV_ACCESS_HUGETLB()),
    /** Peers may flush it to global visibility. */
    FLUSH_GLOBAL(rdma_h.IBV_ACCESS_FLUSH_GLOBAL()),
    /** Peers may flush it to persistence. */
    FLUSH_PERSISTENT(rdma_h.IBV_ACCESS_FLUSH_PERSISTENT()),
    /** Writes may become visible out of order; ignored by devices without it. */
    RELAXED_ORDERING(rdma_h.IBV_ACCESS_RELAXED_ORDERING());

    private final int code;

    AccessFlag(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
