package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** How much a flush covers, {@code enum ibv_selectivity_level}; see ibv_wr_post(3). */
public enum FlushLevel {
    /** The range of memory that is given. */
    RANGE(rdma_h.IBV_FLUSH_RANGE()),
    /** The whole memory region of the remote key; address and length do not matter. */
    MR(rdma_h.IBV_FLUSH_MR());

    private static final FlushLevel[] VALUES = values();

    private final int code;

    FlushLevel(int code) {
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
     * @return the constant
     * @throws IllegalArgumentException when there is none
     */
    public static FlushLevel of(int code) {
        for (FlushLevel value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no FlushLevel has the code " + code);
    }
}
