package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * A field of a packet that takes part in receive-side scaling, {@code enum ibv_rx_hash_fields}; see
 * ibv_create_qp_ex(3).
 */
public enum RxHashField {
    /** Source address of IPv4. */
    SRC_IPV4(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_SRC_IPV4())),
    /** Destination address of IPv4. */
    DST_IPV4(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_DST_IPV4())),
    /** Source address of IPv6. */
    SRC_IPV6(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_SRC_IPV6())),
    /** Destination address of IPv6. */
    DST_IPV6(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_DST_IPV6())),
    /** Source port of TCP. */
    SRC_PORT_TCP(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_SRC_PORT_TCP())),
    /** Destination port of TCP. */
    DST_PORT_TCP(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_DST_PORT_TCP())),
    /** Source port of UDP. */
    SRC_PORT_UDP(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_SRC_PORT_UDP())),
    /** Destination port of UDP. */
    DST_PORT_UDP(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_DST_PORT_UDP())),
    /** Security parameters index of IPsec. */
    IPSEC_SPI(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_IPSEC_SPI())),
    /** Hash the fields of the inner packet of a tunnel, not those of the outer one. */
    INNER(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_INNER()));

    private final long code;

    RxHashField(long code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public long code() {
        return code;
    }
}
