package org.rdmapanama;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Path MTU, the payload that one packet may carry, {@code enum ibv_mtu}. */
public enum Mtu {
    /** 256 bytes. */
    BYTES_256(rdma_h.IBV_MTU_256()),
    /** 512 bytes. */
    BYTES_512(rdma_h.IBV_MTU_512()),
    /** 1024 bytes. */
    BYTES_1024(rdma_h.IBV_MTU_1024()),
    /** 2048 bytes. */
    BYTES_2048(rdma_h.IBV_MTU_2048()),
    /** 4096 bytes. */
    BYTES_4096(rdma_h.IBV_MTU_4096());

    private static final Mtu[] VALUES = values();

    private final int code;

    Mtu(int code) {
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

    /** The constant of a value in C, or null when there is none: some ports do not tell their MTU. */
    static Mtu orNull(int code) {
        for (Mtu mtu : VALUES) {
            if (mtu.code == code) {
                return mtu;
            }
        }
        return null;
    }

    /**
     * The constant of a value in C.
     *
     * @param code its number in {@code verbs.h}
     * @return the constant
     * @throws IllegalArgumentException when there is none
     */
    public static Mtu of(int code) {
        for (Mtu value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no Mtu has the code " + code);
    }

    /**
     * The payload of one packet.
     *
     * @return its size in bytes
     */
    public int bytes() {
        return 128 << code;
    }

    /**
     * The constant for a size.
     *
     * @param bytes 256, 512, 1024, 2048 or 4096
     * @return the constant
     * @throws IllegalArgumentException when the size is none of these
     */
    public static Mtu ofBytes(int bytes) {
        for (Mtu mtu : VALUES) {
            if (mtu.bytes() == bytes) {
                return mtu;
            }
        }
        throw new IllegalArgumentException("a path MTU is 256, 512, 1024, 2048 or 4096 bytes, not " + bytes);
    }
}
