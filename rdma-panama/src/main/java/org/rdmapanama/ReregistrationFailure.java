package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What is left of a region whose registration could not be changed, {@code enum ibv_rereg_mr_err_code}; see
 * ibv_rereg_mr(3).
 */
public enum ReregistrationFailure {
    /** What was asked for is not allowed: the region is as it was. */
    INPUT(rdma_h.IBV_REREG_MR_ERR_INPUT()),
    /** The new memory could not be kept from child processes: the region is as it was. */
    DONT_FORK_NEW(rdma_h.IBV_REREG_MR_ERR_DONT_FORK_NEW()),
    /** The region is changed; only, the old memory could not be given back to child processes. */
    DO_FORK_OLD(rdma_h.IBV_REREG_MR_ERR_DO_FORK_OLD()),
    /** The driver or the device failed: the region cannot be used any longer, and is to be closed. */
    COMMAND(rdma_h.IBV_REREG_MR_ERR_CMD()),
    /** As {@link #COMMAND}; nor could the new memory be given back to child processes. */
    COMMAND_AND_DO_FORK_NEW(rdma_h.IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW()),
    /** One that this version does not know: the region is not to be used any longer. */
    UNKNOWN(0);

    private static final ReregistrationFailure[] VALUES = values();

    private final int code;

    ReregistrationFailure(int code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code verbs.h}, which is negative; 0 for UNKNOWN
     */
    public int code() {
        return code;
    }

    /**
     * The constant of a value in C.
     *
     * @param code its number in {@code verbs.h}
     * @return the constant, UNKNOWN when there is none
     */
    public static ReregistrationFailure of(int code) {
        for (ReregistrationFailure value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }

    /**
     * Whether the region is as it was before.
     *
     * @return true when it can be used with its old memory, access and domain
     */
    public boolean leavesOld() {
        return this == INPUT || this == DONT_FORK_NEW;
    }

    /**
     * Whether the region is what was asked for, all the same.
     *
     * @return true when it can be used with its new memory, access and domain
     */
    public boolean leavesNew() {
        return this == DO_FORK_OLD;
    }
}
