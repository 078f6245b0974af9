package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class HandleTableTest {
    private static final int PLACE_BITS = 2;

    /** The first two stay empty. */
    private static final int PLACES = (1 << PLACE_BITS) - 2;

    private final HandleTable<Object> table = new HandleTable<>(PLACE_BITS, 0, 4, PLACE_BITS);
    private int last;

    private Object make() {
        return table.make(8, (struct, number) -> {
            last = number;
            return struct;
        });
    }

    @Test
    void shouldHaveAllNumbersLeftAfterObjectsThatCouldNotBeMade() {
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

        for (int i = 0; i < PLACES; i++) {
            assertNotNull(make());
        }
        assertNull(make(), "all are in use");
    }

    @Test
    void shouldNotFindTheNextObjectByTheNumberOfAnEarlierOne() {
        make();
        int first = last;
        table.remove(first);

        assertNotNull(make());
        assertNotEquals(first, last);
        assertNull(table.get(first));
        assertEquals(table.atPlaceOf(first), table.get(last));
    }
}
