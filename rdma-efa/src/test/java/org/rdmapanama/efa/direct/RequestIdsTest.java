package org.rdmapanama.efa.direct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
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
    @ValueSource(ints = {0, 1, 2, 5, 16, 33, 0x4000, 0x4001, 0x8000, 0xffff, 0x10000})
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
                assertFalse(ids.isKnown(number), () -> "not announced, with seed " + seed);
                if (random.nextBoolean()) {
                    ids.untake(1);
                    assertEquals(number, ids.take(outstanding.getLast().id()));
                }
                ids.announce();
                assertTrue(ids.isKnown(number));
            } else if (!outstanding.isEmpty()) {
                int which = random.nextInt(outstanding.size());
                Taken taken = outstanding.get(which);
                outstanding.set(which, outstanding.getLast());
                outstanding.removeLast();
                assertTrue(ids.isKnown(taken.number()), () -> "seed " + seed);
                assertEquals(taken.id(), ids.id(taken.number()), () -> "seed " + seed);
                ids.giveBack(taken.number());
                used[taken.number()] = false;
                assertFalse(ids.isKnown(taken.number()), () -> "seed " + seed);
                // Nothing comes of it.
                ids.giveBack(taken.number());
            }
        }
    }

    /** Up to 0x8000: then no bit is left. */
    @ParameterizedTest
    @ValueSource(ints = {1, 5, 0x1000, 0x4000, 0x4001, 0x8000})
    void shouldKnowNoNumberFromBefore(int capacity) {
        RequestIds ids = new RequestIds(capacity, generations);
        for (int begins = 0; begins < 5; begins++) {
            Set<Integer> before = takeAll(ids);
            if (begins % 2 == 0) {
                ids.reset();
            } else {
                ids = new RequestIds(capacity, generations);
            }
            Set<Integer> now = takeAll(ids);
            assertTrue(ids.isFull());
            assertTrue(Collections.disjoint(before, now));
            for (int number : before) {
                assertFalse(ids.isKnown(number));
            }
        }
    }

    private static Set<Integer> takeAll(RequestIds ids) {
        Set<Integer> numbers = new HashSet<>();
        while (!ids.isFull()) {
            numbers.add(ids.take(0));
        }
        ids.announce();
        return numbers;
    }

    /** Up to 0x4000: then no bit is left for the uses. */
    @ParameterizedTest
    @ValueSource(ints = {1, 5, 0x1000, 0x4000})
    void shouldGiveAPlaceThatIsUsedAgainAnotherNumber(int capacity) {
        RequestIds ids = new RequestIds(capacity, generations);
        int first = ids.take(1);
        ids.announce();
        ids.giveBack(first);
        int places = Integer.highestOneBit(2 * capacity - 1);
        for (int i = 1; i < places; i++) {
            int number = ids.take(1);
            ids.announce();
            ids.giveBack(number);
        }
        int again = ids.take(2);
        ids.announce();
        assertEquals(0, (first ^ again) & places - 1, "place");
        assertNotEquals(first, again);
        assertFalse(ids.isKnown(first));
    }

    @Test
    void shouldRefuseMoreThanThereAreNumbers() {
        UnsupportedOperationException refused =
                assertThrows(UnsupportedOperationException.class, () -> new RequestIds(0x10001, generations));
        assertTrue(refused.getMessage().contains("65536 work requests of a queue, not for 65537"), refused::getMessage);
    }
}
