package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What a GID belongs to, {@code enum ibv_gid_type}; see ibv_query_gid_ex(3). */
public enum GidType {
    /** InfiniBand. */
    IB(rdma_h.IBV_GID_TYPE_IB()),
    /** RoCE version 1: Ethertype 0x8915, one Ethernet segment. */
    ROCE_V1(rdma_h.IBV_GID_TYPE_ROCE_V1()),
    /** RoCE version 2: UDP port 4791, routable. */
    ROCE_V2(rdma_h.IBV_GID_TYPE_ROCE_V2()),
    /** One that this version does not know. */
    UNKNOWN(-1);

    private static final GidType[] VALUES = values();

    private final int code;

    GidType(int code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code verbs.h}, -1 for UNKNOWN
     */
    public int code() {
        return code;
    }

    /**
     * The constant of a value in C.
     *
     * @param code its number in {@code verbs.h}
     * @return the constant, UNKNOWN when there is none
     */
    public static GidType of(int code) {
        for (GidType value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
