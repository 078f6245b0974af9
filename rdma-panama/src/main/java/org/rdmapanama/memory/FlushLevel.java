package org.rdmapanama.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** The extent of a flush, {@code enum ibv_selectivity_level}; see ibv_wr_post(3). */
public enum FlushLevel {
    /** The given range of memory. */
    RANGE(rdma_h.IBV_FLUSH_RANGE()),
    /** The whole memory region of the remote key; address and length do not matter. */
    MR(rdma_h.IBV_FLUSH_MR());

    private static final FlushLevel[] VALUES = values();

    private final int code;

    FlushLevel(int code) {
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
     * @return the constant
     * @throws IllegalArgumentException when there is none
     */
    @CheckReturnValue
    public static FlushLevel of(int code) {
        return Codes.require(VALUES, FlushLevel::code, code);
    }
}
