package org.rdmapanama.flow;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

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
    public static CounterDescription of(int code) {
        return Codes.require(VALUES, CounterDescription::code, code);
    }
}
