package org.rdmapanama.samples.today;

import java.util.List;
import java.util.Map;
import org.rdmapanama.samples.figures.BarChart;

/** The chart of results. */
final class TodayChart {
    private TodayChart() {}

    /** Returns the chart; ways without samples are dashes. */
    static BarChart of(String title, Map<TransferMethod, List<Sample>> samples) {
        BarChart chart = new BarChart(title);
        chart.panel("throughput in MiB/s");
        for (TransferMethod way : TransferMethod.values()) {
            chart.bar(way.title(), Sample.median(samples.getOrDefault(way, List.of()), Sample::rate));
        }
        chart.panel("processor time in s per GiB", "sender", "receiver");
        for (TransferMethod way : TransferMethod.values()) {
            List<Sample> measured = samples.getOrDefault(way, List.of());
            chart.bar(way.title(), Sample.senderEach(measured), Sample.receiverEach(measured));
        }
        chart.panel("context switches of the sender", "voluntary", "involuntary");
        for (TransferMethod way : TransferMethod.values()) {
            List<Sample> measured = samples.getOrDefault(way, List.of());
            chart.bar(
                    way.title(),
                    Sample.median(measured, sample -> sample.ofSender().voluntary()),
                    Sample.median(measured, sample -> sample.ofSender().involuntary()));
        }
        return chart;
    }
}
