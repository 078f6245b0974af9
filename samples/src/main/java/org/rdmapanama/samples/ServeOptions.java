package org.rdmapanama.samples;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.List;
import org.rdmapanama.VerbsException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The serving side of a transfer: what serve and transfer --serve have in common. */
final class ServeOptions {
    @Option(
            names = "--limit",
            paramLabel = "SIZE",
            defaultValue = "1GiB",
            description = "Server: maximum memory to lend (${DEFAULT-VALUE}).")
    private ByteSize limit;

    @Option(
            names = {"-P", "--persistent"},
            description = "Server: serve one client after another until interrupted, instead of only one.")
    private boolean persistent;

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    /** Rejects these options on a client. */
    void checkUnused(LinkOptions link) {
        for (String option : List.of("--limit", "--persistent")) {
            if (spec.commandLine().getParseResult().hasMatchedOption(option)) {
                throw link.wrong(option + " is for servers");
            }
        }
    }

    void check(LinkOptions link) {
        link.sizeInRange("--limit", limit, TransferCommand.MAX_SIZE);
    }

    void serve(Meeting meeting, LinkOptions link) throws IOException, InterruptedException {
        try (Meeting.Listener listener = meeting.listen()) {
            do {
                serve(listener.await(persistent ? LinkOptions.FOR_EVER : link.timeout()), link);
            } while (persistent);
        }
    }

    /** Serves one client. If more may follow, its failure is only printed. */
    private void serve(Meeting.Client client, LinkOptions link) throws IOException, InterruptedException {
        try {
            serveOne(client, link);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (Failure | VerbsException | IOException e) {
            if (!persistent) {
                throw e;
            }
            Failures.print(spec.commandLine(), e);
        }
    }

    private void serveOne(Meeting.Client client, LinkOptions link) throws IOException, InterruptedException {
        TransferLink transfer = new TransferLink(link.timeout());
        TransferConnection connection = client.accept(transfer);
        try {
            new TransferServer(transfer, spec.commandLine().getOut()).run(limit.bytes());
        } finally {
            connection.close();
        }
    }
}
