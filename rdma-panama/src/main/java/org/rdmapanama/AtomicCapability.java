package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** How atomic a device's atomic operations are, {@code enum ibv_atomic_cap}; see ibv_query_device(3). */
public enum AtomicCapability {
    /** There are none. */
    NONE(rdma_h.IBV_ATOMIC_NONE()),
    /** Among operations through this device. */
    HCA(rdma_h.IBV_ATOMIC_HCA()),
    /** Also against processors and other devices. */
    GLOBAL(rdma_h.IBV_ATOMIC_GLOB());

    private final int code;

    AtomicCapability(int code) {
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

    static AtomicCapability of(int code) {
        return code == GLOBAL.code ? GLOBAL : code == HCA.code ? HCA : NONE;
    }
}
