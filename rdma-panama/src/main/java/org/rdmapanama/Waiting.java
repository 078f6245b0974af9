package org.rdmapanama;

import java.time.Duration;

/** Waits in slices, so that every wait ends at its bound, or soon after its thread is interrupted. */
final class Waiting {
    /** A native wait cannot be interrupted: this is how long an interrupt, or a close, may go unnoticed. */
    private static final int SLICE_MILLIS = 50;

    private Waiting() {}

    /** One native wait of at most so many milliseconds; null when nothing came. */
    @FunctionalInterface
    interface Slice<T> {
        T await(int millis);
    }

    static <T> T await(Duration timeout, Slice<T> slice) throws InterruptedException {
        long start = System.nanoTime();
        long limit = nanos(timeout);
        while (true) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            long left = limit - (System.nanoTime() - start);
            int millis = (int) Math.min(SLICE_MILLIS, Math.max(0, Math.ceilDiv(left, 1_000_000)));
            T result = slice.await(millis);
            if (result != null || left <= 0) {
                return result;
            }
        }
    }

    private static long nanos(Duration timeout) {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("a timeout is not negative: " + timeout);
        }
        try {
            return timeout.toNanos();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }
}
