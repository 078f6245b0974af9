package org.rdmapanama.address;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** The type of a GID, {@code enum ibv_gid_type}; see ibv_query_gid_ex(3). */
public enum GidType {
    /** InfiniBand. */
    IB(rdma_h.IBV_GID_TYPE_IB()),
    /** RoCE version 1: Ethertype 0x8915, one Ethernet segment. */
    ROCE_V1(rdma_h.IBV_GID_TYPE_ROCE_V1()),
    /** RoCE version 2: UDP port 4791, routable. */
    ROCE_V2(rdma_h.IBV_GID_TYPE_ROCE_V2()),
    /** A value that this version does not know. */
    UNKNOWN(-1);

    private static final GidType[] VALUES = values();

    private final int code;

    GidType(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}, -1 for UNKNOWN} */
    public int code() {
        return code;
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or UNKNOWN if there is none
     */
    @CheckReturnValue
    public static GidType of(int code) {
        return Codes.find(VALUES, GidType::code, code, UNKNOWN);
    }
}
