package org.rdmapanama.samples;

import java.io.IOException;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The serving side of a transfer: what serve and transfer --serve have in common. */
final class ServeOptions {
    private static final int MAX_CLIENTS = 4096;

    @Option(
            names = "--limit",
            paramLabel = "SIZE",
            defaultValue = "1GiB",
            description = "Server: maximum memory to lend to a client (${DEFAULT-VALUE}).")
    private ByteSize limit;

    @Option(
            names = {"-P", "--persistent"},
            description = "Server: serve any number of clients, side by side, until interrupted, instead of only one.")
    private boolean persistent;

    @Option(
            names = "--clients",
            paramLabel = "N",
            defaultValue = "256",
            description = "Server: with -P, maximum number of clients at a time (${DEFAULT-VALUE}).")
    private int clients;

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    /** Rejects these options on a client. */
    void checkUnused(LinkOptions link) {
        for (String option : List.of("--limit", "--persistent", "--clients")) {
            if (spec.commandLine().getParseResult().hasMatchedOption(option)) {
                throw link.wrong(option + " is for servers");
            }
        }
    }

    void check(LinkOptions link) {
        link.sizeInRange("--limit", limit, TransferCommand.MAX_SIZE);
        link.range("--clients", clients, 1, MAX_CLIENTS);
    }

    void serve(Meeting meeting, LinkOptions link) throws IOException, InterruptedException {
        TransferServer.Bounds bounds = new TransferServer.Bounds(limit.bytes(), clients, link.timeout(), persistent);
        CommandLine command = spec.commandLine();
        try (TransferServer server =
                new TransferServer(bounds, command.getOut(), failure -> Failures.print(command, failure))) {
            server.run(meeting);
        }
    }
}
