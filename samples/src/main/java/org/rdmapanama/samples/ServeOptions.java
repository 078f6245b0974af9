package org.rdmapanama.samples;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.List;
import org.rdmapanama.VerbsException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** What the serving side of a transfer does: what serve and transfer --serve have in common. */
final class ServeOptions {
    @Option(
            names = "--limit",
            paramLabel = "SIZE",
            defaultValue = "1GiB",
            description = "Server: how much memory to lend at most (${DEFAULT-VALUE}).")
    private ByteSize limit;

    @Option(
            names = {"-P", "--persistent"},
            description = "Server: serve one client after the other, until interrupted, instead of one.")
    private boolean persistent;

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    /** A client that gets them means something else. */
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

    /** When more are to come, one that fails is told and forgotten. */
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
