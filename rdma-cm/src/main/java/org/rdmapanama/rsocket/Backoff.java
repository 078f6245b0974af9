package org.rdmapanama.rsocket;

import java.util.concurrent.locks.LockSupport;

/**
 * Paces a thread that polls a non-blocking rsocket.
 *
 * <p>No way of sleeping on an rsocket is safe in all versions: blocking calls cannot be interrupted, nor ended by
 * closing the rsocket in another thread, and rpoll with a timeout is broken up to rdma-core 62. So a waiting thread
 * first spins, and then sleeps for an eighth of the time that it has waited so far, at most 5 milliseconds: it reacts
 * late by an eighth at most, and an idle thread polls two hundred times a second.
 *
 * <p>Closing a channel unparks its waiting threads; an interrupt ends a pause as well. Each waiting thread creates its
 * own instance.
 */
final class Backoff {
    private static final long SPIN_NANOS = 50_000;
    private static final long LONGEST_PAUSE_NANOS = 5_000_000;
    private static final int SHARE = 8;

    private long start = System.nanoTime();

    /** Restarts the waiting time, because data arrived or left. */
    void reset() {
        start = System.nanoTime();
    }

    void pause(Object blocker) {
        pause(blocker, LONGEST_PAUSE_NANOS);
    }

    /**
     * Pauses the calling thread.
     *
     * @param blocker the object that thread dumps show as the blocker
     * @param mostNanos the longest pause, in nanoseconds
     */
    void pause(Object blocker, long mostNanos) {
        long waited = System.nanoTime() - start;
        if (waited < SPIN_NANOS) {
            Thread.onSpinWait();
        } else {
            LockSupport.parkNanos(
                    blocker, Math.max(1, Math.min(waited / SHARE, Math.min(mostNanos, LONGEST_PAUSE_NANOS))));
        }
    }
}
