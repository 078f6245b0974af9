package org.rdmapanama.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** How a memory window is bound, {@code enum ibv_mw_type}; see ibv_alloc_mw(3). */
public enum MemoryWindowType {
    /**
     * Bound by {@link QueuePair#bind}. The device chooses each new key, and peers may use any queue pair of the domain.
     */
    TYPE_1(rdma_h.IBV_MW_TYPE_1()),
    /**
     * Bound by {@link SendWorkRequest#bindMemoryWindow} under a key that the program chooses. Peers can use and
     * invalidate it only on the queue pair through which it was bound.
     */
    TYPE_2(rdma_h.IBV_MW_TYPE_2()),
    /** A value that this version does not know. */
    UNKNOWN(-1);

    private static final MemoryWindowType[] VALUES = values();

    private final int code;

    MemoryWindowType(int code) {
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
    public static MemoryWindowType of(int code) {
        return Codes.find(VALUES, MemoryWindowType::code, code, UNKNOWN);
    }
}
