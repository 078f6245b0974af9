package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.ffm.waiting.Case;
import org.rdmapanama.ffm.waiting.CaseRunner;
import org.rdmapanama.ffm.waiting.Crowd;
import org.rdmapanama.standin.PretendingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Commands;
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

    private static final int PLATFORM_THREADS = 3;
    private static final int VIRTUAL_THREADS = 6;

    private final Crowd<SharedUser> crowd;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final SharedObjects objects = new SharedObjects();

    /** The devices behind the contexts, where they are watched. */
    private final List<PretendingProvider> watched = new CopyOnWriteArrayList<>();

    private SharedArenaFuzz(long seed) {
        crowd = new Crowd<>(seed, PLATFORM_THREADS, VIRTUAL_THREADS);
    }

    public static void main(String[] arguments) {
        CaseRunner.run(cases(), Crowd.LIMIT_OF_ONE, arguments);
    }

    /** Options by which another virtual machine has the same cases. */
    static List<String> settings() {
        return Program.sameProperties("shared.seed", "shared.rounds", "shared.millis");
    }

    static List<Case> cases() {
        return LongStream.range(FIRST_SEED, FIRST_SEED + ROUNDS)
                .mapToObj(seed -> new Case("shared arena, seed " + seed, () -> new SharedArenaFuzz(seed).run()))
                .toList();
    }

    private void run() throws Exception {
        List<String> before = Commands.resources();
        CaseRunner.onHang(crowd::describe);
        Random random = crowd.random();
        boolean watches = random.nextBoolean();
        boolean closesInTheMiddle = random.nextBoolean();
        Supplier<Context> opener = watches ? this::openWatched : () -> Context.open(arena, LabDevices.first());
        objects.put(Context.class, opener.get(), random);
        crowd.run(
                () -> new SharedUser(arena, opener, objects, new Random(random.nextLong()), crowd.threads()),
                TIME,
                () -> true,
                closesInTheMiddle ? this::closeArena : null,
                SharedUser::abandonBatch);
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

    /** Where other threads have batches open, it may take some tries. */
    private void closeArena() throws InterruptedException {
        Bound bound = Bound.of(Crowd.LIMIT_OF_CLOSING);
        while (true) {
            try {
                arena.close();
                return;
            } catch (IllegalStateException open) {
                if (crowd.isOver() || bound.isOver()) {
                    throw open;
                }
                Thread.sleep(1);
            }
        }
    }

    private void assertNothingLeft(List<String> before) throws Exception {
        assertFalse(arena.scope().isAlive(), "its memory is freed");
        crowd.assertBusy();
        for (PretendingProvider provider : watched) {
            assertEquals(List.of(), provider.lives().faults(), crowd::describe);
            assertEquals(Set.of(), provider.lives().alive(), crowd::describe);
        }
        assertEquals(before, Commands.resources(), crowd::describe);
        if (!LabDevices.areNative()) {
            crowd.assertNoSoftDevice();
        }
    }
}
