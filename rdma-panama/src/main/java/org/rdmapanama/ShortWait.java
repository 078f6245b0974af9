package org.rdmapanama;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A wait for what other threads are about to do. It spins for a moment, and then sleeps, longer each time: a virtual
 * thread gives its carrier back, which the thread that it waits for may need.
 *
 * <p>An interrupt neither ends the wait nor keeps it from sleeping, and is set again by {@link #close}.
 */
final class ShortWait implements AutoCloseable {
    /** A few microseconds: as long as most calls of a driver take. */
    private static final int SPINS = 100;

    private static final long FIRST_NAP_NANOS = 1_000;
    private static final long LONGEST_NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final long start = System.nanoTime();
    private int spins;
    private long nap = FIRST_NAP_NANOS;
    private boolean interrupted;

    /** A moment, after which the caller looks again. */
    void pause() {
        if (spins < SPINS) {
            spins++;
            Thread.onSpinWait();
            return;
        }
        // An interrupted thread does not park.
        interrupted |= Thread.interrupted();
        LockSupport.parkNanos(nap);
        nap = Math.min(2 * nap, LONGEST_NAP_NANOS);
    }

    /** How long this wait has taken. */
    long nanos() {
        return System.nanoTime() - start;
    }

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
