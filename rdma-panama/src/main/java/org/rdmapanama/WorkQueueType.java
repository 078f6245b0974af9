package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Kind of a work queue, {@code enum ibv_wq_type}; see ibv_create_wq(3). */
public enum WorkQueueType {
    /** A receive queue. */
    RQ(rdma_h.IBV_WQT_RQ());

    private static final WorkQueueType[] VALUES = values();

    private final int code;

    WorkQueueType(int code) {
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
     * @return the constant
     * @throws IllegalArgumentException when there is none
     */
    public static WorkQueueType of(int code) {
        for (WorkQueueType value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no WorkQueueType has the code " + code);
    }
}
