package org.rdmapanama.samples.collective;

import java.io.PrintWriter;
import org.rdmapanama.samples.figures.LatencyRecord;
import picocli.CommandLine.Command;

/** Measures a barrier. */
@Command(
        name = "barrier",
        description = "Wait until all ranks have called, by dissemination: log2(N) steps.",
        sortOptions = false)
final class MeasureBarrier extends Measurement {
    @Override
    void check() {}

    @Override
    String title() {
        return "barrier";
    }

    @Override
    void measure(Group group, PrintWriter out) throws InterruptedException {
        LatencyRecord times = time(group::barrier);
        out.println(format("median %.1f us, 99th percentile %.1f us", times.at(50), times.at(99)));
        out.flush();
    }
}
