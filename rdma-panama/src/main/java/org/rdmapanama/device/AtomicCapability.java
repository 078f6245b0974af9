package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;

/** The scope in which a device's atomic operations are atomic, {@code enum ibv_atomic_cap}; see ibv_query_device(3). */
public enum AtomicCapability {
    /** The device has no atomic operations. */
    NONE(rdma_h.IBV_ATOMIC_NONE()),
    /** Atomic with respect to operations through this device. */
    HCA(rdma_h.IBV_ATOMIC_HCA()),
    /** Also atomic with respect to processors and other devices. */
    GLOBAL(rdma_h.IBV_ATOMIC_GLOB());

    private final int code;

    AtomicCapability(int code) {
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
     * @return the constant, or NONE if there is none
     */
    public static AtomicCapability of(int code) {
        return code == GLOBAL.code ? GLOBAL : code == HCA.code ? HCA : NONE;
    }
}
