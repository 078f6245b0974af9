package org.rdmapanama.soft.memory;

import java.util.Arrays;

/** A FIFO queue of numbers in an array that grows. Not thread-safe: its owner guards it with a lock. */
public final class LongRing {
    private long[] values = new long[16];
    private int first;
    private int count;

    public boolean isEmpty() {
        return count == 0;
    }

    public void add(long value) {
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

    public long remove() {
        long value = values[first];
        first = (first + 1) % values.length;
        count--;
        return value;
    }

    /** Removes the pairs of numbers whose second number is the given one. */
    public void removePairs(long second) {
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

    public boolean contains(long value) {
        for (int i = 0; i < count; i++) {
            if (at(i) == value) {
                return true;
            }
        }
        return false;
    }

    /** Takes out the first that is this one, if there is one. */
    public void removeOne(long value) {
        int kept = 0;
        for (int i = 0; i < count; i++) {
            long each = at(i);
            if (each != value || kept < i) {
                values[(first + kept++) % values.length] = each;
            }
        }
        count = kept;
    }

    public void removeAll(long value) {
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
