package org.rdmapanama.micrometer;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Objects;
import java.util.function.ToDoubleFunction;
import org.rdmapanama.QueuePair;
import org.rdmapanama.counts.QueuePairTraffic;

/**
 * What was posted to a queue pair and what failed, and, in a program that was started with {@code
 * -Dorg.rdmapanama.traffic=true}, what it has moved.
 *
 * <ul>
 *   <li>{@code rdma.queue.pair.posted}, with the tag {@code kind}: {@code send} or {@code receive}
 *   <li>{@code rdma.queue.pair.failed}: completions with an error status
 *   <li>{@code rdma.queue.pair.completed}, with the tag {@code kind}, {@code rdma.queue.pair.posted.bytes}, {@code
 *       rdma.queue.pair.received.bytes} and {@code rdma.queue.pair.outstanding}: see {@link QueuePairTraffic}
 * </ul>
 *
 * The number of a queue pair is not a tag, because numbers come and go: name the queue pair by a tag of its purpose. Close
 * this before another queue pair is bound with the same tags: the registry would keep the old meters.
 *
 * <p>Threads: any.
 */
public final class QueuePairMetrics implements MeterBinder, AutoCloseable {
    private static final QueuePairTraffic NONE = new QueuePairTraffic(0, 0, 0, 0, 0);

    private final QueuePair queuePair;
    private final Meters<QueuePair> meters;
    private final Tags tags;

    /**
     * Prepares the meters of a queue pair.
     *
     * @param queuePair the queue pair
     * @param tags tags that tell it from others, such as its purpose
     * @throws NullPointerException when an argument is null
     */
    public QueuePairMetrics(QueuePair queuePair, Tags tags) {
        this.queuePair = Objects.requireNonNull(queuePair, "queuePair");
        this.tags = Objects.requireNonNull(tags, "tags");
        meters = new Meters<>(queuePair);
    }

    /**
     * Adds the meters.
     *
     * @param registry where to
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        count(registry, "posted", "send", each -> each.counts().postedSends());
        count(registry, "posted", "receive", each -> each.counts().postedReceives());
        meters.counter(
                registry,
                "rdma.queue.pair.failed",
                tags,
                null,
                "Completions with an error status",
                each -> each.counts().failedCompletions());
        if (queuePair.traffic().isPresent()) {
            bindTraffic(registry);
        }
    }

    private void bindTraffic(MeterRegistry registry) {
        count(registry, "completed", "send", each -> traffic(each).completedSends());
        count(registry, "completed", "receive", each -> traffic(each).completedReceives());
        bytes(registry, "posted", each -> traffic(each).postedBytes());
        bytes(registry, "received", each -> traffic(each).receivedBytes());
        meters.gauge(
                registry,
                "rdma.queue.pair.outstanding",
                tags,
                null,
                "Work requests that are not known to have ended",
                each -> traffic(each).outstanding());
    }

    private static QueuePairTraffic traffic(QueuePair queuePair) {
        return queuePair.traffic().orElse(NONE);
    }

    private void count(MeterRegistry registry, String name, String kind, ToDoubleFunction<QueuePair> value) {
        meters.counter(
                registry,
                "rdma.queue.pair." + name,
                tags.and("kind", kind),
                null,
                "Work requests that were " + name,
                value);
    }

    private void bytes(MeterRegistry registry, String name, ToDoubleFunction<QueuePair> value) {
        meters.counter(
                registry,
                "rdma.queue.pair." + name + ".bytes",
                tags,
                "bytes",
                "Bytes of work requests that were " + name,
                value);
    }

    /** Removes the meters from the registries that they were added to. A second call does nothing. */
    @Override
    public void close() {
        meters.close();
    }
}
