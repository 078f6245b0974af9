package org.rdmapanama.samples;

import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The server side of a transfer. */
@Command(
        name = "serve",
        description = {
            "Lend memory to a client, 'rdma transfer', which writes to it and reads from it.",
            "A port belongs to one server of the machine, on soft0 as well: a second one fails.",
        },
        sortOptions = false,
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma serve                                on the host 10.77.0.1",
            "  rdma transfer 10.77.0.1 --size 100MiB     on another (soft0: also on this one, with 127.0.0.1)",
        })
final class ServeCommand implements Callable<Integer> {
    @Parameters(
            arity = "0..1",
            paramLabel = "ADDRESS",
            description = "Address to listen at, of an RDMA device (all addresses; of soft0, those that"
                    + " RDMA_SOFT_ADDRESS names, see 'rdma --help').")
    private String address;

    @Mixin
    private ServeOptions serving;

    @Mixin
    private MeetingOptions meeting;

    @Mixin
    private LinkOptions link;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        serving.check(link);
        serving.serve(meeting.server(link, address, spec.commandLine().getOut()), link);
        return 0;
    }
}
