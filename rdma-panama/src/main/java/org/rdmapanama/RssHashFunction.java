package org.rdmapanama;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** Hash of receive side scaling, {@code enum ibv_rx_hash_function_flags}; see {@link RssCapabilities}. */
public enum RssHashFunction {
    /** The Toeplitz hash. */
    TOEPLITZ(rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ());

    private static final RssHashFunction[] VALUES = values();

    private final int code;

    RssHashFunction(int code) {
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

    /** The flags of a set as C gives it, unmodifiable; bits that have no constant are left out. */
    static Set<RssHashFunction> of(int mask) {
        Set<RssHashFunction> flags = EnumSet.noneOf(RssHashFunction.class);
        for (RssHashFunction flag : VALUES) {
            if ((mask & flag.code) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }
}
