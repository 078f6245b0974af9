package org.rdmapanama.flow;

import org.rdmapanama.ffm.verbs.rdma_h;

/** An option of a rule, {@code enum ibv_flow_flags}; see ibv_create_flow(3). */
public enum FlowFlag {
    /** Packets that match also go to the rules of lower priority. Only for rules of type NORMAL. */
    DONT_TRAP(rdma_h.IBV_FLOW_ATTR_FLAGS_DONT_TRAP()),
    /** The rule applies to packets that are sent; the queue pair then only determines the device. */
    EGRESS(rdma_h.IBV_FLOW_ATTR_FLAGS_EGRESS());

    private final int code;

    FlowFlag(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
