package org.rdmapanama;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** Part of a packet that the hash of receive side scaling may cover, {@code enum ibv_rx_hash_fields}; see
 * {@link RssCapabilities}. */
public enum RssHashField {
    /** Source address of IPv4. */
    SRC_IPV4(rdma_h.IBV_RX_HASH_SRC_IPV4()),
    /** Destination address of IPv4. */
    DST_IPV4(rdma_h.IBV_RX_HASH_DST_IPV4()),
    /** Source address of IPv6. */
    SRC_IPV6(rdma_h.IBV_RX_HASH_SRC_IPV6()),
    /** Destination address of IPv6. */
    DST_IPV6(rdma_h.IBV_RX_HASH_DST_IPV6()),
    /** Source port of TCP. */
    SRC_PORT_TCP(rdma_h.IBV_RX_HASH_SRC_PORT_TCP()),
    /** Destination port of TCP. */
    DST_PORT_TCP(rdma_h.IBV_RX_HASH_DST_PORT_TCP()),
    /** Source port of UDP. */
    SRC_PORT_UDP(rdma_h.IBV_RX_HASH_SRC_PORT_UDP()),
    /** Destination port of UDP. */
    DST_PORT_UDP(rdma_h.IBV_RX_HASH_DST_PORT_UDP()),
    /** Security parameter index of IPsec. */
    IPSEC_SPI(rdma_h.IBV_RX_HASH_IPSEC_SPI()),
    /** The fields of the inner packet, where one is encapsulated. */
    INNER(Integer.toUnsignedLong(rdma_h.IBV_RX_HASH_INNER()));

    private static final RssHashField[] VALUES = values();

    private final long code;

    RssHashField(long code) {
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

    /** The flags of a set as C gives it, unmodifiable; bits that have no constant are left out. */
    static Set<RssHashField> of(long mask) {
        Set<RssHashField> flags = EnumSet.noneOf(RssHashField.class);
        for (RssHashField flag : VALUES) {
            if ((mask & flag.code) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }
}
