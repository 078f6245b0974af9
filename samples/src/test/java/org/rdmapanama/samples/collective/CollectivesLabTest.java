package org.rdmapanama.samples.collective;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Collectives give what a computation in one place gives. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CollectivesLabTest {
    /** Around the limits of messages of 32 KiB, and of what is sent to all at once: 4 KiB. */
    private static final long[] COUNTS = {
        0, 1, 2, 3, 5, 7, 8, 9, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097, 8193, 20_011, 70_001
    };

    /** What a rank has at first: whole numbers, whose sums are exact, so that the order does not matter. */
    private static double value(long seed, int rank, long index) {
        long mixed = (seed * 31 + rank + 1) * 0x9E3779B97F4A7C15L + index * 0xBF58476D1CE4E5B9L;
        return Math.floorMod(mixed ^ mixed >>> 29, 2001L) - 1000.0;
    }

    private static double[] expected(long seed, int size, int count, Reduction reduction) {
        double[] result = new double[count];
        for (int i = 0; i < count; i++) {
            double all = value(seed, 0, i);
            for (int rank = 1; rank < size; rank++) {
                double one = value(seed, rank, i);
                all = switch (reduction) {
                    case SUM -> all + one;
                    case MIN -> Math.min(all, one);
                    case MAX -> Math.max(all, one);
                };
            }
            result[i] = all;
        }
        return result;
    }

    private static double[] elements(Vector vector) {
        double[] all = new double[(int) vector.count()];
        for (int i = 0; i < all.length; i++) {
            all[i] = vector.get(i);
        }
        return all;
    }

    private static void fill(Vector vector, long seed, int rank) {
        for (long i = 0; i < vector.count(); i++) {
            vector.set(i, value(seed, rank, i));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void shouldGiveWhatOneProcessComputes(int size) throws Exception {
        long seed = new Random().nextInt(1_000_000);
        String about = "seed " + seed + ", " + size + " ranks, ";
        try (Ranks ranks = new Ranks(size)) {
            for (ElementType type : ElementType.values()) {
                List<Vector> vectors = ranks.ask(group -> group.allocate(type, COUNTS[COUNTS.length - 1]));
                for (long count : COUNTS) {
                    for (Reduction reduction : Reduction.values()) {
                        double[] all = expected(seed, size, (int) count, reduction);
                        ranks.run(group -> {
                            Vector vector = vectors.get(group.rank()).first(count);
                            fill(vector, seed, group.rank());
                            group.allReduce(vector, reduction);
                            assertArrayEquals(
                                    all, elements(vector), about + reduction + " of " + count + " at " + group.rank());
                        });
                    }
                    int root = (int) (count % size);
                    ranks.run(group -> {
                        Vector vector = vectors.get(group.rank()).first(count);
                        fill(vector, seed, group.rank());
                        group.broadcast(vector, root);
                        for (long i = 0; i < count; i++) {
                            assertEquals(value(seed, root, i), vector.get(i), about + "broadcast of " + count);
                        }
                        fill(vector, seed, group.rank());
                        group.allGather(vector);
                        for (int rank = 0; rank < size; rank++) {
                            for (long i = Group.start(count, size, rank); i < Group.start(count, size, rank + 1); i++) {
                                assertEquals(value(seed, rank, i), vector.get(i), about + "all-gather of " + count);
                            }
                        }
                    });
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 30_000})
    void shouldGiveTheSameBitsToAll(int count) throws Exception {
        try (Ranks ranks = new Ranks(3)) {
            List<Vector> vectors = ranks.ask(group -> {
                Vector vector = group.allocate(ElementType.FLOAT, count);
                Random random = new Random(group.rank());
                for (int i = 0; i < count; i++) {
                    vector.set(i, random.nextGaussian());
                }
                group.allReduce(vector, Reduction.SUM);
                return vector;
            });
            for (Vector each : vectors) {
                assertEquals(
                        -1,
                        MemorySegment.mismatch(
                                each.memory(),
                                0,
                                each.memory().byteSize(),
                                vectors.getFirst().memory(),
                                0,
                                each.memory().byteSize()));
            }
            assertTrue(vectors.getFirst().memory().get(ValueLayout.JAVA_FLOAT, 0) != 0);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 8})
    void shouldLetNobodyThroughABarrierBeforeAllAreThere(int size) throws Exception {
        int rounds = 100;
        AtomicInteger arrived = new AtomicInteger();
        try (Ranks ranks = new Ranks(size)) {
            ranks.run(group -> {
                Random random = new Random(group.rank());
                for (int round = 1; round <= rounds; round++) {
                    if (random.nextInt(20) == 0) {
                        Thread.sleep(1);
                    }
                    arrived.incrementAndGet();
                    group.barrier();
                    int seen = arrived.get();
                    assertTrue(seen >= round * size, () -> seen + " arrived");
                }
            });
        }
        assertEquals(rounds * size, arrived.get());
    }

    @Test
    void shouldKeepCallsApart() throws Exception {
        try (Ranks ranks = new Ranks(4)) {
            ranks.run(group -> {
                // The same on all ranks, so that all make the same calls.
                Random random = new Random(11);
                Random pauses = new Random(group.rank());
                Vector vector = group.allocate(ElementType.DOUBLE, 10_000);
                for (int i = 0; i < 300; i++) {
                    Vector part = vector.first(random.nextInt(10) == 0 ? 10_000 : random.nextInt(600));
                    fill(part, i, group.rank());
                    int operation = random.nextInt(4);
                    if (pauses.nextInt(50) == 0) {
                        Thread.sleep(2);
                    }
                    if (operation == 0) {
                        group.barrier();
                    } else if (operation == 1) {
                        group.broadcast(part, i % 4);
                        double[] all = elements(part);
                        for (int j = 0; j < all.length; j++) {
                            assertEquals(value(i, i % 4, j), all[j]);
                        }
                    } else if (operation == 2) {
                        group.allGather(part);
                    } else {
                        group.allReduce(part, Reduction.MAX);
                        assertArrayEquals(expected(i, 4, (int) part.count(), Reduction.MAX), elements(part));
                    }
                }
            });
        }
    }

    @Test
    void shouldRefuseWhatIsNotPossible() throws Exception {
        assertThrows(IllegalArgumentException.class, () -> Group.join(2, Ranks.addresses(2), Ranks.OPTIONS));
        assertThrows(IllegalArgumentException.class, () -> Group.join(-1, Ranks.addresses(2), Ranks.OPTIONS));
        assertThrows(IllegalArgumentException.class, () -> Group.join(0, Ranks.addresses(65), Ranks.OPTIONS));
        assertThrows(IllegalArgumentException.class, () -> Group.join(0, List.of(), Ranks.OPTIONS));
        try (Ranks one = new Ranks(1);
                Ranks two = new Ranks(2)) {
            Group group = one.group(0);
            Vector other = two.group(0).allocate(ElementType.FLOAT, 1);
            assertThrows(IllegalArgumentException.class, () -> group.allReduce(other, Reduction.SUM));
            assertThrows(
                    IllegalArgumentException.class, () -> group.broadcast(group.allocate(ElementType.FLOAT, 1), 1));
            assertThrows(IllegalArgumentException.class, () -> group.allocate(ElementType.FLOAT, -1));

            CountDownLatch started = new CountDownLatch(1);
            Thread waiting = Thread.ofPlatform().start(() -> {
                started.countDown();
                try {
                    two.group(0).barrier();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            started.await();
            while (!two.group(0).isBusy()) {
                Thread.sleep(1);
            }
            assertThrows(
                    java.util.ConcurrentModificationException.class,
                    () -> two.group(0).barrier());
            two.group(1).barrier();
            waiting.join();
        }
    }
}
