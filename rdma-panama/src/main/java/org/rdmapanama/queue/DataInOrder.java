package org.rdmapanama.queue;

import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * The order in which received data becomes visible to the processor, {@code enum ibv_query_qp_data_in_order_caps}; see
 * ibv_query_qp_data_in_order(3).
 */
public enum DataInOrder {
    /** From the first byte of a message to the last: if the last byte is visible, all are. */
    WHOLE_MSG(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG()),
    /** In order inside each aligned block of 128 bytes. */
    ALIGNED_128_BYTES(rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES());

    private final int code;

    DataInOrder(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
