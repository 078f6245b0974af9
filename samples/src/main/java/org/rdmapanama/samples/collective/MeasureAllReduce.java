package org.rdmapanama.samples.collective;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Measures an all-reduce. */
@Command(
        name = "all-reduce",
        description =
                "Combine the elements of all ranks, and give each rank the results: in one step up to 4 KiB and 16"
                        + " ranks, and along a ring beyond.",
        sortOptions = false)
final class MeasureAllReduce extends Measurement.OfVectors {
    @Option(
            names = {"-o", "--operation"},
            paramLabel = "sum|min|max",
            defaultValue = "sum",
            description = "How to combine (${DEFAULT-VALUE}).")
    private Reduction reduction;

    @Override
    List<String> arguments() {
        List<String> all = new ArrayList<>(super.arguments());
        all.addAll(List.of("--operation", reduction.toString()));
        return all;
    }

    @Override
    String title() {
        return "all-reduce of " + type + "s (" + reduction + ")";
    }

    @Override
    void run(Group group, Vector vector) throws InterruptedException {
        group.allReduce(vector, reduction);
    }

    @Override
    double expected(Group group, long count, long index) {
        double all = value(0, index);
        for (int rank = 1; rank < group.size(); rank++) {
            double one = value(rank, index);
            all = switch (reduction) {
                case SUM -> all + one;
                case MIN -> Math.min(all, one);
                case MAX -> Math.max(all, one);
            };
        }
        return all;
    }

    @Override
    double busShare(int size) {
        return 2 * (size - 1.0) / size;
    }
}
