package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmapanama.rsocket.RServerSocketChannel;
import org.rdmapanama.rsocket.RSocketChannel;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Copies files over rsockets, and receives them. */
@Command(
        name = "rsocket-copy",
        description = {
            "Copy a file to another host over an rsocket.",
            "Either side also works with the C program rcopy.",
        },
        sortOptions = false,
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma rsocket-copy --serve 7427 /tmp       on the host named left",
            "  rdma rsocket-copy some.file left:7427     on another",
        })
final class RsocketCopyCommand implements Callable<Integer> {
    private static final long MAX_SECONDS = 1_000_000;
    private static final Duration TIME_TO_END = Duration.ofSeconds(3);

    @Parameters(
            arity = "0..2",
            paramLabel = "FILE HOST[:PORT] | DIR",
            description = "The file and its destination (port 7427); with --serve the directory for received files.")
    private List<String> operands;

    @Option(names = "--serve", paramLabel = "PORT", description = "Run as the server: receive files until Ctrl-C.")
    private Integer serve;

    @Option(
            names = "--bind",
            paramLabel = "ADDRESS",
            description = "Local address (server: all; client: a matching one).")
    private String bind;

    @Option(
            names = "--name",
            paramLabel = "NAME",
            description = "Client: name of the file on the server (its local name).")
    private String name;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "30",
            description = "Give up when the peer stays silent this long (${DEFAULT-VALUE}).")
    private long timeoutSeconds;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        int count = operands == null ? 0 : operands.size();
        if (timeoutSeconds < 1 || timeoutSeconds > MAX_SECONDS) {
            throw wrong("--timeout must be between 1 and " + MAX_SECONDS + ", not " + timeoutSeconds);
        }
        if (serve != null) {
            if (count != 1 || name != null) {
                throw wrong("a server takes one directory, and no --name");
            }
            checkPort(serve);
            serve(Path.of(operands.getFirst()));
        } else {
            if (count != 2) {
                throw wrong("give FILE and HOST:PORT, or --serve PORT and a directory");
            }
            copy(Path.of(operands.getFirst()), address(operands.getLast()));
        }
        return 0;
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private void checkPort(int port) {
        if (!Sockets.isPort(port)) {
            throw wrong(Sockets.notAPort(port));
        }
    }

    private InetSocketAddress address(String text) {
        int colon = Sockets.portColon(text);
        boolean hasPort = colon >= 0;
        int port = CopyMessage.DEFAULT_PORT;
        if (hasPort) {
            try {
                port = Integer.parseInt(text.substring(colon + 1));
            } catch (NumberFormatException e) {
                throw wrong(Sockets.notAPort("'" + text.substring(colon + 1) + "'"));
            }
            checkPort(port);
        }
        return Sockets.resolve(hasPort ? text.substring(0, colon) : text, port);
    }

    private Duration timeout() {
        return Duration.ofSeconds(timeoutSeconds);
    }

    private void copy(Path file, InetSocketAddress server) throws IOException, InterruptedException {
        if (!Files.isRegularFile(file)) {
            throw new Failure("no such file: " + file);
        }
        String target = name != null ? name : file.getFileName().toString();
        PrintWriter out = spec.commandLine().getOut();
        long start = System.nanoTime();
        try (CopyStream stream = new CopyStream(connect(server), timeout())) {
            long size = new CopyClient(stream, spec.commandLine().getErr()).copy(file, target);
            double seconds = Math.max(1, System.nanoTime() - start) / 1e9;
            out.printf(
                    "  copied %s to %s as %s, %s/s%n",
                    ByteSize.format(size), server, target, ByteSize.format((long) (size / seconds)));
            out.flush();
        }
    }

    private RSocketChannel connect(InetSocketAddress server) throws IOException {
        RSocketChannel channel = RSocketChannel.open();
        Sockets.connect(channel, bind, server, timeout());
        return channel;
    }

    private void serve(Path folder) throws IOException, InterruptedException {
        if (!Files.isDirectory(folder)) {
            throw new Failure("no such directory: " + folder);
        }
        Set<Thread> clients = ConcurrentHashMap.newKeySet();
        try (RServerSocketChannel server = RServerSocketChannel.open()) {
            Sockets.listen(server, bind, serve);
            PrintWriter out = spec.commandLine().getOut();
            out.println("  waiting for clients on port " + serve);
            out.flush();
            while (true) {
                RSocketChannel client = server.accept();
                Thread thread = Thread.ofPlatform().name("client").unstarted(() -> {
                    try {
                        receive(client, folder);
                    } finally {
                        clients.remove(Thread.currentThread());
                    }
                });
                clients.add(thread);
                thread.start();
            }
        } catch (ClosedByInterruptException e) {
            throw new InterruptedException();
        } finally {
            for (Thread client : clients) {
                client.interrupt();
                client.join(TIME_TO_END);
            }
        }
    }

    /** Serves one client. A failure of one client does not end the server. */
    private void receive(RSocketChannel client, Path folder) {
        try (CopyStream stream = new CopyStream(client, timeout())) {
            new CopyServer(stream, folder, spec.commandLine().getOut()).run();
        } catch (Failure | IOException e) {
            PrintWriter err = spec.commandLine().getErr();
            err.println("rdma rsocket-copy: a client failed: " + e.getMessage());
            err.flush();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
