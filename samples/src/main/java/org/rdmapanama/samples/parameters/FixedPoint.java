package org.rdmapanama.samples.parameters;

/**
 * Real numbers as 64-bit integers, of which one is 2<sup>-32</sup>. Devices add integers only; besides, a sum of integers is the same
 * in whatever order it is made, so the same gradients give the same weights, bit for bit.
 *
 * <p>Numbers reach from -2<sup>31</sup> to almost 2<sup>31</sup>. What is added at once must be at most {@link #MOST} in size. A device that
 * adds wraps around without a word; but it returns the former value, from which the one that added knows.
 */
final class FixedPoint {
    /** The largest number that may be added at once, a two-thousandth of the range. */
    static final double MOST = 1 << 20;

    private static final double SCALE = 0x1p32;

    private FixedPoint() {}

    /** Rounds to the nearest number. */
    static long of(double value) {
        // Not a number is not in the range either.
        if (!(Math.abs(value) <= MOST)) {
            throw new ParameterException("what is added to a weight must be between " + -MOST + " and " + MOST
                    + ", not " + value + ": choose a smaller step");
        }
        return Math.round(value * SCALE);
    }

    static double toDouble(long number) {
        return number / SCALE;
    }

    /** Returns whether a server takes this from a client. */
    static boolean mayBeAdded(long delta) {
        return Math.abs(delta) <= (long) (MOST * SCALE) && delta != Long.MIN_VALUE;
    }

    /** Returns whether a sum is out of range. */
    static boolean overflows(long before, long delta) {
        long sum = before + delta;
        return ((before ^ sum) & (delta ^ sum)) < 0;
    }
}
