package org.rdmapanama.samples.perf;

import org.HdrHistogram.Histogram;

/** The latencies of one measurement. Recording one allocates nothing. */
final class LatencyRecord {
    private static final long MAX_NANOS = 100_000_000_000L;
    private static final int DIGITS = 3;

    private final Histogram histogram = new Histogram(MAX_NANOS, DIGITS);
    private final double nanosPerMicro;

    /** One way is such a part of what is recorded: 2 for ping-pong, else 1. */
    LatencyRecord(int ways) {
        nanosPerMicro = 1e3 * ways;
    }

    void record(long nanos) {
        histogram.recordValue(Math.clamp(nanos, 0, MAX_NANOS));
    }

    void clear() {
        histogram.reset();
    }

    long count() {
        return histogram.getTotalCount();
    }

    double min() {
        return histogram.getMinValue() / nanosPerMicro;
    }

    double max() {
        return histogram.getMaxValue() / nanosPerMicro;
    }

    double average() {
        return histogram.getMean() / nanosPerMicro;
    }

    double deviation() {
        return histogram.getStdDeviation() / nanosPerMicro;
    }

    /** In microseconds, as all of them. */
    double at(double percentile) {
        return histogram.getValueAtPercentile(percentile) / nanosPerMicro;
    }
}
