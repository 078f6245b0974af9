package org.rdmapanama.samples;

import java.util.Locale;
import org.HdrHistogram.Histogram;

/** A histogram of latencies. Recording a value allocates nothing. */
final class Latencies {
    private static final long MAX_NANOS = 100_000_000_000L;
    private static final int DIGITS = 3;

    private final Histogram histogram = new Histogram(MAX_NANOS, DIGITS);

    void record(long nanos) {
        histogram.recordValue(Math.clamp(nanos, 0, MAX_NANOS));
    }

    long count() {
        return histogram.getTotalCount();
    }

    double microsAt(double percentile) {
        return histogram.getValueAtPercentile(percentile) / 1e3;
    }

    double maxMicros() {
        return histogram.getMaxValue() / 1e3;
    }

    /** Returns one line: {@code min 93.1  p50 101.2  p90 110.5  p99 151.9  p99.9 402.0  max 871.4}. */
    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "min %.1f  p50 %.1f  p90 %.1f  p99 %.1f  p99.9 %.1f  max %.1f",
                histogram.getMinValue() / 1e3,
                microsAt(50),
                microsAt(90),
                microsAt(99),
                microsAt(99.9),
                maxMicros());
    }
}
