package org.rdmapanama.samples.perf;

import org.HdrHistogram.Histogram;

/**
 * The latencies of one measurement. Recording one allocates nothing; the first ones are only kept, and go into the
 * histogram when they are asked for, as that would take a part of the time of the next.
 */
final class LatencyRecord {
    private static final long MAX_NANOS = 100_000_000_000L;
    private static final int DIGITS = 3;
    private static final int MAX_KEPT = 1 << 16;

    private final Histogram histogram = new Histogram(MAX_NANOS, DIGITS);
    private final double nanosPerMicro;

    private final long[] first = new long[MAX_KEPT];
    private int kept;

    /** One way is such a part of what is recorded: 2 for ping-pong, else 1. */
    LatencyRecord(int ways) {
        nanosPerMicro = 1e3 * ways;
    }

    void record(long nanos) {
        if (kept < MAX_KEPT) {
            first[kept++] = nanos;
        } else {
            count(nanos);
        }
    }

    private void count(long nanos) {
        histogram.recordValue(Math.clamp(nanos, 0, MAX_NANOS));
    }

    /** Takes what was kept into account: to be called once, when all is recorded. */
    void complete() {
        for (int i = 0; i < kept; i++) {
            count(first[i]);
        }
        kept = 0;
    }

    void clear() {
        kept = 0;
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
