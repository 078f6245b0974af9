package org.rdmapanama.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;
import java.util.Objects;
import java.util.SortedMap;
import org.rdmapanama.Context;

/**
 * What is open on a device, and what its ports have counted.
 *
 * <ul>
 *   <li>{@code rdma.queue.pairs}, {@code rdma.completion.queues}, {@code rdma.memory.regions}: open objects of this context
 *   <li>{@code rdma.memory.registered}: registered bytes
 *   <li>{@code rdma.port.NAME}: each counter of each port, by the driver's name for it with dots for underscores; for all
 *       processes where the device is one of the kernel
 * </ul>
 *
 * All have the tag {@code device}; the counters of ports have {@code port} as well.
 *
 * <p>Threads: any.
 */
public final class ContextMetrics implements MeterBinder {
    private final Context context;
    private final Tags tags;

    /**
     * Prepares the meters of a device.
     *
     * @param context the open device
     * @param tags further tags for all meters
     * @throws NullPointerException when an argument is null
     */
    public ContextMetrics(Context context, Tags tags) {
        this.context = Objects.requireNonNull(context, "context");
        this.tags = tags.and("device", context.deviceName());
    }

    /**
     * Adds the meters. The names of counters are read once, so it is called while the device is open.
     *
     * @param registry where to
     * @throws IllegalStateException when the context is closed
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        Gauge.builder("rdma.queue.pairs", context, each -> each.counts().queuePairs())
                .tags(tags)
                .description("Open queue pairs")
                .register(registry);
        Gauge.builder("rdma.completion.queues", context, each -> each.counts().completionQueues())
                .tags(tags)
                .description("Open completion queues")
                .register(registry);
        Gauge.builder("rdma.memory.regions", context, each -> each.counts().memoryRegions())
                .tags(tags)
                .description("Open memory regions")
                .register(registry);
        Gauge.builder("rdma.memory.registered", context, each -> each.counts().registeredBytes())
                .tags(tags)
                .baseUnit("bytes")
                .description("Registered memory")
                .register(registry);
        int ports = context.queryDevice().physicalPorts();
        for (int port = 1; port <= ports; port++) {
            bindPort(registry, port);
        }
    }

    private void bindPort(MeterRegistry registry, int port) {
        for (String name : context.portCounters(port).keySet()) {
            FunctionCounter.builder(
                            "rdma.port." + name.toLowerCase(Locale.ROOT).replace('_', '.'),
                            context,
                            each -> value(each, port, name))
                    .tags(tags.and("port", Integer.toString(port)))
                    .description("Counter of a port")
                    .register(registry);
        }
    }

    private static double value(Context context, int port, String name) {
        SortedMap<String, Long> counters = context.portCounters(port);
        return counters.getOrDefault(name, 0L);
    }
}
