package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What data is to be safe from, {@code enum ibv_placement_type}; see ibv_wr_post(3). */
public enum FlushType {
    /** It becomes visible to everybody: to all processors and devices of the peer. */
    GLOBAL(rdma_h.IBV_FLUSH_GLOBAL()),
    /** It becomes persistent: it survives a loss of power. */
    PERSISTENT(rdma_h.IBV_FLUSH_PERSISTENT());

    private final int code;

    FlushType(int code) {
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
}
