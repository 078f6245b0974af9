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
     * What happened, in words for people; see rdma_event_str(3), whose words are the constants' names.
     *
     * @return a phrase in lower case, without a full stop
     * @verb rdma_event_str
     */
    public String description() {
        return switch (this) {
            case ADDR_RESOLVED -> "address was resolved";
            case ADDR_ERROR -> "address cannot be resolved";
            case ROUTE_RESOLVED -> "route was resolved";
            case ROUTE_ERROR -> "route cannot be resolved";
            case CONNECT_REQUEST -> "peer wants to connect";
            case CONNECT_RESPONSE -> "peer accepted the connection";
            case CONNECT_ERROR -> "connecting failed";
            case UNREACHABLE -> "peer does not answer, or is not reachable";
            case REJECTED -> "peer rejected the connection";
            case ESTABLISHED -> "connection is established";
            case DISCONNECTED -> "connection ended";
            case DEVICE_REMOVAL -> "device goes away: close everything on it";
            case MULTICAST_JOIN -> "multicast group was joined";
            case MULTICAST_ERROR -> "multicast group was not joined, or is lost";
            case ADDR_CHANGE -> "device of the address changed";
            case TIMEWAIT_EXIT -> "queue pair may be used for another connection";
            case UNKNOWN -> "event is unknown";
        };
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
