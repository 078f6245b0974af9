package org.rdmapanama.cm;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;

/**
 * What this process uses.
 *
 * @param heap bytes of live objects
 * @param segments bytes of memory segments
 * @param malloc bytes of malloc(3), with the segments and with what the JVM itself allocates
 */
record Footprint(long heap, long segments, long malloc) {
    static Footprint now() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        long segments = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
        return new Footprint(
                ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(), segments, Malloc.used());
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
