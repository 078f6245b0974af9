package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;

/** Checks that numbers are random. It cannot tell by what they were made, but finds what counts up or has a pattern. */
final class Unpredictable {
    /** So many standard deviations, chance does not bring about. */
    private static final double LIMIT = 8;

    private Unpredictable() {}

    /** Checks numbers of so many bits in the order in which they were given out. */
    static void check(int bits, int... numbers) {
        Map<Integer, Integer> steps = new HashMap<>();
        for (int i = 1; i < numbers.length; i++) {
            steps.merge(numbers[i] - numbers[i - 1], 1, Integer::sum);
        }
        steps.forEach((step, times) -> assertTrue(times <= 3, () -> "the step " + step + " comes " + times + " times"));
        double deviation = Math.sqrt(numbers.length) / 2;
        for (int bit = 0; bit < bits; bit++) {
            int set = 0;
            int changes = 0;
            for (int i = 0; i < numbers.length; i++) {
                set += (numbers[i] >>> bit) & 1;
                changes += i == 0 ? 0 : ((numbers[i] ^ numbers[i - 1]) >>> bit) & 1;
            }
            checkHalf("bit " + bit + " is set", set, numbers.length, deviation);
            checkHalf("bit " + bit + " changes", changes, numbers.length - 1, deviation);
        }
    }

    private static void checkHalf(String what, int times, int of, double deviation) {
        assertTrue(
                Math.abs(times - of / 2.0) < LIMIT * deviation, () -> what + " in " + times + " of " + of + " numbers");
    }
}
