package org.rdmapanama.soft.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Places that are used again and again. */
class RingTest {
    private static final int PLACE = 24;

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 7, 8, 100})
    void shouldHaveMorePlacesThanEntries(int entries) {
        Ring ring = new Ring(entries, PLACE);
        assertTrue(ring.places() > entries && Long.bitCount(ring.places()) == 1);
        assertEquals(ring.at(0) + (ring.places() - 1) * PLACE, ring.at(-1));
        assertEquals(ring.at(3), ring.at(3 + (int) ring.places()));
        ring.free();
    }

    /** Also where the numbers have just gone beyond the largest one. */
    @Test
    void shouldKeepWhatItHoldsInAnotherSize() {
        int first = Integer.MAX_VALUE - 1;
        Ring ring = new Ring(4, PLACE);
        for (int i = 0; i < 4; i++) {
            Memory.putLong(ring.at(first + i), i);
            Memory.putLong(ring.at(first + i) + PLACE - Long.BYTES, -i);
        }
        for (int entries : new int[] {100, 4}) {
            ring = ring.resized(entries, first, 4);
            first = 0;
            for (int i = 0; i < 4; i++) {
                assertEquals(i, Memory.getLong(ring.at(i)));
                assertEquals(-i, Memory.getLong(ring.at(i) + PLACE - Long.BYTES));
            }
        }
        ring.free();
    }
}
