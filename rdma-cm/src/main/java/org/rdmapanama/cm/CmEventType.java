package org.rdmapanama.cm;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.ffm.verbs.rdma_h;

/** The type of a {@link CmEvent}, {@code enum rdma_cm_event_type}; see rdma_get_cm_event(3). */
public enum CmEventType {
    /** The address was resolved, and the id is bound to a device. */
    ADDR_RESOLVED(rdma_h.RDMA_CM_EVENT_ADDR_RESOLVED()),
    /** The address could not be resolved. */
    ADDR_ERROR(rdma_h.RDMA_CM_EVENT_ADDR_ERROR()),
    /** The route was resolved. */
    ROUTE_RESOLVED(rdma_h.RDMA_CM_EVENT_ROUTE_RESOLVED()),
    /** The route could not be resolved. */
    ROUTE_ERROR(rdma_h.RDMA_CM_EVENT_ROUTE_ERROR()),
    /** A peer asks for a connection; the event carries a new id. */
    CONNECT_REQUEST(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST()),
    /** The peer accepted; this side must move its queue pair to RTS and establish the connection. */
    CONNECT_RESPONSE(rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE()),
    /** The connection attempt failed. */
    CONNECT_ERROR(rdma_h.RDMA_CM_EVENT_CONNECT_ERROR()),
    /** The peer did not answer or cannot be reached. */
    UNREACHABLE(rdma_h.RDMA_CM_EVENT_UNREACHABLE()),
    /** The peer rejected the request; status and private data say why. */
    REJECTED(rdma_h.RDMA_CM_EVENT_REJECTED()),
    /** The connection is established. */
    ESTABLISHED(rdma_h.RDMA_CM_EVENT_ESTABLISHED()),
    /**
     * The connection ended. The status is 0 if one side ended it; otherwise it says how the peer went: -ECONNRESET (-104) if
     * its process died, which {@code soft0} tells from an end, and -ETIMEDOUT (-110) if it does not answer.
     */
    DISCONNECTED(rdma_h.RDMA_CM_EVENT_DISCONNECTED()),
    /** The device is being removed: close the id, its queue pair and everything else on the device. */
    DEVICE_REMOVAL(rdma_h.RDMA_CM_EVENT_DEVICE_REMOVAL()),
    /** The multicast group was joined. */
    MULTICAST_JOIN(rdma_h.RDMA_CM_EVENT_MULTICAST_JOIN()),
    /** The multicast group could not be joined, or the membership was lost. */
    MULTICAST_ERROR(rdma_h.RDMA_CM_EVENT_MULTICAST_ERROR()),
    /** The network device behind the address changed, for example after a failover of a bond. */
    ADDR_CHANGE(rdma_h.RDMA_CM_EVENT_ADDR_CHANGE()),
    /** The queue pair may be reused for another connection. */
    TIMEWAIT_EXIT(rdma_h.RDMA_CM_EVENT_TIMEWAIT_EXIT()),
    /** A value that this library does not know. */
    UNKNOWN(-1);

    private static final CmEventType[] VALUES = values();

    private final int code;

    CmEventType(int code) {
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
     * Returns a description of the event for logs and messages; rdma_event_str(3) returns the name of the constant
     * instead.
     *
     * @return a phrase in lower case, without a full stop
     * @verb rdma_event_str
     */
    public String description() {
        return switch (this) {
            case ADDR_RESOLVED -> "address was resolved";
            case ADDR_ERROR -> "address could not be resolved";
            case ROUTE_RESOLVED -> "route was resolved";
            case ROUTE_ERROR -> "route could not be resolved";
            case CONNECT_REQUEST -> "peer asks for a connection";
            case CONNECT_RESPONSE -> "peer accepted the connection";
            case CONNECT_ERROR -> "connection attempt failed";
            case UNREACHABLE -> "peer did not answer or cannot be reached";
            case REJECTED -> "peer rejected the connection";
            case ESTABLISHED -> "connection is established";
            case DISCONNECTED -> "connection ended";
            case DEVICE_REMOVAL -> "device is being removed: close everything on it";
            case MULTICAST_JOIN -> "multicast group was joined";
            case MULTICAST_ERROR -> "multicast group could not be joined, or the membership was lost";
            case ADDR_CHANGE -> "network device behind the address changed";
            case TIMEWAIT_EXIT -> "queue pair may be reused for another connection";
            case UNKNOWN -> "unknown event";
        };
    }

    /**
     * Returns the constant for a C value.
     *
     * @param code its number in {@code rdma_cma.h}
     * @return the constant, or UNKNOWN if the code is not known
     */
    @CheckReturnValue
    public static CmEventType of(int code) {
        for (CmEventType value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        return UNKNOWN;
    }
}
