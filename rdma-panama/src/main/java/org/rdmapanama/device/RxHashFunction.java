package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/**
 * The function that spreads packets over receive queues, {@code enum ibv_rx_hash_function_flags}; see
 * ibv_create_qp_ex(3).
 */
public enum RxHashFunction {
    /** The Toeplitz hash, which takes a key of 40 bytes. */
    TOEPLITZ(rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ());

    private static final RxHashFunction[] VALUES = values();

    private final int code;

    RxHashFunction(int code) {
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
    public static RxHashFunction of(int code) {
        return Codes.require(VALUES, RxHashFunction::code, code);
    }
}
