package org.rdmapanama.cm;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.ffm.verbs.rdma_h;

/** The namespace of an id's port numbers, {@code enum rdma_port_space}; see rdma_create_id(3). */
public enum PortSpace {
    /** Reliable connections, like TCP: queue pairs of type RC. */
    TCP(rdma_h.RDMA_PS_TCP()),
    /** Datagrams, like UDP: queue pairs of type UD. */
    UDP(rdma_h.RDMA_PS_UDP()),
    /** Service identifiers of InfiniBand: any type of queue pair. */
    IB(rdma_h.RDMA_PS_IB()),
    /** Datagrams that share the multicast groups of IP over InfiniBand: queue pairs of type UD. */
    IPOIB(rdma_h.RDMA_PS_IPOIB()),
    /** A value that this library does not know. */
    UNKNOWN(-1);

    private static final PortSpace[] VALUES = values();

    private final int code;

    PortSpace(int code) {
        this.code = code;
    }

    /**
     * Returns the value of the C constant.
     *
     * @return the constant's number in {@code rdma_cma.h}; -1 for UNKNOWN
     */
    public int code() {
        return code;
    }

    /**
     * Returns the constant for a C value.
     *
     * @param code its number in {@code rdma_cma.h}
     * @return the constant, or UNKNOWN if the code is not known
     */
    @CheckReturnValue
    public static PortSpace of(int code) {
        for (PortSpace value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
