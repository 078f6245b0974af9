package org.rdmapanama.samples.stream;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.figures.Charts;

/** Plots results: the distribution of one ping-pong, or latency and bandwidth over the size. */
final class StreamPlot {
    private static final String BANDWIDTH = "-bw";

    private StreamPlot() {}

    static void draw(Path file, StreamSettings settings, List<StreamResult> results) throws IOException {
        String title = String.format(Locale.ROOT, "sockets over %s, %s", settings.transport(), settings.calls().title);
        if (results.size() == 1) {
            StreamResult only = results.getFirst();
            Charts.write(
                    Charts.distribution(
                            title + ", " + ByteSize.format(only.test().size()), only.latencies()),
                    file);
            return;
        }
        List<StreamResult> latencies =
                results.stream().filter(each -> each.latencies() != null).toList();
        List<StreamResult> bandwidths =
                results.stream().filter(each -> each.latencies() == null).toList();
        double[] sizes = numbers(latencies, each -> each.test().size());
        Charts.write(
                Charts.latencyOverSize(title, sizes)
                        .add(
                                "median",
                                sizes,
                                numbers(latencies, each -> each.latencies().at(50)))
                        .add(
                                "99 %",
                                sizes,
                                numbers(latencies, each -> each.latencies().at(99))),
                file);
        Charts.write(
                Charts.bandwidthOverSize(title, sizes)
                        .add("bandwidth", sizes, numbers(bandwidths, StreamResult::mebibytesPerSecond)),
                Charts.beside(file, BANDWIDTH));
    }

    private static double[] numbers(List<StreamResult> results, ToDoubleFunction<StreamResult> number) {
        return results.stream().mapToDouble(number).toArray();
    }
}
