package org.rdmapanama;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** In which order received data becomes visible to the processor, {@code enum ibv_query_qp_data_in_order_caps}; see ibv_query_qp_data_in_order(3). */
public enum DataInOrder {
    /** From the first byte of a message to the last: whoever sees the last byte sees all. */
    WHOLE_MSG(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG()),
    /** In order inside each aligned block of 128 bytes. */
    ALIGNED_128_BYTES(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES());

    private static final DataInOrder[] VALUES = values();

    private final int code;

    DataInOrder(int code) {
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

    /** An unmodifiable copy, in the order in which the constants are declared. */
    static Set<DataInOrder> copyOf(Collection<DataInOrder> values) {
        Set<DataInOrder> copy = EnumSet.noneOf(DataInOrder.class);
        copy.addAll(values);
        return Collections.unmodifiableSet(copy);
    }

    /** The set as C takes it. */
    static int mask(Collection<DataInOrder> values) {
        int mask = 0;
        for (DataInOrder value : values) {
            mask |= value.code;
        }
        return mask;
    }

    /** The constants of a set as C gives it. */
    static Set<DataInOrder> ofMask(int mask) {
        Set<DataInOrder> set = EnumSet.noneOf(DataInOrder.class);
        for (DataInOrder value : VALUES) {
            if ((mask & value.code) != 0) {
                set.add(value);
            }
        }
        return Collections.unmodifiableSet(set);
    }
}
