package org.rdmapanama.micrometer;

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
public final class ContextMetrics implements MeterBinder, AutoCloseable {
    private final Context context;
    private final Meters<Context> meters;
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
        meters = new Meters<>(context);
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
        meters.gauge(
                registry,
                "rdma.queue.pairs",
                tags,
                null,
                "Open queue pairs",
                each -> each.counts().queuePairs());
        meters.gauge(
                registry,
                "rdma.completion.queues",
                tags,
                null,
                "Open completion queues",
                each -> each.counts().completionQueues());
        meters.gauge(
                registry,
                "rdma.memory.regions",
                tags,
                null,
                "Open memory regions",
                each -> each.counts().memoryRegions());
        meters.gauge(
                registry,
                "rdma.memory.registered",
                tags,
                "bytes",
                "Registered memory",
                each -> each.counts().registeredBytes());
        for (int port = 1; port <= ports; port++) {
            bindPort(registry, port);
        }
    }

    private void bindPort(MeterRegistry registry, int port) {
        PortReading reading = new PortReading(port);
        for (String name : context.portCounters(port).keySet()) {
            meters.counter(
                    registry,
                    "rdma.port." + name.toLowerCase(Locale.ROOT).replace('_', '.'),
                    tags.and("port", Integer.toString(port)),
                    null,
                    "Counter of a port",
                    each -> reading.value(each, name));
        }
    }

    /** Removes the meters from the registries that they were added to. A second call does nothing. */
    @Override
    public void close() {
        meters.close();
    }
}
