package org.rdmapanama.flow;

import org.rdmapanama.ffm.verbs.rdma_h;

/** How counters are read, {@code enum ibv_read_counters_flags}; see ibv_read_counters(3). */
public enum CounterReadFlag {
    /** Use the values that the driver has cached, if there are any; otherwise ask the device. */
    PREFER_CACHED(rdma_h.IBV_READ_COUNTERS_ATTR_PREFER_CACHED());

    private final int code;

    CounterReadFlag(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
