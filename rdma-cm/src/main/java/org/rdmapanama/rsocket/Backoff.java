package org.rdmapanama.rsocket;

import java.util.concurrent.locks.LockSupport;

/**
 * The pauses of a thread that asks a non-blocking rsocket again and again.
 *
 * <p>rsockets have nothing to sleep on that is safe in all versions: the blocking calls cannot be interrupted or closed
 * from another thread, and rpoll with a timeout is broken up to rdma-core 62. So a waiting thread first spins, and then
 * sleeps for a share of what it has waited already: that makes it late by an eighth at most, and an idle one costs two
 * hundred looks a second.
 *
 * <p>Whoever closes a channel unparks those who wait; an interrupt ends a pause as well.
 */
final class Backoff {
    private static final long SPIN_NANOS = 50_000;
    private static final long LONGEST_PAUSE_NANOS = 5_000_000;
    private static final int SHARE = 8;

    private long start = System.nanoTime();

    /** Something came: what is waited for next counts from now. */
    void reset() {
        start = System.nanoTime();
    }

    void pause(Object blocker) {
        pause(blocker, LONGEST_PAUSE_NANOS);
    }

    /**
     * Lets some time pass.
     *
     * @param blocker what is waited for, for who looks at this thread
     * @param mostNanos the longest pause
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
