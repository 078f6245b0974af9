package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

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

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }

    /**
     * Returns a description for people to read.
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
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or NOP if there is none
     */
    public static PortState of(int code) {
        return Codes.find(VALUES, PortState::code, code, NOP);
    }
}
