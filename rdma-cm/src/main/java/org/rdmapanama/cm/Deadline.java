package org.rdmapanama.cm;

import java.time.Duration;

/** The end of one timeout that several waits share. Immutable. */
final class Deadline {
    private static final Duration SHORTEST = Duration.ofMillis(1);
    private static final Duration LONGEST = Duration.ofMillis(Integer.MAX_VALUE);

    private final long start = System.nanoTime();
    private final Duration timeout;

    /**
     * Starts the timeout now.
     *
     * @throws IllegalArgumentException when the timeout is negative
     */
    Deadline(Duration timeout) {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("timeout must not be negative: " + timeout);
        }
        this.timeout = timeout;
    }

    /** Returns the time that is left, never negative. */
    Duration left() {
        Duration left = timeout.minusNanos(System.nanoTime() - start);
        return left.isNegative() ? Duration.ZERO : left;
    }

    /** Returns the time that is left, within the range of the connection manager: 1 to 2^31 - 1 milliseconds. */
    Duration step() {
        Duration left = left();
        if (left.compareTo(SHORTEST) < 0) {
            return SHORTEST;
        }
        return left.compareTo(LONGEST) > 0 ? LONGEST : left;
    }

    /** Returns the whole timeout in milliseconds. */
    @Override
    public String toString() {
        return timeout.toMillis() + " ms";
    }
}
