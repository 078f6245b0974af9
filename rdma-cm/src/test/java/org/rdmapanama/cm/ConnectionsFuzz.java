package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.ffm.waiting.Case;
import org.rdmapanama.ffm.waiting.CaseRunner;
import org.rdmapanama.ffm.waiting.Crowd;
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
    private static final int PLATFORM_THREADS = 3;
    private static final int VIRTUAL_THREADS = 4;

    private final Crowd<ConnectionsUser> crowd;
    private final FailingConnectionManager manager;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final ConnectionsWorld world = new ConnectionsWorld(arena);

    private ConnectionsFuzz(long seed, ConnectionManager usual) {
        crowd = new Crowd<>(seed, PLATFORM_THREADS, VIRTUAL_THREADS);
        manager = FailingConnectionManager.of(usual);
    }

    public static void main(String[] arguments) {
        CaseRunner.run(cases(), Crowd.LIMIT_OF_ONE, arguments);
    }

    /** Options by which another virtual machine has the same cases. */
    static List<String> settings() {
        return Program.sameProperties("connections.seed", "connections.rounds", "connections.millis");
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
        CaseRunner.onHang(crowd::describe);
        Random random = crowd.random();
        boolean closesInTheMiddle = random.nextBoolean();
        crowd.run(
                () -> new ConnectionsUser(world, new Random(random.nextLong()), crowd.threads()),
                TIME,
                () -> world.connected.get() > 0,
                closesInTheMiddle ? arena::close : null,
                user -> {});
        if (random.nextBoolean()) {
            arena.close();
        }
        world.closeAll();
        arena.close();
        assertNothingLeft();
    }

    private void assertNothingLeft() {
        assertFalse(arena.scope().isAlive(), "its memory is freed");
        crowd.assertBusy();
        assertTrue(world.connected.get() > 0, "nothing was connected");
        assertEquals(Set.of(), manager.faults(), crowd::describe);
        assertEquals(Set.of(), manager.alive(), crowd::describe);
        crowd.assertNoSoftDevice();
    }
}
