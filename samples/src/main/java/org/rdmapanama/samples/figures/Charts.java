package org.rdmapanama.samples.figures;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.Failure;

/** The charts that commands draw: the distribution of latencies, and curves over the message size. */
public final class Charts {
    private static final int POINTS_PER_DECADE = 20;
    private static final double TEN = 10;
    private static final String ENDING = ".svg";

    private Charts() {}

    /**
     * Checks before a measurement that a chart can be written after it.
     *
     * @param file the file of the chart, or null if none is drawn
     * @throws Failure if it does not end in {@code .svg}, or its directory does not exist
     */
    public static void check(Path file) {
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

    /**
     * Returns the file beside another one that has an addition to its name: {@code a-bw.svg} beside {@code a.svg}.
     *
     * @param file a file that {@link #check} has accepted
     * @param addition the addition
     * @return the file
     */
    public static Path beside(Path file, String addition) {
        String name = file.getFileName().toString();
        return file.resolveSibling(name.substring(0, name.length() - ENDING.length()) + addition + ENDING);
    }

    /**
     * Plots a distribution. Rare latencies are further to the right: each decade adds a nine to the percentile.
     *
     * @param title the title
     * @param times the latencies, complete
     * @return the chart
     */
    public static LineChart distribution(String title, LatencyRecord times) {
        double count = Math.max(TEN, (double) times.count());
        double[] rarity = DoubleStream.iterate(0, each -> each + 1)
                .map(each -> Math.pow(TEN, each / POINTS_PER_DECADE))
                .takeWhile(each -> each <= count)
                .toArray();
        double[] micros =
                DoubleStream.of(rarity).map(each -> times.at(100 - 100 / each)).toArray();
        double[] nines = DoubleStream.iterate(1, each -> each <= count, each -> each * TEN)
                .toArray();
        return new LineChart(title, "percentile", "latency in µs", false)
                .marks(nines, Charts::percentile)
                .add("latency", rarity, micros);
    }

    static String percentile(double rarity) {
        return Math.round((100 - 100 / rarity) * 1e6) / 1e6 + " %";
    }

    /**
     * Creates a chart of latency over the message size, without curves yet. Both axes are logarithmic.
     *
     * @param title the title
     * @param sizes the sizes in bytes, ascending
     * @return the chart
     */
    public static LineChart latencyOverSize(String title, double[] sizes) {
        return new LineChart(title, "message size", "latency in µs", true)
                .marks(everyOther(sizes), bytes -> ByteSize.format((long) bytes));
    }

    /**
     * Creates a chart of bandwidth over the message size, without curves yet.
     *
     * @param title the title
     * @param sizes the sizes in bytes, ascending
     * @return the chart
     */
    public static LineChart bandwidthOverSize(String title, double[] sizes) {
        return new LineChart(title, "message size", "bandwidth in MiB/s", false)
                .marks(everyOther(sizes), bytes -> ByteSize.format((long) bytes));
    }

    /** Labels some of the sizes only, because the labels of all would overlap. */
    private static double[] everyOther(double[] sizes) {
        return IntStream.range(0, sizes.length)
                .filter(i -> i % 2 == 0)
                .mapToDouble(i -> sizes[i])
                .toArray();
    }

    /**
     * Writes a chart.
     *
     * @param chart the chart
     * @param file the file, which is created or replaced
     * @throws IOException if that fails
     */
    public static void write(Figure chart, Path file) throws IOException {
        Files.writeString(file, chart.draw().document());
    }
}
