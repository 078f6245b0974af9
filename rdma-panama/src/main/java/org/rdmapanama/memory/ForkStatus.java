package org.rdmapanama.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.ForkSupport;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** Whether registered memory survives a fork of this process, {@code enum ibv_fork_status}; see {@link ForkSupport}. */
public enum ForkStatus {
    /** It does not: after a fork, the parent may lose what the device writes. */
    DISABLED(rdma_h.IBV_FORK_DISABLED()),
    /** It does, because {@link ForkSupport#initialize()} was called. */
    ENABLED(rdma_h.IBV_FORK_ENABLED()),
    /** It does, because the kernel (5.12 and newer) takes care of it. */
    UNNEEDED(rdma_h.IBV_FORK_UNNEEDED());

    private static final ForkStatus[] VALUES = values();

    private final int code;

    ForkStatus(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or DISABLED if there is none
     */
    @CheckReturnValue
    public static ForkStatus of(int code) {
        return Codes.find(VALUES, ForkStatus::code, code, DISABLED);
    }
}
