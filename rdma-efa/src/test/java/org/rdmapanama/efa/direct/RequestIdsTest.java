package org.rdmapanama.efa.direct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The numbers of work requests, which come back in any order. */
class RequestIdsTest {
    private final AtomicInteger generations = new AtomicInteger();

    private record Taken(int number, long id) {}

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5, 16, 33, 0x8000})
    void shouldGiveEachNumberOnceAndReturnItsIdentifier(int capacity) {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        RequestIds ids = new RequestIds(capacity, generations);
        List<Taken> outstanding = new ArrayList<>();
        boolean[] used = new boolean[1 << 16];
        for (int i = 0; i < 5 * capacity + 1000; i++) {
            assertEquals(outstanding.size() == capacity, ids.isFull(), () -> "seed " + seed);
            if (!ids.isFull() && random.nextInt(5) > 1) {
                int number = ids.take(i);
                assertFalse(used[number], () -> "given twice, with seed " + seed);
                if (random.nextInt(10) == 0) {
                    ids.untake(1);
                    number = ids.take(-i);
                    outstanding.add(new Taken(number, -i));
                } else {
                    outstanding.add(new Taken(number, i));
                }
                used[number] = true;
                assertTrue(ids.isKnown(number));
            } else if (!outstanding.isEmpty()) {
                Taken taken = outstanding.remove(random.nextInt(outstanding.size()));
                assertEquals(taken.id(), ids.giveBack(taken.number()), () -> "seed " + seed);
                used[taken.number()] = false;
            }
        }
    }

    @Test
    void shouldKnowNoNumberFromBefore() {
        RequestIds ids = new RequestIds(5, generations);
        int before = ids.take(1);
        ids.take(2);
        ids.reset();
        assertFalse(ids.isKnown(before));
        for (int i = 0; i < 5; i++) {
            assertFalse(ids.isFull());
            assertTrue(ids.isKnown(ids.take(i)));
        }
        assertTrue(ids.isFull());
        // Eight places, of which five count.
        int first = firstKnown(ids);
        assertTrue(ids.isKnown(first + 4));
        assertFalse(ids.isKnown(first + 5));
    }

    private static int firstKnown(RequestIds ids) {
        for (int number = 0; number < 1 << 16; number += 8) {
            if (ids.isKnown(number)) {
                return number;
            }
        }
        throw new AssertionError("no number is known");
    }
}
