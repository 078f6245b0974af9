package org.rdmapanama.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/**
 * The state of a region after a failed change of its registration, {@code enum ibv_rereg_mr_err_code}; see
 * ibv_rereg_mr(3).
 */
public enum ReregistrationFailure {
    /** The change is not allowed; the region is unchanged. */
    INPUT(rdma_h.IBV_REREG_MR_ERR_INPUT()),
    /** The new memory could not be kept from child processes; the region is unchanged. */
    DONT_FORK_NEW(rdma_h.IBV_REREG_MR_ERR_DONT_FORK_NEW()),
    /** The region is changed, but the old memory could not be made available to child processes again. */
    DO_FORK_OLD(rdma_h.IBV_REREG_MR_ERR_DO_FORK_OLD()),
    /** The driver or the device failed; the region is unusable and must be closed. */
    COMMAND(rdma_h.IBV_REREG_MR_ERR_CMD()),
    /** Like {@link #COMMAND}; in addition the new memory could not be made available to child processes again. */
    COMMAND_AND_DO_FORK_NEW(rdma_h.IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW()),
    /** A value that this version does not know; the region must not be used. */
    UNKNOWN(0);

    private static final ReregistrationFailure[] VALUES = values();

    private final int code;

    ReregistrationFailure(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}, which is negative; 0 for UNKNOWN} */
    public int code() {
        return code;
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or UNKNOWN if there is none
     */
    @CheckReturnValue
    public static ReregistrationFailure of(int code) {
        return Codes.find(VALUES, ReregistrationFailure::code, code, UNKNOWN);
    }

    /** {@return whether the region is unchanged and can be used with its old memory, access and protection domain} */
    public boolean leavesOld() {
        return this == INPUT || this == DONT_FORK_NEW;
    }

    /**
     * {@return whether the region is changed nevertheless and can be used with its new memory, access and protection
     * domain}
     */
    public boolean leavesNew() {
        return this == DO_FORK_OLD;
    }
}
