package org.rdmapanama.soft;

import java.util.concurrent.TimeUnit;

/**
 * The times of the connection manager that do not come from the other side. Tests over a wire that loses much set shorter
 * ones.
 *
 * @param firstWaitNanos what was lost is sent again after this long, then after twice as long, and so on until the longest
 * @param longestWaitNanos the longest time until a message is sent again
 * @param lingerUnitNanos the unit of the time for which an ended connection waits for late packets: 4,096 by InfiniBand
 */
public record CmTimes(long firstWaitNanos, long longestWaitNanos, long lingerUnitNanos) {
    /** Begins early, because a listener drops a request when as many wait as it allows, and says nothing. */
    public static final CmTimes USUAL =
            new CmTimes(TimeUnit.MILLISECONDS.toNanos(50), TimeUnit.MILLISECONDS.toNanos(4300), 4096);
}
