package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.internal.SecretNumbers;

class HandleTableTest {
    private static final int QUEUE_PAIR_BITS = 24;
    private static final int OWNER_BITS = 8;
    private static final int MANY = 1 << 14;

    private HandleTable<Object> table = new HandleTable<>(Integer.SIZE, MANY, 0);
    private int last;

    @BeforeAll
    static void open() {
        assertEquals(0, SecretNumbers.prepare());
    }

    private Object make() {
        Object made = table.make(8, (struct, number) -> {
            last = number;
            return new Object();
        });
        if (made != null) {
            assertSame(made, table.get(last));
        }
        return made;
    }

    @Test
    void shouldHaveAllNumbersLeftAfterObjectsThatCouldNotBeMade() {
        table = new HandleTable<>(QUEUE_PAIR_BITS, 2, 0);
        OutOfMemoryError full = new OutOfMemoryError("for a test");
        for (int i = 0; i < 10; i++) {
            assertSame(
                    full,
                    assertThrows(
                            OutOfMemoryError.class,
                            () -> table.make(8, (struct, number) -> {
                                throw full;
                            })));
            assertThrows(OutOfMemoryError.class, () -> table.make(Long.MAX_VALUE / 2, (struct, number) -> struct));
        }

        assertNotNull(make());
        assertNotNull(make());
        assertNull(make(), "as many as there may be");
        table.remove(last);
        assertNotNull(make());
    }

    /** Nor any object by any number that was in use earlier, however often the table grew in between. */
    @Test
    void shouldFindEachObjectByItsOwnNumberOnly() {
        table = new HandleTable<>(QUEUE_PAIR_BITS, MANY, 0);
        Map<Integer, Object> live = new HashMap<>();
        Deque<Integer> order = new ArrayDeque<>();
        Set<Integer> freed = new HashSet<>();
        for (int i = 0; i < 4 * MANY; i++) {
            if (live.size() == MANY || i % 3 == 2) {
                int oldest = order.remove();
                live.remove(oldest);
                table.remove(oldest);
                freed.add(oldest);
            }
            Object made = make();
            assertNull(live.put(last, made), "a number of an object that exists");
            order.add(last);
            freed.remove(last);
        }

        live.forEach((number, object) -> assertSame(object, table.get(number)));
        for (int each : freed) {
            assertNull(table.get(each));
        }
        Set<Object> found = new HashSet<>();
        table.forEach(found::add);
        assertEquals(new HashSet<>(live.values()), found);
        // Of 24 bits; about 240 numbers will have come back by chance.
        assertTrue(freed.size() > 2 * MANY, () -> freed.size() + " numbers were not used again");
    }

    /** Of 12 bits, so that it would happen by chance in a table that did not care. */
    @Test
    void shouldNotGiveTheSameNumberTwiceInARow() {
        table = new HandleTable<>(12, 16, 0);
        for (int i = 0; i < 1 << 16; i++) {
            int before = last;
            make();
            assertTrue(last != before, "a number that has just become free");
            assertNull(table.get(before));
            table.remove(last);
        }
    }

    @Test
    void shouldNotUseNumbersThatMeanSomethingElse() {
        table = new HandleTable<>(Byte.SIZE, 16, 0);
        Set<Integer> seen = new HashSet<>();
        for (int i = 0; i < 10_000; i++) {
            make();
            seen.add(last);
            table.remove(last);
        }
        assertFalse(seen.contains(0));
        assertFalse(seen.contains(1));
        assertFalse(seen.contains(255));
        assertEquals(253, seen.size());
    }

    /** What the numbers say of each other: nothing. All bits vary, by themselves and from one number to the next. */
    @Test
    void shouldGiveNumbersThatNobodyCanPredict() {
        for (int bits : new int[] {QUEUE_PAIR_BITS, Integer.SIZE}) {
            table = new HandleTable<>(bits, MANY, 0);
            int[] numbers = new int[MANY];
            for (int i = 0; i < MANY; i++) {
                make();
                numbers[i] = last;
                assertEquals(0, bits == Integer.SIZE ? 0 : last >>> bits);
            }
            Unpredictable.check(bits, numbers);
        }
    }

    @Test
    void shouldKnowAnObjectWhateverItsOwnerMadeOfTheNumber() {
        table = new HandleTable<>(Integer.SIZE, MANY, OWNER_BITS);
        Map<Integer, Object> made = new HashMap<>();
        for (int i = 0; i < MANY / 2; i++) {
            Object object = make();
            int changed = last ^ (i & ((1 << OWNER_BITS) - 1));
            table.renumber(last, changed);
            assertSame(object, table.get(changed));
            assertTrue(changed == last || table.get(last) == null);
            assertNull(made.put(last, object));
        }

        made.forEach((number, object) -> assertSame(object, table.getChanged(number)));
        int first = made.keySet().iterator().next();
        table.remove(first);
        assertNull(table.getChanged(first));
    }
}
