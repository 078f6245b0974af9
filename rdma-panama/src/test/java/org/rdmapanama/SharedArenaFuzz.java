package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.rdmapanama.ffm.waiting.Case;
import org.rdmapanama.ffm.waiting.CaseRunner;
import org.rdmapanama.ffm.waiting.Heartbeat;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LabDevices;

/**
 * Platform and virtual threads that make random calls on the objects of one arena, until it is closed: in the middle of it
 * all, or when they are through. Closing ends, nobody hangs, and nothing is left. The seed does not say how the threads
 * take turns: a failure tells the last calls of each as well.
 */
final class SharedArenaFuzz {
    private static final long FIRST_SEED = Long.getLong("shared.seed", 1);
    private static final int ROUNDS = Integer.getInteger("shared.rounds", LabDevices.areSoftRoce() ? 2 : 5);
    private static final Duration TIME = Duration.ofMillis(Integer.getInteger("shared.millis", 700));

    /** A virtual machine that has just started, in one that is emulated, needs more time for them. */
    private static final int LEAST_CALLS = 100;

    private static final Duration LIMIT_OF_ONE = Duration.ofSeconds(90);

    /** Loading classes keeps one, too. */
    private static final Duration LIMIT_OF_CARRIER = Duration.ofSeconds(10);

    private static final Duration LIMIT_OF_CALLS = Duration.ofSeconds(30);
    private static final Duration LIMIT_OF_CLOSING = Duration.ofSeconds(20);
    private static final int PLATFORM_THREADS = 3;
    private static final int VIRTUAL_THREADS = 6;

    private final long seed;
    private final Random random;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final SharedObjects objects = new SharedObjects();
    private final List<SharedUser> users = new ArrayList<>();
    private final List<Thread> threads = new CopyOnWriteArrayList<>();
    private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
    private final CountDownLatch ended = new CountDownLatch(PLATFORM_THREADS + VIRTUAL_THREADS);

    /** The devices behind the contexts, where they are watched. */
    private final List<PretendingProvider> watched = new CopyOnWriteArrayList<>();

    private volatile boolean over;

    private SharedArenaFuzz(long seed) {
        this.seed = seed;
        // Of seeds that follow each other, Random itself makes numbers that are much alike.
        random = new Random(new SplittableRandom(seed).nextLong());
    }

    public static void main(String[] arguments) {
        CaseRunner.run(cases(), LIMIT_OF_ONE, arguments);
    }

    static List<Case> cases() {
        return LongStream.range(FIRST_SEED, FIRST_SEED + ROUNDS)
                .mapToObj(seed -> new Case("shared arena, seed " + seed, () -> new SharedArenaFuzz(seed).run()))
                .toList();
    }

    private void run() throws Exception {
        List<String> before = Commands.resources();
        CaseRunner.onHang(this::describe);
        boolean watches = random.nextBoolean();
        boolean closesInTheMiddle = random.nextBoolean();
        Supplier<Context> opener = watches ? this::openWatched : () -> Context.open(arena, LabDevices.first());
        objects.put(Context.class, opener.get(), random);
        for (int i = 0; i < PLATFORM_THREADS + VIRTUAL_THREADS; i++) {
            users.add(new SharedUser(arena, opener, objects, new Random(random.nextLong()), threads));
        }
        try (Heartbeat heartbeat = new Heartbeat(LIMIT_OF_CARRIER)) {
            for (int i = 0; i < users.size(); i++) {
                start(users.get(i), i < PLATFORM_THREADS);
            }
            Bound bound = Bound.of(LIMIT_OF_CALLS);
            do {
                heartbeat.await(ended, TIME);
            } while (done() < LEAST_CALLS && failures.isEmpty() && !bound.isOver());
            try {
                if (closesInTheMiddle) {
                    closeArena();
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
        closeArena();
        assertNothingLeft(before);
    }

    private Context openWatched() {
        return Context.open(arena, LabDevices.first(), () -> {
            PretendingProvider provider = PretendingProvider.of(LabDevices.first());
            watched.add(provider);
            return provider;
        });
    }

    private void start(SharedUser user, boolean platform) {
        Runnable body = () -> {
            try {
                while (!over) {
                    user.act();
                }
                user.abandonBatch();
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

    /** Where other threads have batches open, it may take some tries. */
    private void closeArena() throws InterruptedException {
        Bound bound = Bound.of(LIMIT_OF_CLOSING);
        while (true) {
            try {
                arena.close();
                return;
            } catch (IllegalStateException open) {
                if (over || bound.isOver()) {
                    throw open;
                }
                Thread.sleep(1);
            }
        }
    }

    private void assertNothingLeft(List<String> before) throws Exception {
        assertFalse(arena.scope().isAlive(), "its memory is freed");
        assertTrue(done() >= LEAST_CALLS, () -> "only " + done() + " calls did something");
        for (PretendingProvider provider : watched) {
            assertEquals(List.of(), provider.lives().faults(), this::describe);
            assertEquals(Set.of(), provider.lives().alive(), this::describe);
        }
        assertEquals(before, Commands.resources(), this::describe);
        if (!LabDevices.areNative()) {
            // It ends with the last context.
            assertFalse(
                    Thread.getAllStackTraces().keySet().stream()
                            .anyMatch(thread -> thread.getName().equals("soft0")),
                    this::describe);
        }
    }

    /** How many calls did something. */
    private int done() {
        return users.stream().mapToInt(SharedUser::done).sum();
    }

    private String describe() {
        StringBuilder text = new StringBuilder("\nseed " + seed);
        for (int i = 0; i < users.size(); i++) {
            text.append("\n").append(threads.get(i).getName());
            users.get(i).last().forEach(call -> text.append("\n    ").append(call));
        }
        return text.toString();
    }
}
