package org.rdmapanama.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Medians of measurements. */
public final class Medians {
    private Medians() {}

    /**
     * Returns the median.
     *
     * @param values at least one value
     * @return the middle one, or the mean of the two in the middle
     */
    public static double of(List<Double> values) {
        List<Double> sorted = new ArrayList<>(values);
        Collections.sort(sorted);
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }
}
