package org.rdmapanama.micrometer;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Objects;
import org.rdmapanama.pool.RegisteredPool;

/**
 * How much of a pool of registered memory is in use.
 *
 * <ul>
 *   <li>{@code rdma.pool.size}, {@code rdma.pool.free}: bytes
 *   <li>{@code rdma.pool.lent}: buffers that were allocated and not closed yet
 *   <li>{@code rdma.pool.allocated}, {@code rdma.pool.refused}: since the pool was created
 * </ul>
 *
 * <p>Threads: any.
 */
public final class PoolMetrics implements MeterBinder, AutoCloseable {
    private final Meters<RegisteredPool> meters;
    private final Tags tags;

    /**
     * Prepares the meters of a pool.
     *
     * @param pool the pool
     * @param tags tags that tell it from others, such as its purpose
     * @throws NullPointerException when an argument is null
     */
    public PoolMetrics(RegisteredPool pool, Tags tags) {
        meters = new Meters<>(Objects.requireNonNull(pool, "pool"));
        this.tags = Objects.requireNonNull(tags, "tags");
    }

    /**
     * Adds the meters.
     *
     * @param registry where to
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        meters.gauge(
                registry,
                "rdma.pool.size",
                tags,
                "bytes",
                "Memory of the pool",
                each -> each.counts().byteSize());
        meters.gauge(
                registry,
                "rdma.pool.free",
                tags,
                "bytes",
                "Free memory of the pool",
                each -> each.counts().freeBytes());
        meters.gauge(
                registry,
                "rdma.pool.lent",
                tags,
                null,
                "Buffers that are in use",
                each -> each.counts().lentBuffers());
        meters.counter(
                registry,
                "rdma.pool.allocated",
                tags,
                null,
                "Buffers that were allocated",
                each -> each.counts().allocated());
        meters.counter(
                registry,
                "rdma.pool.refused",
                tags,
                null,
                "Times that no free block was large enough",
                each -> each.counts().refused());
    }

    /** Removes the meters from the registries that they were added to. A second call does nothing. */
    @Override
    public void close() {
        meters.close();
    }
}
