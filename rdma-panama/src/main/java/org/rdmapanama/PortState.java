package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** State of a port, {@code enum ibv_port_state}; see ibv_query_port(3). */
public enum PortState {
    /** No state. */
    NOP(rdma_h.IBV_PORT_NOP()),
    /** No link. */
    DOWN(rdma_h.IBV_PORT_DOWN()),
    /** Link, but not configured by a subnet manager yet. */
    INIT(rdma_h.IBV_PORT_INIT()),
    /** Configured, not active yet. */
    ARMED(rdma_h.IBV_PORT_ARMED()),
    /** Up. */
    ACTIVE(rdma_h.IBV_PORT_ACTIVE()),
    /** Up, and the link is retraining. */
    ACTIVE_DEFER(rdma_h.IBV_PORT_ACTIVE_DEFER());

    private static final PortState[] VALUES = values();

    private final int code;

    PortState(int code) {
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
     * This state, in words for people.
     *
     * @return a phrase in lower case, without a full stop
     * @verb ibv_port_state_str
     */
    public String description() {
        return switch (this) {
            case NOP -> "no state";
            case DOWN -> "no link";
            case INIT -> "link is up, waiting for the subnet manager";
            case ARMED -> "configured, not active yet";
            case ACTIVE -> "up";
            case ACTIVE_DEFER -> "up, link is retraining";
        };
    }

    /**
     * The constant of a value in C.
     *
     * @param code its number in {@code verbs.h}
     * @return the constant, NOP when there is none
     */
    public static PortState of(int code) {
        for (PortState value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return NOP;
    }
}
