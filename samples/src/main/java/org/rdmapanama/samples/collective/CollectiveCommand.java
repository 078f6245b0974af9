package org.rdmapanama.samples.collective;

import org.rdmapanama.samples.CommandGroup;
import picocli.CommandLine.Command;

/** Runs collective operations among processes. */
@Command(
        name = "collective",
        description = {
            "Run collective operations among processes, check the results, and measure how long they take.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma collective all-reduce -n 4                       four processes on this host",
            "  rdma collective all-reduce --rank 0 host0 host1       on host0, and on host1",
            "  rdma collective all-reduce --rank 1 host0 host1",
        })
public final class CollectiveCommand extends CommandGroup {
    /** For picocli. */
    public CollectiveCommand() {
        super(MeasureBarrier.class, MeasureBroadcast.class, MeasureAllGather.class, MeasureAllReduce.class);
    }
}
