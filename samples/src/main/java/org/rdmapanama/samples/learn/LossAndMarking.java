package org.rdmapanama.samples.learn;

import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.rdmapanama.samples.figures.BarChart;

/**
 * Lesson 16: A writes to memory of B through networks that lose packets, and through a slow link whose queue drops packets or
 * marks them.
 */
final class LossAndMarking {
    /** A system property: for how many milliseconds A writes in each network; 800 if it is missing. */
    static final String WRITING_MILLIS = "org.rdmapanama.samples.learn.writingMillis";

    private static final long MILLIS = Long.getLong(WRITING_MILLIS, 800);

    private static final long WARMUP_MILLIS = MILLIS / 2;
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String PREFIX = "-Dorg.rdmapanama.soft.";
    private static final String HEAD = "%-30s %12s %9s %8s %9s %6s";
    private static final String LINE = "%-30s %6d MiB/s %7d %% %7d× %8d× %5d×";

    private LossAndMarking() {}

    static void run(Board board) throws Exception {
        board.chart("goodput", "the goodput of a run, and what was sent again", chart(measure(board)));
    }

    // excerpt
    /** Measures each network, and prints a line about it. */
    static Map<NetworkCase, Goodput> measure(Board board) throws Exception {
        Map<NetworkCase, Goodput> measured = new EnumMap<>(NetworkCase.class);
        board.say(HEAD, "network", "goodput", "of most", "packets", "repeated", "CNPs");
        for (NetworkCase network : NetworkCase.values()) {
            Goodput goodput = measure(network);
            measured.put(network, goodput);
            double most = network.isSlowLink()
                    ? NetworkCase.LINK_RATE
                    : measured.get(NetworkCase.LOSSLESS).rate();
            board.say(
                    LINE,
                    network.title(),
                    Math.round(goodput.rate()),
                    Math.round(100 * goodput.rate() / most),
                    goodput.packets(),
                    goodput.repeated(),
                    goodput.notifications());
        }
        board.say("Most: without loss, and the %d MiB/s of the slow link.", NetworkCase.LINK_RATE);
        return measured;
    }

    private static Goodput measure(NetworkCase network) throws Exception {
        List<String> ofA =
                List.of(PREFIX + "faults=" + network.faults(), PREFIX + "congestion=" + network.congestion());
        List<String> ofB = List.of(PREFIX + "ring=none", PREFIX + "congestion=dcqcn");
        try (OtherProcess b = new OtherProcess(GoodputEnd.class, ofB, LIMIT);
                OtherProcess a = new OtherProcess(GoodputEnd.class, ofA, LIMIT)) {
            String[] placeOfA = a.nextAfter(GoodputEnd.IS_AT).split(" ", 2);
            String placeOfB = b.nextAfter(GoodputEnd.IS_AT);
            b.tell("lend " + placeOfA[0]);
            a.tell("write " + placeOfB + " " + WARMUP_MILLIS + " " + MILLIS);
            return Goodput.of(a.nextAfter(GoodputEnd.DONE));
        }
    }
    // end

    /** Returns the picture of what was measured. */
    static BarChart chart(Map<NetworkCase, Goodput> measured) {
        BarChart chart = new BarChart("Goodput of RDMA WRITEs through soft0");
        chart.panel("MiB/s, loss at random");
        measured.forEach((network, goodput) -> {
            if (!network.isSlowLink()) {
                chart.bar(network.title(), goodput.rate());
            }
        });
        chart.panel("MiB/s, a link of " + NetworkCase.LINK_RATE + " MiB/s");
        measured.forEach((network, goodput) -> {
            if (network.isSlowLink()) {
                chart.bar(network.title(), goodput.rate());
            }
        });
        chart.panel("packets sent again, in % of those needed");
        measured.forEach((network, goodput) ->
                chart.bar(network.title(), 100.0 * goodput.repeated() / Math.max(1, goodput.packets())));
        return chart;
    }
}
