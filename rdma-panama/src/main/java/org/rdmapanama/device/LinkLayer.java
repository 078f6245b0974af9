package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** The link layer of a port; see ibv_query_port(3). */
public enum LinkLayer {
    /** Not reported, which means InfiniBand. */
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

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or UNSPECIFIED if there is none
     */
    public static LinkLayer of(int code) {
        return Codes.find(VALUES, LinkLayer::code, code, UNSPECIFIED);
    }
}
