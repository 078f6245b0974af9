package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Operation whose memory may be paged on demand, {@code enum ibv_odp_transport_cap_bits}; see
 * {@link OnDemandPagingCapabilities}. */
public enum OdpOperation {
    /** Memory that is sent from. */
    SEND(rdma_h.IBV_ODP_SUPPORT_SEND()),
    /** Memory that is received into. */
    RECV(rdma_h.IBV_ODP_SUPPORT_RECV()),
    /** Memory of RDMA writes, on both sides. */
    WRITE(rdma_h.IBV_ODP_SUPPORT_WRITE()),
    /** Memory of RDMA reads, on both sides. */
    READ(rdma_h.IBV_ODP_SUPPORT_READ()),
    /** Memory of atomics, on both sides. */
    ATOMIC(rdma_h.IBV_ODP_SUPPORT_ATOMIC()),
    /** Memory that is received into through a shared receive queue. */
    SRQ_RECV(rdma_h.IBV_ODP_SUPPORT_SRQ_RECV());

    private final int code;

    OdpOperation(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
