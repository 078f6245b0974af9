package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.LinkOptions;
import org.rdmapanama.samples.ServerThreads;
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
            "Serve tests until Ctrl-C: any number of clients, whose tests run one after another.",
            "The client says what to measure; the options here only choose the device and the port.",
        },
        sortOptions = false)
final class PerfServerCommand implements Callable<Integer> {
    private static final int MOST_CLIENTS = 64;

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
            if (once) {
                server.serve(listener.accept(link.timeout()));
            } else {
                serveAll(server, listener);
            }
        }
        return 0;
    }

    /** Serves each client in a thread of its own, so that one that says nothing holds up nobody. */
    private void serveAll(PerfServer server, Tcp.Listener listener) throws IOException, InterruptedException {
        ExecutorService threads = Executors.newCachedThreadPool(
                Thread.ofPlatform().daemon().name("client-", 1).factory());
        Semaphore free = new Semaphore(MOST_CLIENTS);
        try {
            while (true) {
                SocketChannel channel = listener.accept(LinkOptions.FOR_EVER);
                if (free.tryAcquire()) {
                    threads.execute(() -> {
                        try {
                            serve(server, channel);
                        } finally {
                            free.release();
                        }
                    });
                } else {
                    channel.close();
                    link.note("turned a client away: " + MOST_CLIENTS + " clients are here");
                }
            }
        } finally {
            threads.shutdownNow();
            ServerThreads.awaitEnd(threads);
        }
    }

    /** Serves one client. Its failure does not end the server. */
    private void serve(PerfServer server, SocketChannel channel) {
        String peer = channel.socket().getInetAddress().getHostAddress() + ":"
                + channel.socket().getPort();
        try {
            server.serve(channel);
        } catch (InterruptedException | ClosedByInterruptException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException | IOException e) {
            link.note(peer + ": " + PerfText.reason(e));
        }
    }
}
