package org.rdmapanama.ffm.internal;

import java.time.Duration;

/** Waits in slices, so that every wait ends at its timeout, or soon after its thread is interrupted. Stateless. */
public final class Waiting {
    /** The longest time until an interrupt or a close is noticed, because a native wait cannot be interrupted. */
    private static final int SLICE_MILLIS = 50;

    /** How long a virtual thread sleeps between two polls: a native wait would pin its carrier. */
    private static final int VIRTUAL_SLICE_MILLIS = 2;

    private Waiting() {}

    /**
     * One native wait.
     *
     * @param <T> the type of the result
     */
    @FunctionalInterface
    public interface Slice<T> {
        /**
         * Waits.
         *
         * @param millis how long to wait at most, in milliseconds; 0 checks without waiting
         * @return the result, or null if there is none
         */
        T await(int millis);
    }

    /**
     * Waits until there is a result. A virtual thread polls and sleeps in between.
     *
     * @param <T> the type of the result
     * @param timeout how long to wait at most; zero checks once
     * @param slice one native wait
     * @return the result, or null if there was none in time
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
            throw new IllegalArgumentException("timeout must not be negative: " + timeout);
        }
        try {
            return timeout.toNanos();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }
}
