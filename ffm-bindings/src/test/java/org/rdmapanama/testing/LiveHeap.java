package org.rdmapanama.testing;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.Objects;

/**
 * The heap that live objects take.
 *
 * <p>It is what the collector found, and not what is in use after a collection: each thread that allocates something then takes a
 * buffer of up to some megabytes, and all of that counts as used.
 */
public final class LiveHeap {
    /** The serial collector closes small gaps between live objects in one of four collections only. */
    private static final int COLLECTIONS = 4;

    /** What goes when other objects have gone needs another collection, and a thread that runs in between. */
    private static final int PAUSE_MILLIS = 50;

    private LiveHeap() {}

    /** Collects garbage, and returns the least number of bytes that was left. */
    public static long bytes() throws InterruptedException {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
            least = Math.min(least, leftByCollector());
            Thread.sleep(PAUSE_MILLIS);
        }
        return least;
    }

    private static long leftByCollector() {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getType() == MemoryType.HEAP)
                .map(MemoryPoolMXBean::getCollectionUsage)
                .filter(Objects::nonNull)
                .mapToLong(MemoryUsage::getUsed)
                .sum();
    }
}
