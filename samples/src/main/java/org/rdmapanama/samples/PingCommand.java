package org.rdmapanama.samples;

import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Connects by address and sends data back and forth: rping. */
@Command(
        name = "ping",
        description = {
            "Connect by address, and have data read by the server and written back.",
            "Either side may also be rping, which has the same options.",
        },
        sortOptions = false,
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma ping -s -P                           on the host with the address 10.77.0.1",
            "  rdma ping -c -a 10.77.0.1 -C 10 -v -V     on another",
        })
final class PingCommand implements Callable<Integer> {
    private static final Duration EVER = Duration.ofDays(36_500);
    private static final long MAX_SECONDS = 1_000_000;
    private static final int MAX_PORT = 65_535;

    /** Exactly one of the two options. */
    static final class Role {
        @Option(
                names = {"-s", "--server"},
                required = true,
                description = "Wait for a client.")
        private boolean server;

        @Option(
                names = {"-c", "--client"},
                required = true,
                description = "Connect to a server.")
        boolean client;
    }

    @ArgGroup(multiplicity = "1")
    private Role role;

    @Option(
            names = {"-a", "--address"},
            paramLabel = "ADDRESS",
            description = "Client: address or name of the server. Server: address to listen at (all addresses).")
    private String address;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = "7174",
            description = "Port of the server, in the connection manager's TCP port space (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = {"-I", "--source"},
            paramLabel = "ADDRESS",
            description = "Client: local address to connect from.")
    private String source;

    @Option(
            names = {"-P", "--persistent"},
            description = "Server: serve any number of clients at the same time, until interrupted.")
    private boolean persistent;

    @Option(
            names = {"-C", "--count"},
            paramLabel = "N",
            defaultValue = "0",
            description = "Client: number of pings; 0 pings until interrupted (${DEFAULT-VALUE}).")
    private int count;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "BYTES",
            defaultValue = "64",
            description = "Client: size of the data, " + PingData.MIN_BYTES + " to " + PingData.MAX_BYTES
                    + " (${DEFAULT-VALUE}). This server takes any size; rping as a server takes at most its own -S.")
    private int size;

    @Option(
            names = {"-v", "--verbose"},
            description = "Show the data.")
    private boolean verbose;

    @Option(
            names = {"-V", "--validate"},
            description = "Check the data.")
    private boolean validate;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "30",
            description = "Give up when the peer stays silent this long; 0 waits forever (${DEFAULT-VALUE}).")
    private long timeoutSeconds;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private PrintWriter out;

    @Override
    public Integer call() throws InterruptedException {
        range("--port", port, 1, MAX_PORT);
        range("--count", count, 0, Integer.MAX_VALUE);
        range("--size", size, PingData.MIN_BYTES, PingData.MAX_BYTES);
        range("--timeout", timeoutSeconds, 0, MAX_SECONDS);
        out = spec.commandLine().getOut();
        if (role.server) {
            if (source != null) {
                throw wrong("--source is for clients; a server listens at --address");
            }
            serve();
        } else {
            if (address == null) {
                throw wrong("a client needs the server's address: -a ADDRESS");
            }
            if (persistent) {
                throw wrong("--persistent is for servers");
            }
            ping();
        }
        return 0;
    }

    private void range(String option, long value, long min, long max) {
        WrongUsage.range(spec.commandLine(), option, value, min, max);
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private Duration timeout() {
        return timeoutSeconds == 0 ? EVER : Duration.ofSeconds(timeoutSeconds);
    }

    private void ping() throws InterruptedException {
        InetSocketAddress remote = Addresses.resolve(address, port);
        InetSocketAddress local = source == null ? null : Addresses.resolve(source, 0);
        try (PingLink link = PingLink.connect(local, remote, size, timeout())) {
            PingClient client = new PingClient(link, validate, printer("ping data: "));
            long start = System.nanoTime();
            try {
                client.ping(count);
            } finally {
                report(client, System.nanoTime() - start);
            }
        }
    }

    private void report(PingClient client, long nanos) {
        long pings = client.latencies().count();
        if (pings > 0) {
            out.printf(
                    Locale.ROOT,
                    "%d pings of %d bytes in %.2f seconds = %.2f usec/ping%n",
                    pings,
                    size,
                    nanos / 1e9,
                    nanos / 1e3 / pings);
            out.println("usec/ping: " + client.latencies());
            out.flush();
        }
    }

    private void serve() throws InterruptedException {
        InetSocketAddress local = Addresses.resolve(address == null ? Addresses.WILDCARD : address, port);
        try (PingClients clients = new PingClients(local, timeout(), this::note)) {
            out.print(SoftAddresses.of(clients.localAddress()));
            print("  waiting for clients at " + Addresses.text(clients.localAddress()));
            if (persistent) {
                clients.serveAll(this::serve, failure -> Failures.print(spec.commandLine(), failure));
            } else {
                PingLink link = clients.next(timeout());
                if (link == null) {
                    throw new Failure("no client came to " + Addresses.text(local) + " in " + timeoutSeconds
                            + " s: start one, or give a longer --timeout");
                }
                serve(link);
            }
        }
    }

    private void serve(PingLink client) throws InterruptedException {
        try (PingLink link = client) {
            int pings = new PingServer(link, validate, printer("server ping data: ")).serve();
            print("  client " + Addresses.text(link.remoteAddress()) + ": " + pings + " pings");
        }
    }

    private void note(String message) {
        spec.commandLine().getErr().println(spec.qualifiedName() + ": " + message);
    }

    private Consumer<String> printer(String title) {
        return verbose ? text -> print(title + text) : null;
    }

    private void print(String line) {
        // A single call, because several clients may print at once.
        out.print(line + System.lineSeparator());
        out.flush();
    }
}
