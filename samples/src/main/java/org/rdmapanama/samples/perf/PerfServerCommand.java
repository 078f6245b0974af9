package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.LinkOptions;
import org.rdmapanama.samples.Tcp;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The side of all tests that serves. */
@Command(
        name = "server",
        description = {
            "Serve tests, one client after the other, until Ctrl-C.",
            "What to measure, the client says: here only the device and the port are chosen.",
        },
        sortOptions = false)
final class PerfServerCommand implements Callable<Integer> {
    @Option(names = "--once", description = "End after one client, who must come within --timeout.")
    private boolean once;

    @Mixin
    private LinkOptions link;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        link.check();
        PrintWriter out = spec.commandLine().getOut();
        // Before a client comes that would have to learn of it.
        TestSide.check(link.device());
        try (Tcp.Listener listener = new Tcp.Listener(link.port())) {
            out.println("  waiting for a client on TCP port " + link.port());
            out.flush();
            PerfServer server = new PerfServer(link, out);
            do {
                SocketChannel channel = listener.accept(once ? link.timeout() : LinkOptions.FOR_EVER);
                serve(server, channel);
            } while (!once);
        }
        return 0;
    }

    /** One client's failure does not end the server. */
    private void serve(PerfServer server, SocketChannel channel) throws IOException, InterruptedException {
        try {
            server.serve(channel);
        } catch (ClosedByInterruptException interrupted) {
            throw interrupted;
        } catch (RuntimeException | IOException e) {
            if (once) {
                throw e;
            }
            link.note(PerfText.reason(e));
        }
    }
}
