package org.rdmapanama.samples.learn;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.rdmapanama.samples.figures.BarChart;

/**
 * Lesson 16: A writes to memory of B through networks that lose packets, and through a slow link whose queue drops packets or
 * marks them.
 */
final class LossAndMarking {
    /** A system property: for how many milliseconds A writes in each network and round; 500 if it is missing. */
    static final String WRITING_MILLIS = "org.rdmapanama.samples.learn.writingMillis";

    private static final long MILLIS = Long.getLong(WRITING_MILLIS, 500);

    /** Odd, so that one of them is the median. */
    private static final int ROUNDS = 3;

    private static final String HEAD = "%-30s %12s %9s %8s %11s %7s";
    private static final String LINE = "%-30s %6d MiB/s %7d %% %7d× %10d× %6d×";

    private LossAndMarking() {}

    static void run(Board board) throws Exception {
        OtherWork.say(board);
        Map<NetworkCase, Goodput> measured = measure();
        say(board, measured);
        board.chart("goodput", "the goodput of a run, and what was sent again", chart(measured));
    }

    /** Measures the networks in turns, and returns the round of each whose goodput is the median. */
    private static Map<NetworkCase, Goodput> measure() throws Exception {
        Map<NetworkCase, NetworkEnds> networks = new EnumMap<>(NetworkCase.class);
        Map<NetworkCase, List<Goodput>> rounds = new EnumMap<>(NetworkCase.class);
        try {
            for (NetworkCase each : NetworkCase.values()) {
                networks.put(each, new NetworkEnds(each));
                rounds.put(each, new ArrayList<>());
            }
            for (NetworkEnds each : networks.values()) {
                each.connect();
                // Not counted: the compiler needs it.
                each.write(MILLIS);
            }
            for (int i = 0; i < ROUNDS; i++) {
                for (NetworkCase each : NetworkCase.values()) {
                    rounds.get(each).add(networks.get(each).write(MILLIS));
                }
            }
        } finally {
            networks.values().forEach(NetworkEnds::close);
        }
        Map<NetworkCase, Goodput> medians = new EnumMap<>(NetworkCase.class);
        rounds.forEach((network, measured) -> medians.put(network, Goodput.median(measured)));
        return medians;
    }

    private static void say(Board board, Map<NetworkCase, Goodput> measured) {
        board.say(HEAD, "network", "goodput", "of most", "packets", "sent again", "CNPs");
        measured.forEach((network, goodput) -> {
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
        });
        board.say("'of most': of the goodput without loss, or of the slow link's %d MiB/s", NetworkCase.LINK_RATE);
    }

    /** Returns the picture of what was measured. */
    static BarChart chart(Map<NetworkCase, Goodput> measured) {
        BarChart chart = new BarChart("Goodput of RDMA WRITEs through soft0");
        chart.panel("MiB/s, loss at random");
        measured.forEach((network, goodput) -> {
            if (!network.isSlowLink()) {
                chart.bar(network.title(), goodput.rate());
            }
        });
        chart.panelUpTo(NetworkCase.LINK_RATE, "MiB/s, a link of " + NetworkCase.LINK_RATE + " MiB/s");
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
