package org.rdmapanama.queue;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** Kind of a work queue, {@code enum ibv_wq_type}; see ibv_create_wq(3). */
public enum WorkQueueType {
    /** A receive queue. */
    RQ(rdma_h.IBV_WQT_RQ());

    private static final WorkQueueType[] VALUES = values();

    private final int code;

    WorkQueueType(int code) {
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
     * @return the constant
     * @throws IllegalArgumentException when there is none
     */
    public static WorkQueueType of(int code) {
        return Codes.require(VALUES, WorkQueueType::code, code);
    }
}
