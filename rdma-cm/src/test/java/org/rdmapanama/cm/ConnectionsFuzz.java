package org.rdmapanama.cm;

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
import java.util.stream.LongStream;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.waiting.Case;
import org.rdmapanama.ffm.waiting.CaseRunner;
import org.rdmapanama.ffm.waiting.Heartbeat;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * Platform and virtual threads that make random calls on the servers, connections, requests, channels and ids of one arena.
 * In some rounds the arena is closed in the middle of it all. Nobody hangs, all can be closed, and nothing is left. The
 * seed does not say how the threads take turns: a failure tells the last calls of each as well.
 */
final class ConnectionsFuzz {
    private static final long FIRST_SEED = Long.getLong("connections.seed", 1);
    private static final int ROUNDS = Integer.getInteger("connections.rounds", 3);
    private static final Duration TIME = Duration.ofMillis(Integer.getInteger("connections.millis", 700));
    private static final int LEAST_CALLS = 100;
    private static final Duration LIMIT_OF_ONE = Duration.ofSeconds(90);
    private static final Duration LIMIT_OF_CARRIER = Duration.ofSeconds(10);
    private static final Duration LIMIT_OF_CALLS = Duration.ofSeconds(30);
    private static final Duration LIMIT_OF_CLOSING = Duration.ofSeconds(20);
    private static final int PLATFORM_THREADS = 3;
    private static final int VIRTUAL_THREADS = 4;

    private final long seed;
    private final Random random;
    private final FailingConnectionManager manager;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final ConnectionsWorld world = new ConnectionsWorld(arena);
    private final List<ConnectionsUser> users = new ArrayList<>();
    private final List<Thread> threads = new CopyOnWriteArrayList<>();
    private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
    private final CountDownLatch ended = new CountDownLatch(PLATFORM_THREADS + VIRTUAL_THREADS);
    private volatile boolean over;

    private ConnectionsFuzz(long seed, ConnectionManager usual) {
        this.seed = seed;
        // Of seeds that follow each other, Random itself makes numbers that are much alike.
        random = new Random(new SplittableRandom(seed).nextLong());
        manager = new FailingConnectionManager(usual);
    }

    public static void main(String[] arguments) {
        CaseRunner.run(cases(), LIMIT_OF_ONE, arguments);
    }

    static List<Case> cases() {
        return LongStream.range(FIRST_SEED, FIRST_SEED + ROUNDS)
                .mapToObj(seed -> new Case("connections, seed " + seed, () -> run(seed)))
                .toList();
    }

    private static void run(long seed) throws Exception {
        ConnectionManager usual = ConnectionManagers.preferred();
        ConnectionsFuzz fuzz = new ConnectionsFuzz(seed, usual);
        ConnectionManagers.replace(fuzz.manager);
        try {
            fuzz.run();
        } finally {
            ConnectionManagers.replace(usual);
        }
    }

    private void run() throws Exception {
        CaseRunner.onHang(this::describe);
        boolean closesInTheMiddle = random.nextBoolean();
        for (int i = 0; i < PLATFORM_THREADS + VIRTUAL_THREADS; i++) {
            users.add(new ConnectionsUser(world, new Random(random.nextLong()), threads));
        }
        try (Heartbeat heartbeat = new Heartbeat(LIMIT_OF_CARRIER)) {
            for (int i = 0; i < users.size(); i++) {
                start(users.get(i), i < PLATFORM_THREADS);
            }
            long start = System.nanoTime();
            do {
                heartbeat.await(ended, TIME);
            } while (done() < LEAST_CALLS
                    && failures.isEmpty()
                    && System.nanoTime() - start < LIMIT_OF_CALLS.toNanos());
            try {
                if (closesInTheMiddle) {
                    arena.close();
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
        if (random.nextBoolean()) {
            arena.close();
        }
        world.closeAll();
        arena.close();
        assertNothingLeft();
    }

    private void start(ConnectionsUser user, boolean platform) {
        Runnable body = () -> {
            try {
                while (!over) {
                    user.act();
                }
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

    private void assertNothingLeft() {
        assertFalse(arena.scope().isAlive(), "its memory is freed");
        assertTrue(done() >= LEAST_CALLS, () -> "only " + done() + " calls did something");
        assertTrue(world.connected.get() > 0, "nothing was connected");
        assertEquals(Set.of(), manager.faults(), this::describe);
        assertEquals(Set.of(), manager.alive(), this::describe);
        // The device ends with its last context, and a thread that watches for selectors with its channel.
        assertFalse(
                Thread.getAllStackTraces().keySet().stream()
                        .anyMatch(thread -> thread.getName().equals("soft0")),
                this::describe);
    }

    /** How many calls did something. */
    private int done() {
        return users.stream().mapToInt(ConnectionsUser::done).sum();
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
