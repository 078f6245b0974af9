package org.rdmapanama.rsocket;

/**
 * How long a thread polls before it sleeps. Two sides that both sleep wait for each other's waking up, which takes longer than
 * the shortest time: so it grows while what is waited for comes soon after the thread has gone to sleep.
 *
 * <p>With one processor, a peer on the same machine cannot answer while a thread polls. So the thread yields the processor
 * between two looks, which takes less time than to sleep and to be woken up. While polling finds nothing nevertheless, the
 * thread sleeps at once, and tries again now and then.
 *
 * <p>Threads: one at a time.
 */
final class SpinTime {
    /** By what it grows at most. */
    private static final int GROWTH = 10;

    /** After so many polls in a row that have found nothing, threads sleep at once. */
    private static final int MOST_IN_VAIN = 4;

    /** As many waits later, a thread polls again. */
    private static final int PAUSE = 100;

    private final boolean alone;
    private long now;
    private int inVain;
    private int pause;

    SpinTime() {
        this(Runtime.getRuntime().availableProcessors() == 1);
    }

    /** Creates one for a process with or without other processors than the one that polls. */
    SpinTime(boolean alone) {
        this.alone = alone;
    }

    /**
     * Returns how long to poll in this wait; {@link #found} or {@link #slept} must follow, unless it is 0.
     *
     * @param least the shortest time in nanoseconds, 0 or more
     */
    long nanos(long least) {
        if (pause > 0) {
            pause--;
            return 0;
        }
        now = Math.clamp(now, least, (alone ? 1 : GROWTH) * least);
        return now;
    }

    /** Lets others go on between two looks. */
    @SuppressWarnings("ThreadPriorityCheck") // without another processor, nothing else lets the others run at once
    void relax() {
        if (alone) {
            Thread.yield();
        } else {
            Thread.onSpinWait();
        }
    }

    /** Takes note of a wait that polling has ended. */
    void found() {
        inVain = 0;
    }

    /**
     * Takes note of a wait for which the thread has slept.
     *
     * @param least the shortest time to poll, in nanoseconds
     * @param waited how long it took from the beginning of polling on, in nanoseconds
     */
    void slept(long least, long waited) {
        now = waited < GROWTH * least ? 2 * now : least;
        if (alone && ++inVain >= MOST_IN_VAIN) {
            pause = PAUSE;
        }
    }
}
