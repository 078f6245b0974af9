package org.rdmapanama.event;

import java.util.Objects;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.EventSource;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.WorkQueue;

/**
 * An asynchronous event of a device, a port or an object; see ibv_get_async_event(3). It is already acknowledged.
 *
 * @param type what happened
 * @param port the port of the event, from 1, or 0 if it does not concern a port
 * @param source the {@link QueuePair}, {@link CompletionQueue}, {@link SharedReceiveQueue} or {@link WorkQueue} of the
 *     event, which may be closed by now; the {@link Context} for an event of the device or of a port, and where the
 *     object of the event has no Java object
 */
public record AsyncEvent(AsyncEventType type, int port, EventSource source) {
    /**
     * Creates an event.
     *
     * @throws NullPointerException when type or source is null
     */
    public AsyncEvent {
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(source, "source");
    }
}
