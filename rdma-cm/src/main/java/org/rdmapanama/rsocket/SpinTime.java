package org.rdmapanama.rsocket;

/**
 * How long a thread polls before it sleeps. Two sides that both sleep wait for each other's waking up, which takes longer than
 * the shortest time: so it grows while what is waited for comes soon after the thread has gone to sleep.
 *
 * <p>Threads: one at a time.
 */
final class SpinTime {
    /** By what it grows at most. With one processor, what a thread polls for cannot happen meanwhile. */
    private static final int GROWTH = Runtime.getRuntime().availableProcessors() > 1 ? 10 : 1;

    private long now;

    /**
     * Returns how long to poll this time.
     *
     * @param least the shortest time in nanoseconds, 0 or more
     */
    long nanos(long least) {
        now = Math.clamp(now, least, GROWTH * least);
        return now;
    }

    /**
     * Takes note of a wait for which the thread has slept.
     *
     * @param least the shortest time to poll, in nanoseconds
     * @param waited how long it took from the beginning of polling on, in nanoseconds
     */
    void slept(long least, long waited) {
        now = waited < GROWTH * least ? 2 * now : least;
    }
}
