package org.rdmapanama.samples.parameters;

import org.rdmapanama.samples.CommandGroup;
import picocli.CommandLine.Command;

/** Numbers that workers read and add to. */
@Command(
        name = "parameters",
        description = {
            "Train a linear regression on several machines, with the weights in the memory of a server.",
            "Workers read the weights by RDMA READ, and add to them by RDMA fetch-and-add, or send the sums.",
        },
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma parameters serve --weights 16    on one host, and on others:",
            "  rdma parameters train host            until the weights of the generated data are found",
        })
public final class ParametersCommand extends CommandGroup {
    static final String PORT = "7477";

    /** For picocli. */
    public ParametersCommand() {
        super(ParametersServeCommand.class, ParametersTrainCommand.class);
    }
}
