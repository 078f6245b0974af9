package org.rdmapanama.cm;

import java.time.Duration;

/** When several waits together are over. */
final class Deadline {
    private static final Duration SHORTEST = Duration.ofMillis(1);
    private static final Duration LONGEST = Duration.ofMillis(Integer.MAX_VALUE);

    private final long start = System.nanoTime();
    private final Duration timeout;

    /**
     * Begins now.
     *
     * @throws IllegalArgumentException when the timeout is negative
     */
    Deadline(Duration timeout) {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("a timeout is not negative: " + timeout);
        }
        this.timeout = timeout;
    }

    /** What is left of the time, not less than nothing. */
    Duration left() {
        Duration left = timeout.minusNanos(System.nanoTime() - start);
        return left.isNegative() ? Duration.ZERO : left;
    }

    /** What is left, as the connection manager takes it. */
    Duration step() {
        Duration left = left();
        if (left.compareTo(SHORTEST) < 0) {
            return SHORTEST;
        }
        return left.compareTo(LONGEST) > 0 ? LONGEST : left;
    }

    /** How long it was. */
    @Override
    public String toString() {
        return timeout.toMillis() + " ms";
    }
}
