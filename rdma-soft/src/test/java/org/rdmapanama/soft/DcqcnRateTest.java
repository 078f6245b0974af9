package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.rdmapanama.soft.wire.Congestion;

/** The rates, computed by hand from the formulas of the paper. */
class DcqcnRateTest {
    private static final long PERIOD = 55_000;
    private static final long LINE = 1_000_000_000;
    private static final double EXACT = 1e-6;

    private final DcqcnRate rate = new DcqcnRate(new Congestion(50_000, PERIOD, LINE), 0);

    @Test
    void shouldNotLimitBeforeTheFirstNotification() {
        rate.advance(1000 * PERIOD);
        rate.sent(1 << 30);
        assertFalse(rate.isLimiting());
        assertEquals(LINE, rate.rate(), EXACT);
    }

    @Test
    void shouldHalveAtTheFirstNotifications() {
        rate.cut(0);
        assertTrue(rate.isLimiting());
        assertEquals(500_000_000, rate.rate(), EXACT);
        assertEquals(1, rate.alpha(), EXACT);
        rate.cut(10_000);
        assertEquals(250_000_000, rate.rate(), EXACT);
    }

    @Test
    void shouldReturnHalfTheWayInEachOfFiveSteps() {
        rate.cut(0);
        double[] expected = {750e6, 875e6, 937.5e6, 968.75e6, 984.375e6};
        for (int i = 0; i < expected.length; i++) {
            rate.advance((i + 1) * PERIOD - 1);
            rate.advance((i + 1) * PERIOD);
            assertEquals(expected[i], rate.rate(), EXACT);
        }
    }

    /** The target is 500 MB/s, to which a thousandth of the line's gigabyte is added in each further step. */
    @Test
    void shouldThenAddToTheTarget() {
        rate.cut(0);
        rate.cut(0);
        rate.advance(5 * PERIOD);
        double five = 500e6 - 250e6 / 32;
        assertEquals(five, rate.rate(), EXACT);
        rate.advance(6 * PERIOD);
        double six = (five + 501e6) / 2;
        assertEquals(six, rate.rate(), EXACT);
        rate.advance(7 * PERIOD);
        assertEquals((six + 502e6) / 2, rate.rate(), EXACT);
    }

    @Test
    void shouldGrowAfterBytesAsAfterPeriods() {
        rate.cut(0);
        rate.sent(9_999_999);
        assertEquals(500e6, rate.rate(), EXACT);
        rate.sent(1);
        assertEquals(750e6, rate.rate(), EXACT);
    }

    /** Six steps of both kinds: the next one adds a hundredth. */
    @Test
    void shouldGrowFastAfterManyBytesAndPeriods() {
        rate.cut(0);
        rate.cut(0);
        rate.cut(0);
        for (int i = 0; i < 6; i++) {
            rate.sent(10_000_000);
        }
        rate.advance(5 * PERIOD);
        double before = rate.rate();
        // The sixth step of bytes and four of the five periods after it count in thousandths.
        double target = 250e6 + 6e6;
        assertTrue(before < target);
        rate.advance(6 * PERIOD);
        assertEquals((before + target + 10e6) / 2, rate.rate(), 1);
    }

    /** Alpha is 1, loses 1/256 in each period, and gains 1/256 of what is missing by a notification. */
    @Test
    void shouldCutLessTheRarerNotificationsBecome() {
        rate.cut(0);
        rate.advance(256 * PERIOD);
        double alpha = Math.pow(255 / 256.0, 256);
        assertEquals(alpha, rate.alpha(), EXACT);
        double before = rate.rate();
        rate.cut(256 * PERIOD);
        assertEquals(before * (1 - alpha / 2), rate.rate(), EXACT);
        assertEquals(alpha * 255 / 256 + 1 / 256.0, rate.alpha(), EXACT);
    }

    @Test
    void shouldStopLimitingInTime() {
        rate.cut(0);
        rate.cut(0);
        long now = 0;
        while (rate.isLimiting()) {
            now += PERIOD;
            rate.advance(now);
        }
        assertEquals(LINE, rate.rate(), EXACT);
        // From half the rate on, by thousandths, to 0.999 of it; the rate is a step behind its target.
        long steps = now / PERIOD;
        assertTrue(steps >= 500 && steps <= 510, () -> "steps: " + steps);
    }

    /** An hour counts as twenty periods: five back to the target, and fifteen beyond. */
    @Test
    void shouldLearnNothingWhileAtRest() {
        rate.cut(0);
        rate.cut(0);
        DcqcnRate other = new DcqcnRate(new Congestion(50_000, PERIOD, LINE), 0);
        other.cut(0);
        other.cut(0);
        rate.advance(3600L * 1_000_000_000);
        other.advance(20 * PERIOD);
        assertEquals(other.rate(), rate.rate(), EXACT);
        assertEquals(514e6, rate.rate(), 1.1e6);
    }

    @Test
    void shouldNeverGoBelowTheLeastRate() {
        for (int i = 0; i < 1_000_000; i++) {
            rate.cut(i);
        }
        assertEquals(DcqcnRate.LEAST, rate.rate(), EXACT);
        assertEquals(1, rate.alpha(), EXACT);
    }
}
