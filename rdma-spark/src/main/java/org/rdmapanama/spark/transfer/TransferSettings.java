package org.rdmapanama.spark.transfer;

import java.time.Duration;

/**
 * How much memory is used, and how long something may take.
 *
 * @param pinnedBytes the most bytes of files that are registered at once
 * @param bufferBytes how much memory there is for blocks that arrive
 * @param connectTimeout how long connecting may take
 * @param fetchTimeout how long a server may take to answer, and its device to answer reads
 * @param lease how long a client may read what it was lent; longer than fetchTimeout
 * @param idle after how long without a fetch a connection is closed
 */
public record TransferSettings(
        long pinnedBytes,
        long bufferBytes,
        Duration connectTimeout,
        Duration fetchTimeout,
        Duration lease,
        Duration idle) {
    private static final int PARTS = 10;
    private static final Duration SHORTEST_TICK = Duration.ofMillis(1);
    private static final Duration LONGEST_TICK = Duration.ofSeconds(1);

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException when a size or a time is not positive, except pinnedBytes, which may be 0; or when the
     *     lease is not longer than the timeout of a fetch
     */
    public TransferSettings {
        if (pinnedBytes < 0) {
            throw new IllegalArgumentException("pinnedBytes must not be negative: " + pinnedBytes);
        }
        if (bufferBytes < 1) {
            throw new IllegalArgumentException("bufferBytes must be positive: " + bufferBytes);
        }
        requirePositive("connectTimeout", connectTimeout);
        requirePositive("fetchTimeout", fetchTimeout);
        requirePositive("idle", idle);
        if (lease.compareTo(fetchTimeout) <= 0) {
            throw new IllegalArgumentException(
                    "lease must be longer than fetchTimeout, which is " + fetchTimeout + ": " + lease);
        }
    }

    private static void requirePositive(String name, Duration value) {
        if (value.isNegative() || value.isZero()) {
            throw new IllegalArgumentException(name + " must be positive: " + value);
        }
    }

    /** Returns how often to look whether a time is over: seldom, because each look takes processor time from tasks. */
    Duration tick(Duration time) {
        Duration part = time.dividedBy(PARTS);
        return part.compareTo(LONGEST_TICK) > 0 ? LONGEST_TICK : part.plus(SHORTEST_TICK);
    }
}
