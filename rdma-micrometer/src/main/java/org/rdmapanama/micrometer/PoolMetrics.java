package org.rdmapanama.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
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
public final class PoolMetrics implements MeterBinder {
    private final RegisteredPool pool;
    private final Tags tags;

    /**
     * Prepares the meters of a pool.
     *
     * @param pool the pool
     * @param tags tags that tell it from others, such as its purpose
     * @throws NullPointerException when an argument is null
     */
    public PoolMetrics(RegisteredPool pool, Tags tags) {
        this.pool = Objects.requireNonNull(pool, "pool");
        this.tags = Objects.requireNonNull(tags, "tags");
    }

    /**
     * Adds the meters.
     *
     * @param registry where to
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        Gauge.builder("rdma.pool.size", pool, each -> each.counts().byteSize())
                .tags(tags)
                .baseUnit("bytes")
                .description("Memory of the pool")
                .register(registry);
        Gauge.builder("rdma.pool.free", pool, each -> each.counts().freeBytes())
                .tags(tags)
                .baseUnit("bytes")
                .description("Free memory of the pool")
                .register(registry);
        Gauge.builder("rdma.pool.lent", pool, each -> each.counts().lentBuffers())
                .tags(tags)
                .description("Buffers that are in use")
                .register(registry);
        FunctionCounter.builder(
                        "rdma.pool.allocated", pool, each -> each.counts().allocated())
                .tags(tags)
                .description("Buffers that were allocated")
                .register(registry);
        FunctionCounter.builder("rdma.pool.refused", pool, each -> each.counts().refused())
                .tags(tags)
                .description("Times that no free block was large enough")
                .register(registry);
    }
}
