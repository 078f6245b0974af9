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

/** The serving side of all tests. */
@Command(
        name = "server",
        description = {
            "Serve tests, one client after another, until Ctrl-C.",
            "The client says what to measure; the options here only choose the device and the port.",
        },
        sortOptions = false)
final class PerfServerCommand implements Callable<Integer> {
    @Option(names = "--once", description = "End after one client, which must connect within --timeout.")
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
        // Finds errors before a client is there that would fail with us.
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

    /** Serves one client. Its failure does not end the server. */
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
