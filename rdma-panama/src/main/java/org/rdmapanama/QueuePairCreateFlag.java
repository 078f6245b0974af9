package org.rdmapanama;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** How a queue pair behaves, {@code enum ibv_qp_create_flags}; see ibv_create_qp_ex(3). */
public enum QueuePairCreateFlag {
    /** Datagrams that it sends to a multicast group do not come back to it. */
    BLOCK_SELF_MCAST_LB(rdma_h.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB()),
    /** The frame check sequence of each raw packet is received behind it. */
    SCATTER_FCS(rdma_h.IBV_QP_CREATE_SCATTER_FCS()),
    /** The customer VLAN tag is taken off received raw packets. */
    CVLAN_STRIPPING(rdma_h.IBV_QP_CREATE_CVLAN_STRIPPING()),
    /** It sends under another number; set by {@link QueuePairOptions#sourceQueuePair}. */
    SOURCE_QPN(rdma_h.IBV_QP_CREATE_SOURCE_QPN()),
    /** What the device writes is padded to whole cache lines. */
    PCI_WRITE_END_PADDING(rdma_h.IBV_QP_CREATE_PCI_WRITE_END_PADDING());

    private static final QueuePairCreateFlag[] VALUES = values();

    private final int code;

    QueuePairCreateFlag(int code) {
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
    public static QueuePairCreateFlag of(int code) {
        for (QueuePairCreateFlag value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no QueuePairCreateFlag has the code " + code);
    }

    /** An unmodifiable copy, in the order in which the constants are declared. */
    static Set<QueuePairCreateFlag> copyOf(Collection<QueuePairCreateFlag> values) {
        Set<QueuePairCreateFlag> copy = EnumSet.noneOf(QueuePairCreateFlag.class);
        copy.addAll(values);
        return Collections.unmodifiableSet(copy);
    }

    /** The set as C takes it. */
    static int mask(Collection<QueuePairCreateFlag> values) {
        int mask = 0;
        for (QueuePairCreateFlag value : values) {
            mask |= value.code;
        }
        return mask;
    }
}
