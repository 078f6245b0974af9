package org.rdmapanama.event;

import java.util.Objects;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.WorkQueue;

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
}
