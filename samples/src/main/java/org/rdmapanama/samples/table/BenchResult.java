package org.rdmapanama.samples.table;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * What was measured of one way to get values.
 *
 * @param gets how many a second, of all readers
 * @param median the median of their times, in microseconds
 * @param percentile99 the 99th percentile
 * @param puts how many puts a second the writers made
 * @param retries how many READs met a write, of a million
 * @param serverMicros processor time of the server's process for each get
 */
record BenchResult(double gets, double median, double percentile99, double puts, double retries, double serverMicros) {
    static final String HEADING =
            "way             gets/s   median us    99th us     puts/s  retries/million  server us";

    /** The medians of some rounds, as a line under the heading. */
    static String line(String way, List<BenchResult> rounds) {
        return String.format(
                Locale.ROOT,
                "%-12s %9.0f %11.1f %10.1f %10.0f %16.0f %10.1f",
                way,
                median(rounds, BenchResult::gets),
                median(rounds, BenchResult::median),
                median(rounds, BenchResult::percentile99),
                median(rounds, BenchResult::puts),
                median(rounds, BenchResult::retries),
                median(rounds, BenchResult::serverMicros));
    }

    static double median(List<BenchResult> rounds, ToDoubleFunction<BenchResult> of) {
        double[] sorted = rounds.stream().mapToDouble(of).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
