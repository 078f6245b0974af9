package org.rdmapanama.samples.stream;

import java.util.ArrayList;
import java.util.List;

/**
 * One test of rstream: in each iteration one side sends its transfers, and the other then sends as many back.
 *
 * @param name the name in the results
 * @param size bytes of a transfer
 * @param transfers transfers in a row, 1 or more
 * @param iterations repetitions, 1 or more
 */
record StreamTest(String name, int size, int transfers, int iterations) {
    /** The sizes are powers of two and, from here on, those halfway to the next one. */
    private static final int SMALLEST = 64;

    private static final int LARGEST = 4 << 20;
    private static final List<Integer> USUAL = List.of(SMALLEST, 4 << 10, 64 << 10, 1 << 20);

    private static final int MEBIBYTE = 1 << 20;
    private static final int KIBIBYTE = 1 << 10;
    private static final int PAGES = 1 << 16;

    /** Of how many transfers of rstream there is one: with more than 1, tests are over soon. */
    static volatile int divisor = 1;

    /** Returns the sizes that rstream tests: four of them, or all. */
    static List<Integer> sizes(boolean all) {
        if (!all) {
            return USUAL;
        }
        List<Integer> sizes = new ArrayList<>(List.of(SMALLEST));
        for (int power = 2 * SMALLEST; power <= LARGEST; power *= 2) {
            sizes.add(power);
            sizes.add(power + power / 2);
        }
        return sizes;
    }

    static StreamTest latency(int size) {
        return new StreamTest(StreamText.size(size) + "_lat", size, 1, count(size) / divisor);
    }

    static StreamTest bandwidth(int size) {
        return new StreamTest(StreamText.size(size) + "_bw", size, count(size) / divisor, 1);
    }

    private static int count(int size) {
        if (size >= MEBIBYTE) {
            return 100;
        }
        if (size >= PAGES) {
            return 1000;
        }
        return size >= KIBIBYTE ? 10_000 : 100_000;
    }

    /** Whether every transfer is answered before the next, so that its time is a round trip. */
    boolean isPingPong() {
        return transfers == 1;
    }

    /** All bytes of the test, both ways. */
    long bytes() {
        return 2L * iterations * transfers * size;
    }
}
