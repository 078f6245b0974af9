package org.rdmapanama;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** Which function spreads packets over receive queues, {@code enum ibv_rx_hash_function_flags}; see ibv_create_qp_ex(3). */
public enum RxHashFunction {
    /** The Toeplitz hash, which takes a key of 40 bytes. */
    TOEPLITZ(rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ());

    private static final RxHashFunction[] VALUES = values();

    private final int code;

    RxHashFunction(int code) {
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
    public static RxHashFunction of(int code) {
        for (RxHashFunction value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no RxHashFunction has the code " + code);
    }

    /** The flags of a set as C gives it, unmodifiable; bits that have no constant are left out. */
    static Set<RxHashFunction> ofMask(int mask) {
        Set<RxHashFunction> flags = EnumSet.noneOf(RxHashFunction.class);
        for (RxHashFunction flag : VALUES) {
            if ((mask & flag.code) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }
}
