package org.rdmapanama.queue;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** The kind of a shared receive queue, {@code enum ibv_srq_type}; see ibv_create_srq_ex(3). */
public enum SharedReceiveQueueType {
    /** Receives for any queue pairs that are created with it. */
    BASIC(rdma_h.IBV_SRQT_BASIC()),
    /** Receives for the XRC_RECV queue pairs of an XRC domain: each message names the queue by its number. */
    XRC(rdma_h.IBV_SRQT_XRC()),
    /** Like BASIC, and the device matches the tags of messages with those of buffers. */
    TM(rdma_h.IBV_SRQT_TM());

    private static final SharedReceiveQueueType[] VALUES = values();

    private final int code;

    SharedReceiveQueueType(int code) {
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
    public static SharedReceiveQueueType of(int code) {
        return Codes.require(VALUES, SharedReceiveQueueType::code, code);
    }
}
