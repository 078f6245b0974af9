package org.rdmapanama.flow;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** The packets that a rule applies to, {@code enum ibv_flow_attr_type}; see ibv_create_flow(3). */
public enum FlowRuleType {
    /** Packets that match its specifications. */
    NORMAL(rdma_h.IBV_FLOW_ATTR_NORMAL()),
    /** All Ethernet traffic that is not steered to a queue pair. */
    ALL_DEFAULT(rdma_h.IBV_FLOW_ATTR_ALL_DEFAULT()),
    /** All Ethernet multicast traffic that is not steered to a queue pair. */
    MC_DEFAULT(rdma_h.IBV_FLOW_ATTR_MC_DEFAULT()),
    /** A copy of all traffic of the port, needing no specification. */
    SNIFFER(rdma_h.IBV_FLOW_ATTR_SNIFFER());

    private static final FlowRuleType[] VALUES = values();

    private final int code;

    FlowRuleType(int code) {
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
    public static FlowRuleType of(int code) {
        return Codes.require(VALUES, FlowRuleType::code, code);
    }
}
