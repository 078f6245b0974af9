package org.rdmapanama.ffm.internal;

import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Waits for events, so that every wait ends at its timeout, or soon after its thread is interrupted. Stateless. */
public final class Waiting {
    private Waiting() {}

    /**
     * Waits until an event is found, the source is {@linkplain ReadySource#wakeup woken up}, or the time is over. A
     * virtual thread parks.
     *
     * @param <T> the type of the result
     * @param source tells when to look
     * @param timeout how long to wait at most; zero looks once
     * @param look looks for an event without waiting and returns it, or null if there is none
     * @return the result, or null if there was none
     * @throws IllegalArgumentException when the timeout is negative
     * @throws InterruptedException when the thread is interrupted
     */
    public static <T> T await(ReadySource source, Duration timeout, Supplier<T> look) throws InterruptedException {
        return await(source, timeout, () -> Long.MAX_VALUE, look);
    }

    /**
     * Like {@link #await(ReadySource, Duration, Supplier)}, but looks again at times when there is no event.
     *
     * @param <T> the type of the result
     * @param source tells when to look
     * @param timeout how long to wait at most; zero looks once
     * @param longestSleep returns how many nanoseconds to sleep at most until the next look, positive
     * @param look looks for an event without waiting and returns it, or null if there is none
     * @return the result, or null if there was none
     * @throws IllegalArgumentException when the timeout is negative
     * @throws InterruptedException when the thread is interrupted
     */
    public static <T> T await(ReadySource source, Duration timeout, LongSupplier longestSleep, Supplier<T> look)
            throws InterruptedException {
        long limit = nanos("timeout", timeout);
        checkNotInterrupted();
        if (limit == 0) {
            T result = look.get();
            if (result == null) {
                source.takeWakeup();
            }
            return result;
        }
        // Looking for events and reading the clock may be system calls.
        boolean ends = limit != Long.MAX_VALUE;
        long start = ends ? System.nanoTime() : 0;
        try (Sleeper sleeper = Sleeper.on(source)) {
            while (true) {
                sleeper.prepare();
                T result = look.get();
                if (result != null || source.takeWakeup()) {
                    return result;
                }
                checkNotInterrupted();
                long left = ends ? limit - (System.nanoTime() - start) : limit;
                if (left <= 0) {
                    return null;
                }
                sleeper.sleep(Math.min(left, longestSleep.getAsLong()));
            }
        }
    }

    /**
     * Checks whether the calling thread is interrupted, as every call that waits does first.
     *
     * @throws InterruptedException if so; the thread is not interrupted any more then
     */
    public static void checkNotInterrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    /**
     * Returns a time limit in nanoseconds.
     *
     * @param name the name of the parameter
     * @param duration the limit
     * @return the nanoseconds, or {@link Long#MAX_VALUE} if there are more
     * @throws IllegalArgumentException when it is negative
     */
    public static long nanos(String name, Duration duration) {
        if (duration.isNegative()) {
            throw new IllegalArgumentException(name + " must not be negative: " + duration);
        }
        try {
            return duration.toNanos();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }
}
