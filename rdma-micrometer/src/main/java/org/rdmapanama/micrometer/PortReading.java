package org.rdmapanama.micrometer;

import java.util.SortedMap;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.Context;

/**
 * The counters of a port as they were read last. A registry reads one meter after the other, and each reading of the port reads
 * all of its counters, which are files of the kernel.
 *
 * <p>Threads: any.
 */
final class PortReading {
    private static final long NANOS = 100_000_000;

    private final int port;
    private @Nullable SortedMap<String, Long> counters;
    private long time;

    PortReading(int port) {
        this.port = port;
    }

    /** Returns a counter; 0 if the device does not tell it. */
    synchronized double value(Context context, String name) {
        long now = System.nanoTime();
        if (counters == null || now - time >= NANOS) {
            counters = context.portCounters(port);
            time = now;
        }
        return counters.getOrDefault(name, 0L);
    }
}
