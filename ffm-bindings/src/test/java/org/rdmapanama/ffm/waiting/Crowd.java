package org.rdmapanama.ffm.waiting;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.rdmapanama.testing.Bound;

/**
 * Platform and virtual threads of which each is a {@link RandomUser}, for a time. A carrier that stands still, a thread
 * that does not end, and what a call must not throw are failures. The seed does not say how the threads take turns: a
 * failure tells the last calls of each as well.
 *
 * @param <U> the users
 */
public final class Crowd<U extends RandomUser<U>> {
    /** How long a run may take. */
    public static final Duration LIMIT_OF_ONE = Duration.ofSeconds(90);

    /** How long it may take until all threads have ended. */
    public static final Duration LIMIT_OF_CLOSING = Duration.ofSeconds(20);

    /** A virtual machine that has just started, in one that is emulated, needs more time for them. */
    private static final int LEAST_CALLS = 100;

    /** Loading classes keeps one, too. */
    private static final Duration LIMIT_OF_CARRIER = Duration.ofSeconds(10);

    private static final Duration LIMIT_OF_CALLS = Duration.ofSeconds(30);

    private final long seed;
    private final Random random;
    private final int platformThreads;
    private final int virtualThreads;
    private final List<U> users = new ArrayList<>();
    private final List<Thread> threads = new CopyOnWriteArrayList<>();
    private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
    private final CountDownLatch ended;
    private volatile boolean over;

    public Crowd(long seed, int platformThreads, int virtualThreads) {
        this.seed = seed;
        this.platformThreads = platformThreads;
        this.virtualThreads = virtualThreads;
        // Of seeds that follow each other, Random itself makes numbers that are much alike.
        random = new Random(new SplittableRandom(seed).nextLong());
        ended = new CountDownLatch(platformThreads + virtualThreads);
    }

    /** The numbers of this seed. */
    public Random random() {
        return random;
    }

    /** The threads that have been started. */
    public List<Thread> threads() {
        return threads;
    }

    /** Whether the threads must end. */
    public boolean isOver() {
        return over;
    }

    /**
     * Runs them for a time, and then until enough has happened.
     *
     * @param maker makes a user for each thread, before it starts
     * @param time how long at least
     * @param isEnough whether enough has happened, besides the number of calls
     * @param closing closes what they use, while they go on; null if that comes later
     * @param atEnd what each thread does at the end
     */
    public void run(Supplier<U> maker, Duration time, BooleanSupplier isEnough, Case.Body closing, Consumer<U> atEnd)
            throws Exception {
        for (int i = 0; i < platformThreads + virtualThreads; i++) {
            users.add(maker.get());
        }
        try (CarrierPulse heartbeat = new CarrierPulse(LIMIT_OF_CARRIER)) {
            for (int i = 0; i < users.size(); i++) {
                start(users.get(i), i < platformThreads, atEnd);
            }
            Bound bound = Bound.of(LIMIT_OF_CALLS);
            do {
                heartbeat.await(ended, time);
            } while ((done() < LEAST_CALLS || !isEnough.getAsBoolean()) && failures.isEmpty() && !bound.isOver());
            try {
                if (closing != null) {
                    closing.run();
                    // They go on, with what is closed.
                    heartbeat.await(ended, Duration.ofMillis(20));
                }
            } finally {
                over = true;
            }
            if (!heartbeat.await(ended, LIMIT_OF_CLOSING)) {
                throw CaseRunner.hangs("a thread does not end");
            }
        }
        for (Throwable failure : failures) {
            throw new AssertionError(failure.getMessage() + describe(), failure);
        }
    }

    private void start(U user, boolean platform, Consumer<U> atEnd) {
        Runnable body = () -> {
            try {
                while (!over) {
                    user.act();
                }
                atEnd.accept(user);
            } catch (Throwable e) {
                failures.add(e);
                over = true;
            }
            ended.countDown();
        };
        Thread.Builder builder = platform ? Thread.ofPlatform().daemon() : Thread.ofVirtual();
        Thread thread = builder.name((platform ? "platform " : "virtual ") + threads.size())
                .unstarted(body);
        threads.add(thread);
        thread.start();
    }

    /** Checks that enough calls did something. */
    public void assertBusy() {
        assertTrue(done() >= LEAST_CALLS, () -> "only " + done() + " calls did something");
    }

    /** Checks that the device in software has ended, which it does with its last context. */
    public void assertNoSoftDevice() {
        assertFalse(
                Thread.getAllStackTraces().keySet().stream()
                        .anyMatch(thread -> thread.getName().equals("soft0")),
                this::describe);
    }

    private int done() {
        return users.stream().mapToInt(RandomUser::done).sum();
    }

    /** The seed, and the last calls of each thread. */
    public String describe() {
        StringBuilder text = new StringBuilder("\nseed " + seed);
        for (int i = 0; i < users.size() && i < threads.size(); i++) {
            text.append("\n").append(threads.get(i).getName());
            users.get(i).last().forEach(call -> text.append("\n    ").append(call));
        }
        return text.toString();
    }
}
