package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

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
    public static Mtu of(int code) {
        return Codes.require(VALUES, Mtu::code, code);
    }

    /** {@return the payload of one packet, in bytes} */
    public int bytes() {
        return 128 << code;
    }

    /**
     * Returns the constant of a size.
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
        throw new IllegalArgumentException("path MTU must be 256, 512, 1024, 2048 or 4096 bytes: " + bytes);
    }
}
