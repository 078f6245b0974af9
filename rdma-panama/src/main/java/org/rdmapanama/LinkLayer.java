package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What a port runs on; see ibv_query_port(3). */
public enum LinkLayer {
    /** Not told, which means InfiniBand. */
    UNSPECIFIED(rdma_h.IBV_LINK_LAYER_UNSPECIFIED()),
    /** InfiniBand. */
    INFINIBAND(rdma_h.IBV_LINK_LAYER_INFINIBAND()),
    /** Ethernet: RoCE or iWARP. */
    ETHERNET(rdma_h.IBV_LINK_LAYER_ETHERNET());

    private static final LinkLayer[] VALUES = values();

    private final int code;

    LinkLayer(int code) {
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
     * @return the constant, UNSPECIFIED when there is none
     */
    public static LinkLayer of(int code) {
        for (LinkLayer value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNSPECIFIED;
    }
}
