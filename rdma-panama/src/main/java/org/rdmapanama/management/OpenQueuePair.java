package org.rdmapanama.management;

import org.jspecify.annotations.Nullable;
import org.rdmapanama.counts.QueuePairCounts;
import org.rdmapanama.counts.QueuePairTraffic;

/**
 * An open queue pair.
 *
 * @param name its type, number and device, as in messages and logs
 * @param counts what was posted to it and what failed
 * @param traffic what it has moved and what is under way; null unless the program was started with {@code
 *     -Dorg.rdmapanama.traffic=true}
 * @param failure why it has failed; empty if it has not, as far as this side knows
 */
public record OpenQueuePair(
        String name, QueuePairCounts counts, @Nullable QueuePairTraffic traffic, String failure) {}
