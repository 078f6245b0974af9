package org.rdmapanama.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The meters that a binder has added, of one object.
 *
 * <p>Threads: any.
 *
 * @param <T> the class of the object
 */
final class Meters<T> implements AutoCloseable {
    private final T object;
    private final List<Runnable> removals = new ArrayList<>();

    Meters(T object) {
        this.object = object;
    }

    void gauge(
            MeterRegistry registry,
            String name,
            Tags tags,
            @Nullable String unit,
            String description,
            ToDoubleFunction<T> value) {
        added(
                registry,
                Gauge.builder(name, object, value)
                        .tags(tags)
                        .baseUnit(unit)
                        .description(description)
                        .register(registry));
    }

    void counter(
            MeterRegistry registry,
            String name,
            Tags tags,
            @Nullable String unit,
            String description,
            ToDoubleFunction<T> value) {
        added(
                registry,
                FunctionCounter.builder(name, object, value)
                        .tags(tags)
                        .baseUnit(unit)
                        .description(description)
                        .register(registry));
    }

    private synchronized void added(MeterRegistry registry, Meter meter) {
        removals.add(() -> registry.remove(meter));
    }

    /** Removes the meters from the registries. */
    @Override
    public synchronized void close() {
        removals.forEach(Runnable::run);
        removals.clear();
    }
}
