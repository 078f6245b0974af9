package org.rdmapanama.ffm.internal;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tells whether a virtual thread that waits for a {@link ReadySource} does the work of the device for a while before it parks.
 * Two threads have to be woken up for one that parks, that of the device and a carrier. A platform thread waits for the
 * device itself. So what comes soon comes sooner this way.
 *
 * <p>It is done only if the last wait for the same source was short: threads that wait for what is rare park at once. One
 * thread of the process does it at a time; the others park, and it tells them. With one processor nobody does it, because
 * what is waited for cannot happen meanwhile.
 *
 * <p>Threads: any. What is known of the last wait is a hint, which threads may overwrite.
 */
final class ShortPolling {
    /** How long at most, in nanoseconds. About as long as two threads of two processes take to answer each other by sleeping. */
    static final long NANOS = 100_000;

    /** After so many looks a thread yields its carrier, which takes longer than a look. */
    static final int LOOKS = 8;

    private static final boolean HELPS = Runtime.getRuntime().availableProcessors() > 1;

    private static final AtomicBoolean BUSY = new AtomicBoolean();

    /** How many threads are parked, or about to park, until the thread of a device tells them. */
    private static final AtomicInteger PARKED = new AtomicInteger();

    /** Whether the last wait was short. */
    private boolean wasShort = true;

    /** Returns whether the calling thread shall do it now; {@link #end} must follow then. */
    boolean begin() {
        return HELPS && wasShort && BUSY.compareAndSet(false, true);
    }

    /** Ends what {@link #begin} began. */
    void end() {
        BUSY.set(false);
    }

    /**
     * Takes note of a wait in which the thread parked.
     *
     * @param nanos how long it took until there was an event, or {@link Long#MAX_VALUE} if there was none
     */
    void parked(long nanos) {
        wasShort = nanos < NANOS;
    }

    /** Called before a thread leaves the work to the device and parks; {@link #unparked} must follow. */
    static void parks() {
        PARKED.incrementAndGet();
    }

    static void unparked() {
        PARKED.decrementAndGet();
    }

    /** Returns whether a thread has left the work to a device. */
    static boolean anyParked() {
        return PARKED.get() > 0;
    }
}
