package org.rdmapanama.cm;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Whose port numbers an id uses, and what it carries, {@code enum rdma_port_space}; see rdma_create_id(3). */
public enum PortSpace {
    /** Reliable, connected, as TCP is: queue pairs of type RC. */
    TCP(rdma_h.RDMA_PS_TCP()),
    /** Datagrams, as UDP is: queue pairs of type UD. */
    UDP(rdma_h.RDMA_PS_UDP()),
    /** Service identifiers of InfiniBand: any type of queue pair. */
    IB(rdma_h.RDMA_PS_IB()),
    /** Datagrams that share the multicast groups of IP over InfiniBand: queue pairs of type UD. */
    IPOIB(rdma_h.RDMA_PS_IPOIB()),
    /** None of these. */
    UNKNOWN(-1);

    private static final PortSpace[] VALUES = values();

    private final int code;

    PortSpace(int code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code rdma_cma.h}; -1 for UNKNOWN
     */
    public int code() {
        return code;
    }

    /**
     * The constant of a value in C.
     *
     * @param code its number in {@code rdma_cma.h}
     * @return the constant, UNKNOWN when there is none
     */
    public static PortSpace of(int code) {
        for (PortSpace value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
