package org.rdmapanama.ffm.internal;

import java.time.Duration;

/** Waits in slices, so that every wait ends at its bound, or soon after its thread is interrupted. */
public final class Waiting {
    /** A native wait cannot be interrupted: this is how long an interrupt, or a close, may go unnoticed. */
    private static final int SLICE_MILLIS = 50;

    /** How long a virtual thread sleeps between two looks: a native wait would keep its carrier from others. */
    private static final int VIRTUAL_SLICE_MILLIS = 2;

    private Waiting() {}

    /**
     * One native wait.
     *
     * @param <T> what is waited for
     */
    @FunctionalInterface
    public interface Slice<T> {
        /**
         * Waits.
         *
         * @param millis how long at most, in milliseconds; 0 to look only
         * @return what came, or null when nothing did
         */
        T await(int millis);
    }

    /**
     * Waits until something comes. A virtual thread looks again and again, and sleeps in between.
     *
     * @param <T> what is waited for
     * @param timeout how long at most; zero to look only
     * @param slice one native wait
     * @return what came, or null when nothing did in that time
     * @throws IllegalArgumentException when the timeout is negative
     * @throws InterruptedException when the thread is interrupted
     */
    public static <T> T await(Duration timeout, Slice<T> slice) throws InterruptedException {
        long start = System.nanoTime();
        long limit = nanos(timeout);
        boolean virtual = Thread.currentThread().isVirtual();
        while (true) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            long left = limit - (System.nanoTime() - start);
            int most = virtual ? VIRTUAL_SLICE_MILLIS : SLICE_MILLIS;
            int millis = (int) Math.min(most, Math.max(0, Math.ceilDiv(left, 1_000_000)));
            T result = slice.await(virtual ? 0 : millis);
            if (result != null || left <= 0) {
                return result;
            }
            if (virtual) {
                Thread.sleep(millis);
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
