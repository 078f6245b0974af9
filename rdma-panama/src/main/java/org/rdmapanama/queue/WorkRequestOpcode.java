package org.rdmapanama.queue;

import java.util.Locale;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** The kind of a work request for a send queue, {@code enum ibv_wr_opcode}; see ibv_post_send(3). */
public enum WorkRequestOpcode {
    /** Writes to the peer's memory. */
    RDMA_WRITE(rdma_h.IBV_WR_RDMA_WRITE()),
    /** Writes to the peer's memory and consumes one of its receives. */
    RDMA_WRITE_WITH_IMM(rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM()),
    /** Sends into the peer's next receive. */
    SEND(rdma_h.IBV_WR_SEND()),
    /** Sends, with 32 bits for the completion. */
    SEND_WITH_IMM(rdma_h.IBV_WR_SEND_WITH_IMM()),
    /** Reads the peer's memory. */
    RDMA_READ(rdma_h.IBV_WR_RDMA_READ()),
    /** Compares and swaps eight bytes of the peer's memory. */
    ATOMIC_CMP_AND_SWP(rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP()),
    /** Adds to eight bytes of the peer's memory. */
    ATOMIC_FETCH_AND_ADD(rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD()),
    /** Invalidates a remote key of this side. */
    LOCAL_INV(rdma_h.IBV_WR_LOCAL_INV()),
    /** Binds a memory window of type 2. */
    BIND_MW(rdma_h.IBV_WR_BIND_MW()),
    /** Sends, and invalidates a remote key of the peer. */
    SEND_WITH_INV(rdma_h.IBV_WR_SEND_WITH_INV()),
    /** Sends a stream of bytes as TCP segments. */
    TSO(rdma_h.IBV_WR_TSO()),
    /** Defined by the driver. */
    DRIVER1(rdma_h.IBV_WR_DRIVER1()),
    /** Makes earlier writes visible or persistent; extended queue pairs only. */
    FLUSH(rdma_h.IBV_WR_FLUSH()),
    /** Writes eight bytes atomically; extended queue pairs only. */
    ATOMIC_WRITE(rdma_h.IBV_WR_ATOMIC_WRITE());

    private static final WorkRequestOpcode[] VALUES = values();

    private final int code;

    WorkRequestOpcode(int code) {
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
    public static WorkRequestOpcode of(int code) {
        return Codes.require(VALUES, WorkRequestOpcode::code, code);
    }

    /**
     * Returns the name that libibverbs uses.
     *
     * @return the name, such as {@code rdma-write}
     *
     * @verb ibv_wr_opcode_str
     */
    public String text() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
