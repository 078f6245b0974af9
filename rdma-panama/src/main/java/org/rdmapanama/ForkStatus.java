package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Whether registered memory survives a fork of this process, {@code enum ibv_fork_status}; see {@link ForkSupport}. */
public enum ForkStatus {
    /** It does not: after a fork, the parent may lose what the device writes. */
    DISABLED(rdma_h.IBV_FORK_DISABLED()),
    /** It does, because {@link ForkSupport#initialize()} was called. */
    ENABLED(rdma_h.IBV_FORK_ENABLED()),
    /** It does, by the kernel (5.12 and newer): nothing has to be done. */
    UNNEEDED(rdma_h.IBV_FORK_UNNEEDED());

    private static final ForkStatus[] VALUES = values();

    private final int code;

    ForkStatus(int code) {
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

    /**
     * The constant of a value in C.
     *
     * @param code its number in {@code verbs.h}
     * @return the constant, DISABLED when there is none
     */
    public static ForkStatus of(int code) {
        for (ForkStatus value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return DISABLED;
    }
}
