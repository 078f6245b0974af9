package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What a shared receive queue is for, {@code enum ibv_srq_type}; see ibv_create_srq_ex(3). */
public enum SharedReceiveQueueType {
    /** Receives for any queue pairs that are made with it. */
    BASIC(rdma_h.IBV_SRQT_BASIC()),
    /** Receives for the XRC_RECV queue pairs of an XRC domain: each message names the queue by its number. */
    XRC(rdma_h.IBV_SRQT_XRC()),
    /** As BASIC, and the device matches the tags of messages with those of buffers. */
    TM(rdma_h.IBV_SRQT_TM());

    private static final SharedReceiveQueueType[] VALUES = values();

    private final int code;

    SharedReceiveQueueType(int code) {
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
    public static SharedReceiveQueueType of(int code) {
        for (SharedReceiveQueueType value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no SharedReceiveQueueType has the code " + code);
    }
}
