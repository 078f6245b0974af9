package org.rdmapanama;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** A field of a packet that takes part in receive-side scaling, {@code enum ibv_rx_hash_fields}; see ibv_create_qp_ex(3). */
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
    /** The fields of the inner packet of a tunnel count, not those of the outer one. */
    INNER(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_INNER()));

    private static final RxHashField[] VALUES = values();

    private final long code;

    RxHashField(long code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code verbs.h}
     */
    public long code() {
        return code;
    }

    /** An unmodifiable copy, in the order in which the constants are declared. */
    static Set<RxHashField> copyOf(Collection<RxHashField> values) {
        Set<RxHashField> copy = EnumSet.noneOf(RxHashField.class);
        copy.addAll(values);
        return Collections.unmodifiableSet(copy);
    }

    /** The set as C takes it. */
    static long mask(Collection<RxHashField> values) {
        long mask = 0;
        for (RxHashField value : values) {
            mask |= value.code;
        }
        return mask;
    }

    /** The flags of a set as C gives it, unmodifiable; bits that have no constant are left out. */
    static Set<RxHashField> ofMask(long mask) {
        Set<RxHashField> flags = EnumSet.noneOf(RxHashField.class);
        for (RxHashField flag : VALUES) {
            if ((mask & flag.code) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }
}
