package org.rdmapanama.samples.parameters;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Numbers of fixed point, and what servers say of them. */
class FixedPointTest {
    @Test
    void shouldConvert() {
        assertEquals(1L << 32, FixedPoint.of(1));
        assertEquals(-(3L << 31), FixedPoint.of(-1.5));
        assertEquals(1, FixedPoint.of(0x1p-32));
        assertEquals(0, FixedPoint.of(0x1p-34));
        for (double each : new double[] {0, 0.1, -0.7, 1e6, -1e-9, FixedPoint.MOST, -FixedPoint.MOST}) {
            assertEquals(each, FixedPoint.toDouble(FixedPoint.of(each)), 0x1p-33);
            assertTrue(FixedPoint.mayBeAdded(FixedPoint.of(each)));
        }
    }

    @ParameterizedTest
    @ValueSource(
            doubles = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 1048576.01, -1048577, 1e300})
    void shouldRefuseWhatIsTooLarge(double value) {
        ParameterException refused = assertThrows(ParameterException.class, () -> FixedPoint.of(value));
        assertTrue(refused.getMessage().contains("not " + value), refused.getMessage());
    }

    @Test
    void shouldNoticeOverflow() {
        assertFalse(FixedPoint.mayBeAdded(Long.MIN_VALUE));
        assertFalse(FixedPoint.mayBeAdded(Long.MAX_VALUE));
        assertTrue(FixedPoint.overflows(Long.MAX_VALUE, 1));
        assertTrue(FixedPoint.overflows(Long.MIN_VALUE, -1));
        assertFalse(FixedPoint.overflows(Long.MAX_VALUE, -1));
        assertFalse(FixedPoint.overflows(Long.MAX_VALUE - 1, 1));
        assertFalse(FixedPoint.overflows(-1, 1));
    }

    @Test
    void shouldRefusePlacesThatCannotBe() {
        byte[] good = new Place(4096, 7, 100, Adding.SENT).bytes();
        assertEquals(new Place(4096, 7, 100, Adding.SENT), Place.of(good).orElseThrow());
        assertTrue(Place.of(new Place(4096, 7, 0, Adding.SENT).bytes()).isEmpty());
        assertTrue(Place.of(new Place(4096, 7, -1, Adding.SENT).bytes()).isEmpty());
        assertTrue(Place.of(new Place(4096, 7, 1 << 25, Adding.SENT).bytes()).isEmpty());
        assertTrue(Place.of(new Place(4100, 7, 1, Adding.SENT).bytes()).isEmpty());
        assertTrue(Place.of(new Place(-8, 7, 1, Adding.SENT).bytes()).isEmpty());
        for (int length = 0; length < good.length; length++) {
            assertTrue(Place.of(Arrays.copyOf(good, length)).isEmpty());
        }
        for (int adding : new int[] {-1, 2, Integer.MAX_VALUE}) {
            byte[] bad = good.clone();
            ByteBuffer.wrap(bad).order(ByteOrder.LITTLE_ENDIAN).putInt(20, adding);
            assertTrue(Place.of(bad).isEmpty());
        }
    }
}
