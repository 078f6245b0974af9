package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** Family of transports of a device, {@code enum ibv_transport_type}. */
public enum TransportType {
    /** Not known. */
    UNKNOWN(rdma_h.IBV_TRANSPORT_UNKNOWN()),
    /** InfiniBand, or RoCE. */
    IB(rdma_h.IBV_TRANSPORT_IB()),
    /** iWARP. */
    IWARP(rdma_h.IBV_TRANSPORT_IWARP()),
    /** Cisco usNIC. */
    USNIC(rdma_h.IBV_TRANSPORT_USNIC()),
    /** Cisco usNIC over UDP. */
    USNIC_UDP(rdma_h.IBV_TRANSPORT_USNIC_UDP()),
    /** Outside the specifications, such as EFA. */
    UNSPECIFIED(rdma_h.IBV_TRANSPORT_UNSPECIFIED());

    private static final TransportType[] VALUES = values();

    private final int code;

    TransportType(int code) {
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
     * @return the constant, or UNKNOWN if there is none
     */
    public static TransportType of(int code) {
        return Codes.find(VALUES, TransportType::code, code, UNKNOWN);
    }
}
