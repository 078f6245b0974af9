package org.rdmapanama.event;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/** The kind of an asynchronous event, {@code enum ibv_event_type}; see ibv_get_async_event(3). */
public enum AsyncEventType {
    /** A completion queue is in error, for example overrun. */
    CQ_ERR(rdma_h.IBV_EVENT_CQ_ERR()),
    /** A queue pair moved to the error state and could not report it in a completion. */
    QP_FATAL(rdma_h.IBV_EVENT_QP_FATAL()),
    /** A queue pair received an invalid request. */
    QP_REQ_ERR(rdma_h.IBV_EVENT_QP_REQ_ERR()),
    /** A queue pair received a request that violates access rights. */
    QP_ACCESS_ERR(rdma_h.IBV_EVENT_QP_ACCESS_ERR()),
    /** A queue pair in state RTR received its first packet. */
    COMM_EST(rdma_h.IBV_EVENT_COMM_EST()),
    /** A send queue is drained. */
    SQ_DRAINED(rdma_h.IBV_EVENT_SQ_DRAINED()),
    /** A connection moved to its alternate path. */
    PATH_MIG(rdma_h.IBV_EVENT_PATH_MIG()),
    /** A connection could not move to its alternate path. */
    PATH_MIG_ERR(rdma_h.IBV_EVENT_PATH_MIG_ERR()),
    /** The device is in a fatal state: close everything. */
    DEVICE_FATAL(rdma_h.IBV_EVENT_DEVICE_FATAL()),
    /** A port came up. */
    PORT_ACTIVE(rdma_h.IBV_EVENT_PORT_ACTIVE()),
    /** A port went down. */
    PORT_ERR(rdma_h.IBV_EVENT_PORT_ERR()),
    /** The LID of a port changed. */
    LID_CHANGE(rdma_h.IBV_EVENT_LID_CHANGE()),
    /** A port's P_Key table changed. */
    PKEY_CHANGE(rdma_h.IBV_EVENT_PKEY_CHANGE()),
    /** The subnet manager changed. */
    SM_CHANGE(rdma_h.IBV_EVENT_SM_CHANGE()),
    /** A shared receive queue is in error. */
    SRQ_ERR(rdma_h.IBV_EVENT_SRQ_ERR()),
    /** The number of receives in a shared receive queue fell below its limit. */
    SRQ_LIMIT_REACHED(rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED()),
    /** A queue pair on a shared receive queue took its last receive. */
    QP_LAST_WQE_REACHED(rdma_h.IBV_EVENT_QP_LAST_WQE_REACHED()),
    /** The subnet manager asks clients to register their subscriptions again. */
    CLIENT_REREGISTER(rdma_h.IBV_EVENT_CLIENT_REREGISTER()),
    /** A port's GID table changed. */
    GID_CHANGE(rdma_h.IBV_EVENT_GID_CHANGE()),
    /** A work queue is in error. */
    WQ_FATAL(rdma_h.IBV_EVENT_WQ_FATAL()),
    /** A value that this version does not know. */
    UNKNOWN(-1);

    private static final AsyncEventType[] VALUES = values();

    private final int code;

    AsyncEventType(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}, -1 for UNKNOWN} */
    public int code() {
        return code;
    }

    /**
     * Returns a description for people to read.
     *
     * @return a phrase in lower case, without a full stop
     * @verb ibv_event_type_str
     */
    public String description() {
        return switch (this) {
            case CQ_ERR -> "completion queue failed, for example because it overran";
            case QP_FATAL -> "queue pair failed and could not report it in a completion";
            case QP_REQ_ERR -> "queue pair received an invalid request";
            case QP_ACCESS_ERR -> "queue pair received a request that violates access rights";
            case COMM_EST -> "first packet arrived on a queue pair that is not in state RTS yet";
            case SQ_DRAINED -> "send queue is drained";
            case PATH_MIG -> "connection moved to its alternate path";
            case PATH_MIG_ERR -> "connection could not move to its alternate path";
            case DEVICE_FATAL -> "device failed; close everything on it";
            case PORT_ACTIVE -> "port came up";
            case PORT_ERR -> "port went down";
            case LID_CHANGE -> "LID of a port changed";
            case PKEY_CHANGE -> "partition key table of a port changed";
            case SM_CHANGE -> "another subnet manager took over";
            case SRQ_ERR -> "shared receive queue failed";
            case SRQ_LIMIT_REACHED -> "shared receive queue fell below its limit";
            case QP_LAST_WQE_REACHED -> "queue pair took its last receive from a shared receive queue";
            case CLIENT_REREGISTER -> "subnet manager asks for all subscriptions again";
            case GID_CHANGE -> "GID table of a port changed";
            case WQ_FATAL -> "work queue failed";
            case UNKNOWN -> "event that this version does not know";
        };
    }

    /**
     * Returns the constant with a value in C.
     *
     * @param code the value in {@code verbs.h}
     * @return the constant, or UNKNOWN if there is none
     */
    @CheckReturnValue
    public static AsyncEventType of(int code) {
        return Codes.find(VALUES, AsyncEventType::code, code, UNKNOWN);
    }
}
