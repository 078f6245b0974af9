package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What the device is to do ahead of time about memory that is paged on demand; see ibv_advise_mr(3). */
public enum MemoryAdvice {
    /** Bring pages in, for reading. */
    PREFETCH(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH()),
    /** Bring pages in, for reading and writing. */
    PREFETCH_WRITE(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE()),
    /** Tell the device of the pages that are in memory already, and bring none in. */
    PREFETCH_NO_FAULT(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT()),
    /** One that this version does not know. */
    UNKNOWN(-1);

    private static final MemoryAdvice[] VALUES = values();

    private final int code;

    MemoryAdvice(int code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code verbs.h}, -1 for UNKNOWN
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
    public static MemoryAdvice of(int code) {
        for (MemoryAdvice value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
