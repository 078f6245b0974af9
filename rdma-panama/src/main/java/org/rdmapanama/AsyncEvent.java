package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.rdmapanama.ffm.verbs.ibv_async_event;

/**
 * An asynchronous event of a device, a port or an object; see ibv_get_async_event(3). It is already acknowledged.
 *
 * @param type what happened
 * @param port the port of the event, from 1, or 0 if it does not concern a port
 * @param queuePair the queue pair of the event, or null
 * @param completionQueue the completion queue of the event, or null
 * @param sharedReceiveQueue the shared receive queue of the event, or null
 * @param workQueue the work queue of the event, or null
 */
public record AsyncEvent(
        AsyncEventType type,
        int port,
        QueuePair queuePair,
        CompletionQueue completionQueue,
        SharedReceiveQueue sharedReceiveQueue,
        WorkQueue workQueue) {
    /**
     * Creates an event.
     *
     * @throws NullPointerException when the type is null
     */
    public AsyncEvent {
        Objects.requireNonNull(type, "type");
    }

    /** Reads a {@code struct ibv_async_event}. */
    static AsyncEvent read(MemorySegment event, ContextObjects objects) {
        AsyncEventType type = AsyncEventType.of(ibv_async_event.event_type(event));
        MemorySegment element = ibv_async_event.element(event);
        int port = 0;
        VerbsObject source = null;
        switch (type) {
            case PORT_ACTIVE, PORT_ERR, LID_CHANGE, PKEY_CHANGE, SM_CHANGE, CLIENT_REREGISTER, GID_CHANGE ->
                port = ibv_async_event.element.port_num(element);
            case DEVICE_FATAL, UNKNOWN -> {}
            default -> source = objects.find(ibv_async_event.element.qp(element).address());
        }
        return new AsyncEvent(
                type,
                port,
                source instanceof QueuePair queuePair ? queuePair : null,
                source instanceof CompletionQueue completionQueue ? completionQueue : null,
                source instanceof SharedReceiveQueue sharedReceiveQueue ? sharedReceiveQueue : null,
                source instanceof WorkQueue workQueue ? workQueue : null);
    }
}
