package org.rdmapanama.internal;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A wait for other threads that are expected to be quick. It spins briefly and then sleeps, longer each time. A
 * sleeping virtual thread releases its carrier, which the awaited thread may need.
 *
 * <p>An interrupt neither ends the wait nor prevents it from sleeping; {@link #close} restores it.
 */
public final class ShortWait implements AutoCloseable {
    /** A few microseconds, which most calls of a driver take. */
    private static final int SPINS = 100;

    private static final long FIRST_NAP_NANOS = 1_000;
    private static final long LONGEST_NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final long start = System.nanoTime();
    private int spins;
    private long nap = FIRST_NAP_NANOS;
    private boolean interrupted;

    /** Waits briefly, after which the caller looks again. */
    public void pause() {
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

    /** The duration of this wait so far. */
    public long nanos() {
        return System.nanoTime() - start;
    }

    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
