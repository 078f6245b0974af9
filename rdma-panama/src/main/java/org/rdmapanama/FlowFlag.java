package org.rdmapanama;

import java.util.Collection;
import org.rdmapanama.ffm.verbs.rdma_h;

/** What else is to be said of a rule, {@code enum ibv_flow_flags}; see ibv_create_flow(3). */
public enum FlowFlag {
    /** Packets that match go on to the rules of lower priority as well. Of rules of type NORMAL only. */
    DONT_TRAP(rdma_h.IBV_FLOW_ATTR_FLAGS_DONT_TRAP()),
    /** The rule is about packets that are sent; the queue pair then only tells the device. */
    EGRESS(rdma_h.IBV_FLOW_ATTR_FLAGS_EGRESS());

    private final int code;

    FlowFlag(int code) {
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
    static int mask(Collection<FlowFlag> flags) {
        int mask = 0;
        for (FlowFlag flag : flags) {
            mask |= flag.code;
        }
        return mask;
    }
}
