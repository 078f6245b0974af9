package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.LabDevices;

/**
 * Random trees of objects of all kinds, with work outstanding, are closed in every way: nothing leaks, nothing is used
 * after its end, and nothing hangs. The name of a test has the seed of its tree; the system property
 * {@code closing.seed} begins with another one, and {@code closing.rounds} makes more of them.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ClosingTreesLabTest {
    private static final int ROUNDS = Integer.getInteger("closing.rounds", 5);
    private static final long FIRST_SEED = Long.getLong("closing.seed", 0);

    /** What drains takes two seconds for each device at most, but a machine that is emulated may stand still meanwhile. */
    private static final long LIMIT_SECONDS = 30;

    @BeforeEach
    void assumeOurs() {
        LabDevices.assumeOurs("half of the objects are pretended");
    }

    /** Closes a tree in some way. */
    @FunctionalInterface
    private interface Scenario {
        void run(Random random) throws Exception;
    }

    private static Stream<DynamicTest> forSeeds(Scenario scenario) {
        return LongStream.range(FIRST_SEED, FIRST_SEED + ROUNDS)
                .mapToObj(seed -> DynamicTest.dynamicTest("seed " + seed, () -> {
                    List<String> resources = Commands.resources();
                    String pinned = pinnedMemory();
                    // Of seeds that follow each other, Random itself makes numbers that are much alike.
                    scenario.run(new Random(new SplittableRandom(seed).nextLong()));
                    assertEquals(resources, Commands.resources(), "what the kernel keeps for the devices");
                    assertEquals(pinned, pinnedMemory(), "registered memory is pinned");
                }));
    }

    /** What all registered memory of this process comes to. */
    private static String pinnedMemory() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmPin:"))
                .collect(Collectors.joining());
    }

    private static VerbsArena anyArena(Random random) {
        return random.nextBoolean() ? VerbsArena.ofShared() : VerbsArena.ofConfined();
    }

    private static void close(AutoCloseable object) throws Exception {
        long start = System.nanoTime();
        object.close();
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start);
        assertTrue(seconds < LIMIT_SECONDS, () -> "closing " + object + " took " + seconds + " seconds");
    }

    /** Closes objects, some of them twice: each time exactly what uses the object closes with it. */
    private static void closeOneByOne(RandomTree tree, List<VerbsObject> objects, Random random) throws Exception {
        Set<VerbsObject> closed = new HashSet<>();
        for (VerbsObject object : objects) {
            close(object);
            closed.addAll(tree.closedWith(object));
            for (VerbsObject each : tree.objects()) {
                assertEquals(closed.contains(each), !each.isOpen(), () -> "after closing " + object + ": " + each);
            }
            if (random.nextBoolean()) {
                close(object);
            }
        }
    }

    private static List<VerbsObject> shuffled(RandomTree tree, Random random) {
        List<VerbsObject> objects = new ArrayList<>(tree.objects());
        Collections.shuffle(objects, random);
        return objects;
    }

    @TestFactory
    Stream<DynamicTest> shouldCloseObjectByObject() {
        return forSeeds(random -> {
            VerbsArena arena = anyArena(random);
            RandomTree tree = RandomTree.grow(arena, LabDevices.first(), random);
            tree.openBatches();
            List<VerbsObject> objects = shuffled(tree, random);
            // The device would take all the others with it.
            objects.remove(tree.context);
            closeOneByOne(tree, objects, random);
            close(tree.context);
            tree.assertEnded();
            close(arena);
            assertEquals(Set.of(), tree.alive());
        });
    }

    @TestFactory
    Stream<DynamicTest> shouldLeaveSomeToTheArena() {
        return forSeeds(random -> {
            VerbsArena arena = anyArena(random);
            RandomTree tree = RandomTree.grow(arena, LabDevices.first(), random);
            tree.openBatches();
            List<VerbsObject> objects = shuffled(tree, random);
            closeOneByOne(tree, objects.subList(0, random.nextInt(objects.size() / 2)), random);
            close(arena);
            tree.assertEnded();
            assertEquals(Set.of(), tree.alive());
            for (VerbsObject object : objects) {
                close(object);
            }
            close(arena);
        });
    }

    @TestFactory
    Stream<DynamicTest> shouldCloseContextsFirst() {
        return forSeeds(random -> {
            VerbsArena arena = anyArena(random);
            List<RandomTree> trees = new ArrayList<>();
            trees.add(RandomTree.grow(arena, LabDevices.first(), random));
            trees.add(RandomTree.grow(arena, LabDevices.second(), random));
            trees.forEach(RandomTree::openBatches);
            Collections.shuffle(trees, random);
            for (RandomTree tree : trees) {
                closeOneByOne(tree, List.of(tree.context), random);
                tree.assertEnded();
                assertEquals(Set.of(), tree.alive());
            }
            close(arena);
        });
    }

    @TestFactory
    Stream<DynamicTest> shouldLeaveBorrowedObjectsToTheirOwner() {
        return forSeeds(random -> {
            VerbsArena arena = anyArena(random);
            RandomTree owner = RandomTree.grow(arena, LabDevices.first(), random);
            Set<Long> lent = owner.alive();
            VerbsArena borrowing = anyArena(random);
            RandomTree tree = RandomTree.borrow(borrowing, LabDevices.first(), owner, random);
            tree.openBatches();
            List<VerbsObject> objects = shuffled(tree, random);
            closeOneByOne(tree, objects.subList(0, random.nextInt(objects.size())), random);
            close(borrowing);
            tree.assertEnded();
            assertEquals(lent, owner.alive());

            owner.openBatches();
            closeOneByOne(owner, shuffled(owner, random), random);
            owner.assertEnded();
            assertEquals(Set.of(), owner.alive());
            close(arena);
        });
    }

    /** Two threads close, two others go on posting and polling. */
    @TestFactory
    Stream<DynamicTest> shouldCloseInSeveralThreadsWhileOthersWork() {
        return forSeeds(random -> {
            VerbsArena arena = VerbsArena.ofShared();
            RandomTree tree = RandomTree.grow(arena, LabDevices.first(), random);
            AtomicBoolean over = new AtomicBoolean();
            try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
                List<Future<?>> all = new ArrayList<>();
                for (int i = 0; i < 2; i++) {
                    RandomTree.User user = tree.new User(random.nextLong());
                    all.add(threads.submit(() -> work(user, over)));
                }
                for (int i = 0; i < 2; i++) {
                    List<VerbsObject> some = shuffled(tree, random);
                    some.remove(tree.context);
                    all.add(threads.submit(() -> {
                        for (VerbsObject object : some.subList(0, some.size() / 2)) {
                            close(object);
                        }
                        close(arena);
                        over.set(true);
                        return null;
                    }));
                }
                for (Future<?> thread : all) {
                    thread.get(LIMIT_SECONDS * 3, TimeUnit.SECONDS);
                }
            }
            tree.assertEnded();
            assertEquals(Set.of(), tree.alive());
        });
    }

    private static Void work(RandomTree.User user, AtomicBoolean over) throws InterruptedException {
        while (!over.get()) {
            try {
                user.use();
            } catch (IllegalStateException closed) {
                assertEquals(IllegalStateException.class, closed.getClass(), closed::toString);
            }
        }
        return null;
    }
}
