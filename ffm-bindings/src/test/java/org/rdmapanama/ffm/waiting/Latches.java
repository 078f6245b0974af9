package org.rdmapanama.ffm.waiting;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Waits of threads that nobody interrupts. */
final class Latches {
    private Latches() {}

    static boolean await(CountDownLatch latch, Duration limit) {
        try {
            return latch.await(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError("nobody interrupts this thread", e);
        }
    }
}
