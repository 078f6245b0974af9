package org.rdmapanama.memory;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What a flush guarantees for the data, {@code enum ibv_placement_type}; see ibv_wr_post(3). */
public enum FlushType {
    /** The data becomes visible to all processors and devices of the peer. */
    GLOBAL(rdma_h.IBV_FLUSH_GLOBAL()),
    /** The data becomes persistent and survives a loss of power. */
    PERSISTENT(rdma_h.IBV_FLUSH_PERSISTENT());

    private final int code;

    FlushType(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
