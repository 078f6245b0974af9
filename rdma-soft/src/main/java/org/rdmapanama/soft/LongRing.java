package org.rdmapanama.soft;

import java.util.Arrays;

/** Numbers, first in first out, in an array that grows. */
final class LongRing {
    private long[] values = new long[16];
    private int first;
    private int count;

    boolean isEmpty() {
        return count == 0;
    }

    void add(long value) {
        if (count == values.length) {
            long[] all = Arrays.copyOf(values, 2 * count);
            for (int i = 0; i < count; i++) {
                all[i] = at(i);
            }
            values = all;
            first = 0;
        }
        values[(first + count++) % values.length] = value;
    }

    private long at(int index) {
        return values[(first + index) % values.length];
    }

    long remove() {
        long value = values[first];
        first = (first + 1) % values.length;
        count--;
        return value;
    }

    /** Takes numbers out that stand in pairs: those whose second is this one. */
    void removePairs(long second) {
        int kept = 0;
        for (int i = 0; i < count; i += 2) {
            long one = at(i);
            long other = at(i + 1);
            if (other != second) {
                values[(first + kept++) % values.length] = one;
                values[(first + kept++) % values.length] = other;
            }
        }
        count = kept;
    }

    void removeAll(long value) {
        int kept = 0;
        for (int i = 0; i < count; i++) {
            long each = at(i);
            if (each != value) {
                values[(first + kept++) % values.length] = each;
            }
        }
        count = kept;
    }
}
