package org.rdmapanama;

import java.util.Objects;

/**
 * Something that happened to a device, a port or an object; see ibv_get_async_event(3). It is acknowledged already.
 *
 * @param type what happened
 * @param port the port it happened to, from 1, or 0 when it is not about a port
 * @param queuePair the queue pair it happened to, or null
 * @param completionQueue the completion queue it happened to, or null
 * @param sharedReceiveQueue the shared receive queue it happened to, or null
 * @param workQueue the work queue it happened to, or null
 */
public record AsyncEvent(
        AsyncEventType type,
        int port,
        QueuePair queuePair,
        CompletionQueue completionQueue,
        SharedReceiveQueue sharedReceiveQueue,
        WorkQueue workQueue) {
    /**
     * What happened.
     *
     * @throws NullPointerException when the type is null
     */
    public AsyncEvent {
        Objects.requireNonNull(type, "type");
    }
}
