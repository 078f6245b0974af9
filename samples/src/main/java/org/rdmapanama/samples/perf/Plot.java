package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.rdmapanama.samples.figures.Charts;
import org.rdmapanama.samples.figures.LineChart;

/** Plots results: the latency distribution of one size, or a curve over all sizes. */
final class Plot {
    private Plot() {}

    static void draw(Path file, TestSettings settings, List<Result> results) throws IOException {
        Charts.write(
                settings.all()
                        ? overSize(settings, results)
                        : Charts.distribution(
                                PerfText.title(settings), results.getFirst().latencies()),
                file);
    }

    private static LineChart overSize(TestSettings settings, List<Result> results) {
        double[] sizes = numbers(results, Result::bytes);
        String title = PerfText.title(settings);
        return settings.kind().latency
                ? Charts.latencyOverSize(title, sizes)
                        .add(
                                "median",
                                sizes,
                                numbers(results, result -> result.latencies().at(50)))
                        .add(
                                "99 %",
                                sizes,
                                numbers(results, result -> result.latencies().at(99)))
                : Charts.bandwidthOverSize(title, sizes).add("average", sizes, numbers(results, Result::average));
    }

    private static double[] numbers(List<Result> results, ToDoubleFunction<Result> number) {
        return results.stream().mapToDouble(number).toArray();
    }
}
