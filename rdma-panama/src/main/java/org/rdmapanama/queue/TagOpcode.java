package org.rdmapanama.queue;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** The kind of an operation on the tag list, {@code enum ibv_ops_wr_opcode}; see ibv_post_srq_ops(3). */
public enum TagOpcode {
    /** A buffer with a tag joins the list. */
    ADD(rdma_h.IBV_WR_TAG_ADD()),
    /** A buffer leaves the list. */
    DEL(rdma_h.IBV_WR_TAG_DEL()),
    /** The list is unchanged; only the number of unexpected messages is passed to the device. */
    SYNC(rdma_h.IBV_WR_TAG_SYNC());

    private static final TagOpcode[] VALUES = values();

    private final int code;

    TagOpcode(int code) {
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
    public static TagOpcode of(int code) {
        return Codes.require(VALUES, TagOpcode::code, code);
    }
}
