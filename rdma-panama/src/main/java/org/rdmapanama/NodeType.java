package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

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

    /**
     * The value in C.
     *
     * @return the constant's number in {@code verbs.h}
     */
    public int code() {
        return code;
    }

    /**
     * This kind, in words for people.
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
     * The constant of a value in C.
     *
     * @param code its number in {@code verbs.h}
     * @return the constant, UNKNOWN when there is none
     */
    public static NodeType of(int code) {
        for (NodeType value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
