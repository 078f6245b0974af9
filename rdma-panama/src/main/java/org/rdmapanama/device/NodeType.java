package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** Kind of device, {@code enum ibv_node_type}. */
public enum NodeType {
    /** Not known. */
    UNKNOWN(rdma_h.IBV_NODE_UNKNOWN()),
    /** Channel adapter: InfiniBand or RoCE. */
    CA(rdma_h.IBV_NODE_CA()),
    /** InfiniBand switch. */
    SWITCH(rdma_h.IBV_NODE_SWITCH()),
    /** InfiniBand router. */
    ROUTER(rdma_h.IBV_NODE_ROUTER()),
    /** iWARP adapter. */
    RNIC(rdma_h.IBV_NODE_RNIC()),
    /** Cisco usNIC. */
    USNIC(rdma_h.IBV_NODE_USNIC()),
    /** Cisco usNIC over UDP. */
    USNIC_UDP(rdma_h.IBV_NODE_USNIC_UDP()),
    /** Outside the specifications, such as EFA. */
    UNSPECIFIED(rdma_h.IBV_NODE_UNSPECIFIED());

    private static final NodeType[] VALUES = values();

    private final int code;

    NodeType(int code) {
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
     * @verb ibv_node_type_str
     */
    public String description() {
        return switch (this) {
            case UNKNOWN -> "unknown kind of device";
            case CA -> "channel adapter, for InfiniBand or RoCE";
            case SWITCH -> "switch of an InfiniBand fabric";
            case ROUTER -> "router between InfiniBand subnets";
            case RNIC -> "iWARP adapter";
            case USNIC -> "Cisco usNIC";
            case USNIC_UDP -> "Cisco usNIC over UDP";
            case UNSPECIFIED -> "device outside the InfiniBand and iWARP specifications";
        };
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or UNKNOWN if there is none
     */
    public static NodeType of(int code) {
        return Codes.find(VALUES, NodeType::code, code, UNKNOWN);
    }
}
