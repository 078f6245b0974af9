package org.rdmapanama.internal.provider;

import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairType;

/**
 * Queues whose rings Java writes and reads itself, on one open device: the driver creates and destroys them, and does
 * nothing else with them. All queues that work together are of this kind, or none: a queue pair, its completion queues and
 * its shared receive queue.
 *
 * <p>Threads: any, for all methods here.
 */
public abstract class DirectPath {
    /** For subclasses. */
    protected DirectPath() {}

    /** Finds the direct path of devices of one driver; {@link java.util.ServiceLoader} finds this. */
    public interface Finder {
        /**
         * Returns the driver whose devices this is for.
         *
         * @return its name, such as {@code mlx5}
         */
        String driver();

        /**
         * Opens the direct path of a device.
         *
         * @param context the open device
         * @return the path
         * @throws UnsupportedOperationException when there is none here; the message says why and what helps
         */
        DirectPath open(ProviderContext context);
    }

    /**
     * Takes over a completion queue that the driver has just created.
     *
     * @param completionQueue the {@code struct ibv_cq}, which no queue pair uses yet
     * @param shared whether several threads may use it at the same time
     * @return what polls it from now on
     */
    public abstract DirectCompletionQueue completionQueue(long completionQueue, boolean shared);

    /**
     * Takes over a shared receive queue that the driver has just created.
     *
     * @param sharedReceiveQueue the {@code struct ibv_srq}, to which nothing was posted yet
     * @param maxSegments the segments of a receive, as granted
     * @param shared whether several threads may use it at the same time
     * @return what posts to it from now on
     * @throws UnsupportedOperationException when devices of this driver have none
     */
    public abstract DirectSharedReceiveQueue sharedReceiveQueue(
            long sharedReceiveQueue, int maxSegments, boolean shared);

    /**
     * Returns which types of queue pairs there are.
     *
     * @return the types, not empty
     */
    public abstract Set<QueuePairType> types();

    /**
     * Returns what creates a queue pair that can be taken over.
     *
     * @param ordinary what creates one that is not taken over
     * @return a function of a {@code struct ibv_qp_init_attr_ex}; on success its sizes are those granted
     */
    public abstract DriverFunction creator(DriverFunction ordinary);

    /**
     * What is told of a queue pair that is taken over.
     *
     * @param granted its sizes
     * @param signalAll whether each send completes with a completion
     * @param sendQueue the completion queue of its sends
     * @param receiveQueue the completion queue of its receives
     * @param sharedReceiveQueue where its receives come from, or null if it has its own receive queue
     * @param shared whether several threads may use it at the same time
     * @param driverPosts null if it is in no thread domain; otherwise whether the driver posts to queue pairs of its thread
     *     domain, which may become true at any time. Queue pairs of one thread domain have the same object
     */
    public record QueuePairParts(
            QueuePairCapabilities granted,
            boolean signalAll,
            DirectCompletionQueue sendQueue,
            DirectCompletionQueue receiveQueue,
            DirectSharedReceiveQueue sharedReceiveQueue,
            boolean shared,
            AtomicBoolean driverPosts) {}

    /**
     * Takes over a queue pair that {@link #creator} has created.
     *
     * @param queuePair the {@code struct ibv_qp}
     * @param parts what else is known of it
     * @return what posts to it from now on
     * @throws UnsupportedOperationException when its rings are of a kind that this does not know
     */
    public abstract DirectQueuePair queuePair(long queuePair, QueuePairParts parts);
}
