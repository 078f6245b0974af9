package org.rdmapanama.samples.figures;

import org.HdrHistogram.Histogram;

/**
 * The latencies of one measurement. Recording a value allocates nothing. The first values are only stored, and enter
 * the histogram in {@link #complete}, because that takes time, which would count as part of the next message.
 */
public final class LatencyRecord {
    private static final long MAX_NANOS = 100_000_000_000L;
    private static final int DIGITS = 3;
    private static final int MAX_KEPT = 1 << 16;

    private final Histogram histogram = new Histogram(MAX_NANOS, DIGITS);
    private final double nanosPerMicro;

    private final long[] first = new long[MAX_KEPT];
    private int kept;

    /**
     * Creates a record.
     *
     * @param ways how many ways a recorded value covers, 2 for ping-pong and otherwise 1; results are per way
     */
    public LatencyRecord(int ways) {
        nanosPerMicro = 1e3 * ways;
    }

    /**
     * Records a value.
     *
     * @param nanos the time in nanoseconds
     */
    public void record(long nanos) {
        if (kept < MAX_KEPT) {
            first[kept++] = nanos;
        } else {
            count(nanos);
        }
    }

    private void count(long nanos) {
        histogram.recordValue(Math.clamp(nanos, 0, MAX_NANOS));
    }

    /** Moves the stored values to the histogram. Call this once, after the last value is recorded. */
    public void complete() {
        for (int i = 0; i < kept; i++) {
            count(first[i]);
        }
        kept = 0;
    }

    /** Forgets all values. */
    public void clear() {
        kept = 0;
        histogram.reset();
    }

    /** Returns the number of values. */
    public long count() {
        return histogram.getTotalCount();
    }

    /** Returns the shortest time, in microseconds. */
    public double min() {
        return histogram.getMinValue() / nanosPerMicro;
    }

    /** Returns the longest time, in microseconds. */
    public double max() {
        return histogram.getMaxValue() / nanosPerMicro;
    }

    /** Returns the average, in microseconds. */
    public double average() {
        return histogram.getMean() / nanosPerMicro;
    }

    /** Returns the standard deviation, in microseconds. */
    public double deviation() {
        return histogram.getStdDeviation() / nanosPerMicro;
    }

    /**
     * Returns a percentile.
     *
     * @param percentile 0 to 100
     * @return the time in microseconds, like all other results
     */
    public double at(double percentile) {
        return histogram.getValueAtPercentile(percentile) / nanosPerMicro;
    }
}
