package org.rdmapanama.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;
import java.util.Objects;
import org.rdmapanama.Context;

/**
 * What is open on a device, and what its ports have counted.
 *
 * <ul>
 *   <li>{@code rdma.queue.pairs}, {@code rdma.completion.queues}, {@code rdma.memory.regions}: open objects of this context
 *   <li>{@code rdma.memory.registered}: registered bytes
 *   <li>{@code rdma.port.NAME}: each counter of each port, by the driver's name for it in lower case with dots for
 *       underscores, in the driver's unit; for all processes where the device is one of the kernel. All counters of a port are
 *       read at once, at most ten times per second
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
     * @throws IllegalStateException when the context is closed; then nothing is added
     */
    @Override
    public void bindTo(MeterRegistry registry) {
        // First, so that nothing is added when the context is closed.
        int ports = context.queryDevice().physicalPorts();
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
        for (int port = 1; port <= ports; port++) {
            bindPort(registry, port);
        }
    }

    private void bindPort(MeterRegistry registry, int port) {
        PortReading reading = new PortReading(port);
        for (String name : context.portCounters(port).keySet()) {
            FunctionCounter.builder(
                            "rdma.port." + name.toLowerCase(Locale.ROOT).replace('_', '.'),
                            context,
                            each -> reading.value(each, name))
                    .tags(tags.and("port", Integer.toString(port)))
                    .description("Counter of a port")
                    .register(registry);
        }
    }
}
