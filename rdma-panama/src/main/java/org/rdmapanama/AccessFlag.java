package org.rdmapanama;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** What may be done to registered memory, or through a queue pair, {@code enum ibv_access_flags}; see ibv_reg_mr(3). */
public enum AccessFlag {
    /** This device may write: receives, RDMA reads and atomics land in it. Needed by the remote write and atomic flags. */
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

    private static final AccessFlag[] VALUES = values();

    private final int code;

    AccessFlag(int code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code verbs.h}
     */
    public int code() {
        return code;
    }

    /** An unmodifiable copy, in the order in which the flags are declared. */
    static Set<AccessFlag> copyOf(Collection<AccessFlag> flags) {
        Set<AccessFlag> copy = EnumSet.noneOf(AccessFlag.class);
        copy.addAll(flags);
        return Collections.unmodifiableSet(copy);
    }

    /** The set of flags as C takes it. */
    static int mask(Collection<AccessFlag> flags) {
        int mask = 0;
        for (AccessFlag flag : flags) {
            mask |= flag.code;
        }
        return mask;
    }

    /** The flags of a set as C gives it. */
    static Set<AccessFlag> of(int mask) {
        Set<AccessFlag> flags = EnumSet.noneOf(AccessFlag.class);
        for (AccessFlag flag : VALUES) {
            if ((mask & flag.code) != 0) {
                flags.add(flag);
            }
        }
        return flags;
    }
}
