package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What an operation does to the list of tags, {@code enum ibv_ops_wr_opcode}; see ibv_post_srq_ops(3). */
public enum TagOpcode {
    /** A buffer with a tag joins the list. */
    ADD(rdma_h.IBV_WR_TAG_ADD()),
    /** A buffer leaves the list. */
    DEL(rdma_h.IBV_WR_TAG_DEL()),
    /** The list stays as it is: only the number of unexpected messages is told. */
    SYNC(rdma_h.IBV_WR_TAG_SYNC());

    private static final TagOpcode[] VALUES = values();

    private final int code;

    TagOpcode(int code) {
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
    public static TagOpcode of(int code) {
        for (TagOpcode value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no TagOpcode has the code " + code);
    }
}
