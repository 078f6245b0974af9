package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import java.util.function.Supplier;

/**
 * The longest that a test waits for something, from the moment at which the bound is made or restarted. Every loop of a
 * test that waits has one, so that a test that would hang fails, and says what did not happen.
 *
 * <p>The system property {@code tests.patience} makes all bounds that many times as long, for processors that are emulated.
 */
public final class Bound {
    /** Enough for everything that happens at once unless something is broken, even in an emulated machine. */
    public static final Duration USUAL = Duration.ofSeconds(10);

    /** The name of the property, which programs that tests start need as well. */
    public static final String PATIENCE = "tests.patience";

    private static final int TIMES = Integer.getInteger(PATIENCE, 1);

    private static final int PAUSE_MILLIS = 1;

    /** How often a loop without pauses looks before it lets a thread have the processor that may be waiting for it. */
    private static final int LOOKS = 1_000;

    private final Duration limit;
    private final long nanos;
    private long start = System.nanoTime();

    private Bound(Duration limit) {
        this.limit = limit.multipliedBy(TIMES);
        nanos = this.limit.toNanos();
    }

    /** What somebody waits for. */
    @FunctionalInterface
    public interface Condition<E extends Exception> {
        boolean holds() throws E;
    }

    /** The seconds for what has no bound of this class, such as a wait for the end of a process. */
    public static int patient(int seconds) {
        return seconds * TIMES;
    }

    public static Bound usual() {
        return new Bound(USUAL);
    }

    public static Bound of(Duration limit) {
        return new Bound(limit);
    }

    public static Bound ofSeconds(long seconds) {
        return new Bound(Duration.ofSeconds(seconds));
    }

    /** Counts from now on, for loops that must not allocate. */
    public Bound restart() {
        start = System.nanoTime();
        return this;
    }

    public boolean isOver() {
        return System.nanoTime() - start > nanos;
    }

    /** Fails if the time is over; the text says what should have happened and did not, such as "no completion came". */
    public void check(String missing) {
        if (isOver()) {
            fail(missing + "; the limit is " + limit);
        }
    }

    public void check(Supplier<String> missing) {
        if (isOver()) {
            fail(missing.get() + "; the limit is " + limit);
        }
    }

    /** Looks again and again without a pause, for what takes microseconds. */
    public <E extends Exception> void spin(String missing, Condition<E> condition) throws E {
        spin(() -> missing, condition);
    }

    @SuppressWarnings("ThreadPriorityCheck") // it is right without yield(), but slow where processors are few
    public <E extends Exception> void spin(Supplier<String> missing, Condition<E> condition) throws E {
        int looks = 0;
        while (!condition.holds()) {
            check(missing);
            if (++looks % LOOKS == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** Looks again and again, with pauses, which leave the processor to others. */
    public <E extends Exception> void await(String missing, Condition<E> condition) throws E, InterruptedException {
        await(() -> missing, condition);
    }

    public <E extends Exception> void await(Supplier<String> missing, Condition<E> condition)
            throws E, InterruptedException {
        while (!condition.holds()) {
            check(missing);
            Thread.sleep(PAUSE_MILLIS);
        }
    }
}
