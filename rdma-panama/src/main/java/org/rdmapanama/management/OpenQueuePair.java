package org.rdmapanama.management;

import org.rdmapanama.counts.QueuePairCounts;

/**
 * An open queue pair.
 *
 * @param name its type, number and device, as in messages and logs
 * @param counts what was posted to it and what failed
 * @param failure why it has failed; empty if it has not, as far as this side knows
 */
public record OpenQueuePair(String name, QueuePairCounts counts, String failure) {}
