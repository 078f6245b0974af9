package org.rdmapanama;

import org.rdmapanama.ffm.internal.Errno;

/**
 * Thrown when a queue has no room for what was posted. Methods whose names begin with {@code try}, such as {@link
 * QueuePair#tryPostSend}, return {@link QueuePair#QUEUE_FULL} instead.
 *
 * <p>Polling a completion frees the slot of its work request, and those of earlier unsignaled sends. Of a chain the
 * first requests may have been posted: {@link QueuePair#firstNotSent} and the like return the first one that was not. A
 * {@link WorkRequestBuilder batch} is posted as a whole or not at all.
 *
 * <p>Creating this asks neither the device nor the driver.
 */
public final class QueueFullException extends VerbsException {
    private static final long serialVersionUID = 1L;

    /** The number of work requests that the queue holds. */
    private final int capacity;

    private QueueFullException(String verb, String queue, int capacity, String contents, String cure) {
        super(
                verb + " failed (ENOMEM): the " + queue + " is full: it holds " + contents + "; " + cure,
                verb,
                Errno.ENOMEM,
                queue,
                cure);
        this.capacity = capacity;
    }

    /**
     * Returns the exception for a queue of work requests.
     *
     * @param room what makes room in it
     * @param alternative the method that returns a constant instead
     */
    static QueueFullException of(String verb, String queue, int capacity, String room, String alternative) {
        return new QueueFullException(
                verb, queue, capacity, capacity + " work requests", room + ", then post again, or use " + alternative);
    }

    /** Returns the exception for a queue of operations on tags, or its list of tags. */
    static QueueFullException ofTags(String queue, int capacity, int maxTags) {
        return new QueueFullException(
                "ibv_post_srq_ops",
                queue,
                capacity,
                capacity + " work requests and " + maxTags + " tags",
                "poll for completions or delete tags, then post again, or use SharedReceiveQueue.tryPostTagOperation");
    }

    /** {@return the number of work requests that the queue holds, as the device granted it} */
    public int capacity() {
        return capacity;
    }
}
