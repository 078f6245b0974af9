package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What a counter counts, {@code enum ibv_counter_description}; see ibv_attach_counters_point_flow(3). */
public enum CounterDescription {
    /** Packets. */
    PACKETS(rdma_h.IBV_COUNTER_PACKETS()),
    /** Bytes. */
    BYTES(rdma_h.IBV_COUNTER_BYTES());

    private static final CounterDescription[] VALUES = values();

    private final int code;

    CounterDescription(int code) {
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
    public static CounterDescription of(int code) {
        for (CounterDescription value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no CounterDescription has the code " + code);
    }
}
