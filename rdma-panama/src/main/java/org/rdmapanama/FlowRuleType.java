package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Which packets a rule is about, {@code enum ibv_flow_attr_type}; see ibv_create_flow(3). */
public enum FlowRuleType {
    /** Those that its specifications match. */
    NORMAL(rdma_h.IBV_FLOW_ATTR_NORMAL()),
    /** All Ethernet traffic that is steered to no queue pair. */
    ALL_DEFAULT(rdma_h.IBV_FLOW_ATTR_ALL_DEFAULT()),
    /** All Ethernet multicast traffic that is steered to no queue pair. */
    MC_DEFAULT(rdma_h.IBV_FLOW_ATTR_MC_DEFAULT()),
    /** A copy of all traffic of the port, needing no specification. */
    SNIFFER(rdma_h.IBV_FLOW_ATTR_SNIFFER());

    private static final FlowRuleType[] VALUES = values();

    private final int code;

    FlowRuleType(int code) {
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
    public static FlowRuleType of(int code) {
        for (FlowRuleType value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no FlowRuleType has the code " + code);
    }
}
