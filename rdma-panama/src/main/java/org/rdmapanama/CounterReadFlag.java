package org.rdmapanama;

import java.util.Collection;
import org.rdmapanama.ffm.verbs.rdma_h;

/** How counters are read, {@code enum ibv_read_counters_flags}; see ibv_read_counters(3). */
public enum CounterReadFlag {
    /** What the driver knows already will do, if it knows anything; else the device is asked. */
    PREFER_CACHED(rdma_h.IBV_READ_COUNTERS_ATTR_PREFER_CACHED());

    private final int code;

    CounterReadFlag(int code) {
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

    /** The set of flags as C takes it. */
    static int mask(Collection<CounterReadFlag> flags) {
        int mask = 0;
        for (CounterReadFlag flag : flags) {
            mask |= flag.code;
        }
        return mask;
    }
}
