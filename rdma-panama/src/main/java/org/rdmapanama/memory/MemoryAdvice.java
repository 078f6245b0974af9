package org.rdmapanama.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** What the device should do in advance about memory that is paged on demand; see ibv_advise_mr(3). */
public enum MemoryAdvice {
    /** Fault pages in for reading. */
    PREFETCH(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH()),
    /** Fault pages in for reading and writing. */
    PREFETCH_WRITE(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE()),
    /** Tell the device about the pages that are already in memory, and fault none in. */
    PREFETCH_NO_FAULT(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT()),
    /** A value that this version does not know. */
    UNKNOWN(-1);

    private static final MemoryAdvice[] VALUES = values();

    private final int code;

    MemoryAdvice(int code) {
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
    @CheckReturnValue
    public static MemoryAdvice of(int code) {
        return Codes.find(VALUES, MemoryAdvice::code, code, UNKNOWN);
    }
}
