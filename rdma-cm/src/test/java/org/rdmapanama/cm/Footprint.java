package org.rdmapanama.cm;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import org.rdmapanama.testing.LiveHeap;

/**
 * What this process uses.
 *
 * @param heap bytes of live objects
 * @param segments bytes of memory segments
 * @param malloc bytes of malloc(3), with the segments and with what the JVM itself allocates
 */
public record Footprint(long heap, long segments, long malloc) {
    public static Footprint now() throws InterruptedException {
        long heap = LiveHeap.bytes();
        long segments = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
        return new Footprint(heap, segments, Malloc.used());
    }

    /** What each of a number of objects that were made since then takes. */
    String since(Footprint before, int count) {
        return "%,d bytes of heap, %,d of segments, %,d of malloc(3)"
                .formatted(
                        (heap - before.heap) / count,
                        (segments - before.segments) / count,
                        (malloc - before.malloc) / count);
    }
}
