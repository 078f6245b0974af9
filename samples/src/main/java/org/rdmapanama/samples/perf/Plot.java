package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import javax.xml.stream.XMLStreamException;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.Failure;

/** Plots results: the latency distribution of one size, or a curve over all sizes. */
final class Plot {
    private static final int POINTS_PER_DECADE = 20;
    private static final double TEN = 10;
    private static final String ENDING = ".svg";

    private Plot() {}

    /** Checks before the measurement that the plot can be written after it. */
    static void check(Path file) {
        if (file == null) {
            return;
        }
        if (!file.getFileName().toString().endsWith(ENDING)) {
            throw new Failure("--plot draws SVG: give a file name that ends in " + ENDING);
        }
        Path folder = file.toAbsolutePath().getParent();
        if (!Files.isDirectory(folder)) {
            throw new Failure("there is no directory " + folder + " for " + file.getFileName());
        }
    }

    static void draw(Path file, TestSettings settings, List<Result> results) throws IOException {
        SvgChart chart = settings.all()
                ? overSize(settings, results)
                : distribution(settings, results.getFirst().latencies());
        try (OutputStream out = Files.newOutputStream(file)) {
            chart.write(out);
        } catch (XMLStreamException e) {
            throw new IOException("cannot write " + file, e);
        }
    }

    /** Plots rare latencies further to the right: each decade adds a nine to the percentile. */
    private static SvgChart distribution(TestSettings settings, LatencyRecord times) {
        double count = Math.max(TEN, (double) times.count());
        double[] rarity = DoubleStream.iterate(0, each -> each + 1)
                .map(each -> Math.pow(TEN, each / POINTS_PER_DECADE))
                .takeWhile(each -> each <= count)
                .toArray();
        double[] micros =
                DoubleStream.of(rarity).map(each -> times.at(100 - 100 / each)).toArray();
        double[] nines = DoubleStream.iterate(1, each -> each <= count, each -> each * TEN)
                .toArray();
        return new SvgChart(PerfText.title(settings), "percentile", "latency in µs", false)
                .marks(nines, Plot::percentile)
                .add("latency", rarity, micros);
    }

    static String percentile(double rarity) {
        return Math.round((100 - 100 / rarity) * 1e6) / 1e6 + " %";
    }

    private static SvgChart overSize(TestSettings settings, List<Result> results) {
        boolean latency = settings.kind().latency;
        double[] sizes = numbers(results, Result::bytes);
        SvgChart chart = new SvgChart(
                        PerfText.title(settings),
                        "message size",
                        latency ? "latency in µs" : "bandwidth in MiB/s",
                        latency)
                .marks(everyOther(sizes), bytes -> ByteSize.format((long) bytes));
        return latency
                ? chart.add(
                                "median",
                                sizes,
                                numbers(results, result -> result.latencies().at(50)))
                        .add(
                                "99 %",
                                sizes,
                                numbers(results, result -> result.latencies().at(99)))
                : chart.add("average", sizes, numbers(results, Result::average));
    }

    private static double[] numbers(List<Result> results, ToDoubleFunction<Result> number) {
        return results.stream().mapToDouble(number).toArray();
    }

    /** Labels some of the sizes only, because the labels of all would overlap. */
    private static double[] everyOther(double[] sizes) {
        return IntStream.range(0, sizes.length)
                .filter(i -> i % 2 == 0)
                .mapToDouble(i -> sizes[i])
                .toArray();
    }
}
