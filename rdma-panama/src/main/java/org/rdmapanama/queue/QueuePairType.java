package org.rdmapanama.queue;

import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** Transport service of a queue pair, {@code enum ibv_qp_type}; see ibv_create_qp(3). */
public enum QueuePairType {
    /** Reliable connected: acknowledged, in order, one peer; every operation. */
    RC(rdma_h.IBV_QPT_RC()),
    /** Unreliable connected: one peer, no acknowledgement; send and RDMA write. */
    UC(rdma_h.IBV_QPT_UC()),
    /** Unreliable datagram: any peer, one packet a message; send. */
    UD(rdma_h.IBV_QPT_UD()),
    /** Raw Ethernet frames. */
    RAW_PACKET(rdma_h.IBV_QPT_RAW_PACKET()),
    /** Extended reliable connected, sending side. */
    XRC_SEND(rdma_h.IBV_QPT_XRC_SEND()),
    /** Extended reliable connected, receiving side. */
    XRC_RECV(rdma_h.IBV_QPT_XRC_RECV()),
    /** A type that the driver defines, such as EFA's SRD. */
    DRIVER(rdma_h.IBV_QPT_DRIVER());

    private static final QueuePairType[] VALUES = values();

    private final int code;

    QueuePairType(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }

    /**
     * Returns the types of a bit mask such as {@code ibv_tso_caps.supported_qpts}, in which bit N stands for the type
     * with the code N; see {@code ibv_is_qpt_supported}. {@link #DRIVER} has no bit.
     *
     * @param mask 32 bits
     * @return an unmodifiable set
     */
    public static Set<QueuePairType> ofMask(int mask) {
        return Codes.flags(QueuePairType.class, QueuePairType::bit, Integer.toUnsignedLong(mask));
    }

    private long bit() {
        return code < Integer.SIZE ? 1L << code : 0;
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant
     * @throws IllegalArgumentException when there is none
     */
    public static QueuePairType of(int code) {
        return Codes.require(VALUES, QueuePairType::code, code);
    }
}
