package org.rdmapanama.spark.jobs;

import java.util.stream.DoubleStream;

/** The value in the middle. */
final class Medians {
    private Medians() {}

    /** Returns the median of some values; of two in the middle, what is between them. */
    static double of(DoubleStream values) {
        double[] sorted = values.sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
