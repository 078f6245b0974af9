package org.rdmapanama.cm;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What happened to an id, {@code enum rdma_cm_event_type}; see rdma_get_cm_event(3). */
public enum CmEventType {
    /** The address was resolved, and the id has a device. */
    ADDR_RESOLVED(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED()),
    /** The address cannot be resolved. */
    ADDR_ERROR(rdma_h.RDMA_CM_EVENT_ADDR_ERROR()),
    /** The route was resolved. */
    ROUTE_RESOLVED(rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED()),
    /** The route cannot be resolved. */
    ROUTE_ERROR(rdma_h.RDMA_CM_EVENT_ROUTE_ERROR()),
    /** A peer wants to connect; the event has a new id. */
    CONNECT_REQUEST(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST()),
    /** The peer accepted; this side is to make its queue pair ready and to establish the connection. */
    CONNECT_RESPONSE(rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE()),
    /** Connecting failed. */
    CONNECT_ERROR(rdma_h.RDMA_CM_EVENT_CONNECT_ERROR()),
    /** The peer does not answer. */
    UNREACHABLE(rdma_h.RDMA_CM_EVENT_UNREACHABLE()),
    /** The peer rejected; status and private data say why. */
    REJECTED(rdma_h.RDMA_CM_EVENT_REJECTED()),
    /** The connection is there. */
    ESTABLISHED(rdma_h.RDMA_CM_EVENT_ESTABLISHED()),
    /** The connection ended. */
    DISCONNECTED(rdma_h.RDMA_CM_EVENT_DISCONNECTED()),
    /** The device goes away: close the id and all of its queue pair. */
    DEVICE_REMOVAL(rdma_h.RDMA_CM_EVENT_DEVICE_REMOVAL()),
    /** The group was joined. */
    MULTICAST_JOIN(rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN()),
    /** The group was not joined, or is lost. */
    MULTICAST_ERROR(rdma_h.RDMA_CM_EVENT_MULTICAST_ERROR()),
    /** The device of the address changed. */
    ADDR_CHANGE(rdma_h.RDMA_CM_EVENT_ADDR_CHANGE()),
    /** The queue pair may be used for another connection. */
    TIMEWAIT_EXIT(rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT()),
    /** None of these. */
    UNKNOWN(-1);

    private static final CmEventType[] VALUES = values();

    private final int code;

    CmEventType(int code) {
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
    public static CmEventType of(int code) {
        for (CmEventType value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
