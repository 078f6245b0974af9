package org.rdmapanama.samples.collective;

import picocli.CommandLine.Command;

/** Measures an all-gather. */
@Command(
        name = "all-gather",
        description =
                "Give each rank the elements of all, along a ring. Each contributes an equal part of the elements.",
        sortOptions = false)
final class MeasureAllGather extends Measurement.OfVectors {
    @Override
    String title() {
        return "all-gather of " + type + "s";
    }

    @Override
    void run(Group group, Vector vector) throws InterruptedException {
        group.allGather(vector);
    }

    @Override
    double expected(Group group, long count, long index) {
        int rank = 0;
        while (index >= Group.start(count, group.size(), rank + 1)) {
            rank++;
        }
        return value(rank, index);
    }

    @Override
    double busShare(int size) {
        return (size - 1.0) / size;
    }
}
