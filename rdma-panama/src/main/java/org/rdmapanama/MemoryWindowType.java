package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** How a memory window is bound, {@code enum ibv_mw_type}; see ibv_alloc_mw(3). */
public enum MemoryWindowType {
    /** By {@link QueuePair#bind}; the device chooses each new key, and any queue pair of the domain serves peers. */
    TYPE_1(rdma_h.IBV_MW_TYPE_1()),
    /**
     * By {@link SendWorkRequest#bindMemoryWindow}, under a key that the program chooses; only the queue pair that it was
     * bound through serves peers, and can invalidate it.
     */
    TYPE_2(rdma_h.IBV_MW_TYPE_2()),
    /** One that this version does not know. */
    UNKNOWN(-1);

    private static final MemoryWindowType[] VALUES = values();

    private final int code;

    MemoryWindowType(int code) {
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
    public static MemoryWindowType of(int code) {
        for (MemoryWindowType value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
