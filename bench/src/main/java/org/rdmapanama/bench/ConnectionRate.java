package org.rdmapanama.bench;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.rdmapanama.VerbsArena;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Measures how long it takes to set up connections, step by step: with cmtime of librdmacm and in Java, in turns, and
 * with the same server. docs/CONNECTIONS.md says how to run it, and has the results.
 */
@Command(
        name = "connection-rate",
        mixinStandardHelpOptions = true,
        description = "Set up many connections at once, with cmtime and in Java, and compare.")
public final class ConnectionRate implements Callable<Integer> {
    private static final long LIMIT_SECONDS = 120;
    private static final int TRIES = 100;

    /** The steps of cmtime, with the names it gives them. */
    enum Step {
        CREATE_ID("create id"),
        BIND("bind addr"),
        RESOLVE_ADDRESS("resolve addr"),
        RESOLVE_ROUTE("resolve route"),
        CREATE_QUEUE_PAIR("create qp"),
        CONNECT("connect"),
        DISCONNECT("disconnect"),
        DESTROY("destroy");

        final String title;

        Step(String title) {
            this.title = title;
        }
    }

    @Option(
            names = {"-s", "--server"},
            defaultValue = "10.77.0.2",
            description = "Address to listen at (${DEFAULT-VALUE}).")
    private String server;

    @Option(
            names = {"-b", "--bind"},
            defaultValue = "10.77.0.1",
            description = "Address to connect from (${DEFAULT-VALUE}).")
    private String source;

    @Option(
            names = {"-p", "--port"},
            defaultValue = "7471",
            description = "First port to listen on (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = {"-c", "--connections"},
            defaultValue = "100",
            description = "Number of connections at once (${DEFAULT-VALUE}).")
    private int connections;

    @Option(
            names = {"-r", "--rounds"},
            defaultValue = "5",
            description = "Number of rounds to measure, 1 or more; the medians count (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = {"-w", "--warm-up"},
            defaultValue = "1",
            description = "Number of rounds before them, so that this JVM compiles what it runs (${DEFAULT-VALUE}).")
    private int warmUp;

    @Spec
    private CommandSpec spec;

    /** How many servers have been started. */
    private int cmtimes;

    /** For picocli. */
    public ConnectionRate() {}

    /**
     * Runs the measurement, and prints a table.
     *
     * @param arguments options; {@code --help} lists them
     */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        return new CommandLine(new ConnectionRate()).setParameterExceptionHandler(new ShortUsageErrors());
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check("--connections", connections, 1, 10_000);
        check("--rounds", rounds, 1, 10_000);
        check("--warm-up", warmUp, 0, 10_000);
        check("--port", port, 1, 0xffff - warmUp - 2 * rounds);
        List<Map<Step, Double>> c = new ArrayList<>();
        List<Map<Step, Double>> java = new ArrayList<>();
        List<Map<Step, Double>> javaServer = new ArrayList<>();
        try (ConnectionRateServer ours = ConnectionRateServer.start(new InetSocketAddress(server, port))) {
            for (int round = 0; round < warmUp; round++) {
                withCmtime(this::runJava);
                runCmtime(port);
                ours.check();
            }
            for (int round = 0; round < rounds; round++) {
                c.add(withCmtime(this::runCmtime));
                java.add(withCmtime(this::runJava));
                javaServer.add(runCmtime(port));
                ours.check();
            }
        }
        print(c, java, javaServer);
        return 0;
    }

    private void check(String name, int value, int least, int most) {
        if (value < least || value > most) {
            throw new ParameterException(
                    spec.commandLine(), name + " must be between " + least + " and " + most + ", not " + value);
        }
    }

    /** A client of the server at a port. */
    @FunctionalInterface
    private interface Client {
        Map<Step, Double> run(int at) throws IOException, InterruptedException;
    }

    /** Starts a new server for each client, at a new port, because cmtime serves only its first client well. */
    private Map<Step, Double> withCmtime(Client client) throws IOException, InterruptedException {
        int at = port + ++cmtimes;
        Process cmtime = new ProcessBuilder("cmtime", "-b", server, "-p", Integer.toString(at))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            awaitListening(cmtime, at);
            return client.run(at);
        } finally {
            cmtime.destroyForcibly()
                    .onExit()
                    .orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS)
                    .join();
        }
    }

    private void awaitListening(Process cmtime, int at) throws IOException, InterruptedException {
        for (int tries = 0; tries < TRIES && cmtime.isAlive(); tries++) {
            if (ids().anyMatch(line -> line.contains("state LISTEN") && line.contains(server + ":" + at))) {
                return;
            }
            Thread.sleep(Duration.ofMillis(100));
        }
        throw new IllegalStateException("cmtime is not listening at " + server + ":" + at);
    }

    private static Stream<String> ids() throws IOException {
        Process process = new ProcessBuilder("rdma", "resource", "show", "cm_id").start();
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).lines();
    }

    private Map<Step, Double> runJava(int at) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined();
                ConnectionRateClient client = new ConnectionRateClient(arena, connections)) {
            return client.run(new InetSocketAddress(source, 0), new InetSocketAddress(server, at));
        }
    }

    private Map<Step, Double> runCmtime(int at) throws IOException, InterruptedException {
        Process client = new ProcessBuilder(
                        "cmtime",
                        "-s",
                        server,
                        "-b",
                        source,
                        "-p",
                        Integer.toString(at),
                        "-c",
                        Integer.toString(connections))
                .redirectErrorStream(true)
                .start();
        try {
            // Its output is short enough to fit into the pipe.
            if (!client.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                throw new IllegalStateException("cmtime did not end within " + LIMIT_SECONDS + " s");
            }
            return parse(new String(client.getInputStream().readAllBytes(), StandardCharsets.US_ASCII));
        } finally {
            client.destroyForcibly();
        }
    }

    /** Parses the microseconds per connection: the last of four columns. */
    private static Map<Step, Double> parse(String output) {
        Map<Step, Double> times = new EnumMap<>(Step.class);
        for (String line : output.lines().toList()) {
            for (Step step : Step.values()) {
                if (line.startsWith(step.title) && line.contains(":")) {
                    times.put(step, Double.parseDouble(line.strip().replaceAll(".*\\s", "")));
                }
            }
        }
        if (times.size() < Step.values().length) {
            throw new IllegalStateException("cannot parse the output of cmtime: " + output);
        }
        return times;
    }

    private void print(List<Map<Step, Double>> c, List<Map<Step, Double>> java, List<Map<Step, Double>> javaServer) {
        System.out.printf(
                "%d connections at once, median of %d rounds after %d, microseconds per connection%n%n",
                connections, rounds, warmUp);
        System.out.printf(
                "%-14s %10s %12s %7s   %13s %7s%n", "step", "C to C", "Java to C", "ratio", "C to Java", "ratio");
        double[] sums = new double[3];
        for (Step step : Step.values()) {
            double[] times = {median(c, step), median(java, step), median(javaServer, step)};
            for (int i = 0; i < sums.length; i++) {
                sums[i] += times[i];
            }
            printLine(step.title, times);
        }
        printLine("sum", sums);
        System.out.printf(
                Locale.ROOT,
                "%-14s %10.0f %12.0f %7s   %13.0f%n",
                "a second",
                1e6 / sums[0],
                1e6 / sums[1],
                "",
                1e6 / sums[2]);
    }

    private static void printLine(String title, double[] times) {
        System.out.printf(
                Locale.ROOT,
                "%-14s %10.1f %12.1f %7.2f   %13.1f %7.2f%n",
                title,
                times[0],
                times[1],
                times[1] / times[0],
                times[2],
                times[2] / times[0]);
    }

    private static double median(List<Map<Step, Double>> all, Step step) {
        return Medians.of(all.stream().map(each -> each.get(step)).toList());
    }
}
