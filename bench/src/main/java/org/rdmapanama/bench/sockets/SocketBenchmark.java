package org.rdmapanama.bench.sockets;

import java.io.Closeable;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.rdmapanama.bench.MarkedTable;
import org.rdmapanama.bench.Medians;
import org.rdmapanama.bench.ShortUsageErrors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Compares sockets over RDMA with TCP, rstream and Netty: two processes of this machine for each. */
@Command(
        name = "bin/bench sockets",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Compare sockets over RDMA with TCP and, where a kernel has the device, with the C program rstream; and"
                        + " Netty over both. Two processes of this machine exchange messages of 64 B, and chunks one way. A"
                        + " second table has selectors of few and of many channels, in one process.")
public final class SocketBenchmark implements Callable<Integer> {
    private static final String BASE = "SocketChannel over TCP, blocking";
    private static final String TCP_SELECTING = "SocketChannel over TCP, selecting";
    private static final String RDMA_SELECTING = "RSocketChannel, selecting";
    private static final String SOFT_HOST = "127.0.0.1";
    private static final int KIB = 1 << 10;
    private static final int MOST_KIB = 16 << 10;

    @Option(
            names = "--host",
            paramLabel = "ADDRESS",
            defaultValue = SOFT_HOST,
            description =
                    "The server's address, which chooses the device (${DEFAULT-VALUE}: soft0; 10.77.0.2 in the lab).")
    private String host;

    @Option(
            names = "--from",
            paramLabel = "ADDRESS",
            description = "The client's address (that of the server; 10.77.0.1 in the lab).")
    private String from;

    @Option(
            names = {"-r", "--rounds"},
            defaultValue = "5",
            description = "Number of rounds, whose medians count (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--warmup",
            paramLabel = "ROUNDS",
            defaultValue = "3",
            description = "Number of warm-up rounds before that (${DEFAULT-VALUE}).")
    private int warmUp;

    @Option(
            names = "--pings",
            paramLabel = "N",
            defaultValue = "10000",
            description = "Round trips in a round (${DEFAULT-VALUE}).")
    private int pings;

    @Option(
            names = "--chunk",
            paramLabel = "KIB",
            defaultValue = "64",
            description = "KiB that are written at once to measure bandwidth (${DEFAULT-VALUE}).")
    private int chunkKib;

    @Option(
            names = "--channels",
            paramLabel = "N",
            defaultValue = "1000",
            description = "Channels of a selector of which one is ready (${DEFAULT-VALUE}; compared with 10).")
    private int channels;

    @Option(
            names = "--rows",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "Measure the first row, and those whose titles contain this (all).")
    private String rows;

    @Option(names = "--write", paramLabel = "FILE", description = "Write the table to this file, between its marks.")
    private Path file;

    @Spec
    private CommandSpec spec;

    private final Map<String, Subject> subjects = new LinkedHashMap<>();
    private final List<Selections> selections = new ArrayList<>();
    private final Map<String, List<Double>> roundTrips = new LinkedHashMap<>();
    private final Map<String, List<Double>> bandwidths = new LinkedHashMap<>();

    /** For picocli. */
    public SocketBenchmark() {}

    /**
     * Runs the benchmark.
     *
     * @param arguments the options
     */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    /**
     * Creates the command.
     *
     * @return what parses the options and runs it
     */
    public static CommandLine commandLine() {
        return new CommandLine(new SocketBenchmark())
                .setExecutionExceptionHandler((failure, command, parsed) -> {
                    command.getErr()
                            .println("bin/bench sockets: "
                                    + (failure.getMessage() == null ? failure : failure.getMessage()));
                    return 1;
                })
                .setParameterExceptionHandler(new ShortUsageErrors());
    }

    /** What is measured. */
    private interface Subject extends Closeable {
        /** Returns microseconds of a round trip. */
        double roundTrip(int count) throws IOException, InterruptedException;

        /** Returns MiB per second. */
        double bandwidth() throws IOException, InterruptedException;
    }

    private record InJava(ServerProcess peer, Client client, long bytes) implements Subject {
        @Override
        public double roundTrip(int count) throws IOException, InterruptedException {
            long start = System.nanoTime();
            client.pings(count);
            return (System.nanoTime() - start) / 1e3 / count;
        }

        @Override
        public double bandwidth() throws IOException, InterruptedException {
            long start = System.nanoTime();
            client.push();
            double seconds = (System.nanoTime() - start) / 1e9;
            return (double) bytes / (1 << 20) / seconds;
        }

        @Override
        public void close() throws IOException {
            client.close();
            peer.close();
        }
    }

    private record InC(Rstream program) implements Subject {
        @Override
        public double roundTrip(int count) throws IOException, InterruptedException {
            return program.roundTrip(count);
        }

        @Override
        public double bandwidth() throws IOException, InterruptedException {
            return program.bandwidth();
        }

        @Override
        public void close() {
            // Each measurement has processes of its own.
        }
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        atLeast("--rounds", rounds, 1);
        atLeast("--warmup", warmUp, 0);
        atLeast("--pings", pings, 1);
        atLeast("--chunk", chunkKib, 1);
        atLeast("--channels", channels, 1);
        if (chunkKib > MOST_KIB) {
            throw new ParameterException(
                    spec.commandLine(), "--chunk must be at most " + MOST_KIB + ", not " + chunkKib);
        }
        if (!rows.isEmpty() && file != null) {
            throw new ParameterException(spec.commandLine(), "--write writes all rows: leave out --rows");
        }
        MarkedTable marked = file == null ? null : new MarkedTable(spec, file, "sockets");
        if (marked != null) {
            marked.check();
        }
        try {
            open();
            repeat(this::measure);
        } finally {
            for (Subject each : subjects.values()) {
                each.close();
            }
        }
        // Not before: their channels would be open beside the others.
        try {
            addSelections(TCP_SELECTING, settings(false));
            addSelections(RDMA_SELECTING, settings(true));
            if (!selections.isEmpty()) {
                repeat(this::measureSelections);
            }
        } finally {
            for (Selections each : selections) {
                each.close();
            }
        }
        List<String> table = table();
        PrintWriter out = spec.commandLine().getOut();
        table.forEach(out::println);
        out.flush();
        if (marked != null) {
            marked.write(table);
        }
        return 0;
    }

    /** What is measured in each round. */
    @FunctionalInterface
    private interface Round {
        void run(boolean counts) throws IOException, InterruptedException;
    }

    private void repeat(Round measurement) throws IOException, InterruptedException {
        for (int round = -warmUp; round < rounds; round++) {
            measurement.run(round >= 0);
            spec.commandLine()
                    .getErr()
                    .printf(
                            "%s %d of %d%n",
                            round >= 0 ? "round" : "warm-up",
                            round >= 0 ? round + 1 : round + 1 + warmUp,
                            round >= 0 ? rounds : warmUp);
        }
    }

    private Settings settings(boolean rdma) {
        return new Settings(rdma, host, from == null ? host : from, chunkKib * KIB);
    }

    private void atLeast(String option, int value, int least) {
        if (value < least) {
            throw new ParameterException(spec.commandLine(), option + " must be at least " + least + ", not " + value);
        }
    }

    private void open() throws IOException, InterruptedException {
        // With one processor, a side that spins keeps the other one from answering.
        boolean spins = Runtime.getRuntime().availableProcessors() > 1;
        List<SocketWay> ways = new ArrayList<>();
        ways.add(new SocketWay(BASE, false, SocketWay.Kind.BLOCKING));
        ways.add(new SocketWay("RSocketChannel, blocking", true, SocketWay.Kind.BLOCKING));
        ways.add(new SocketWay("RSocketChannel, registered", true, SocketWay.Kind.REGISTERED));
        if (spins) {
            ways.add(new SocketWay("SocketChannel over TCP, spinning", false, SocketWay.Kind.SPINNING));
            ways.add(new SocketWay("RSocketChannel, spinning", true, SocketWay.Kind.SPINNING));
        }
        ways.add(new SocketWay("Netty over TCP", false, SocketWay.Kind.NETTY));
        ways.add(new SocketWay("Netty over RDMA", true, SocketWay.Kind.NETTY));
        ways.removeIf(way -> !isWanted(way.title()));
        for (SocketWay way : ways) {
            Settings settings = settings(way.rdma());
            ServerProcess peer = ServerProcess.start(way, settings);
            Client ours = way.client(settings, peer.echoPort(), peer.chunkPort());
            subjects.put(way.title(), new InJava(peer, ours, (long) settings.chunk() * settings.chunks()));
        }
        if (!host.equals(SOFT_HOST) && Rstream.isInstalled()) {
            addRstream("rstream -T b, blocking", new Rstream(settings(true), "b"));
            if (spins) {
                addRstream("rstream -T a, spinning", new Rstream(settings(true), "a"));
            }
        }
        boolean selects = TCP_SELECTING.contains(rows) || RDMA_SELECTING.contains(rows);
        if (subjects.size() == 1 && !selects && !BASE.contains(rows)) {
            throw new ParameterException(spec.commandLine(), "no row title contains '" + rows + "'");
        }
    }

    private void addRstream(String title, Rstream program) {
        if (isWanted(title)) {
            subjects.put(title, new InC(program));
        }
    }

    private void addSelections(String title, Settings settings) throws IOException {
        if (title.contains(rows)) {
            selections.add(new Selections(title, settings, channels));
        }
    }

    private boolean isWanted(String title) {
        return title.equals(BASE) || title.contains(rows);
    }

    private void measure(boolean counts) throws IOException, InterruptedException {
        for (Map.Entry<String, Subject> each : subjects.entrySet()) {
            double roundTrip = each.getValue().roundTrip(pings);
            double bandwidth = each.getValue().bandwidth();
            if (counts) {
                roundTrips
                        .computeIfAbsent(each.getKey(), key -> new ArrayList<>())
                        .add(roundTrip);
                bandwidths
                        .computeIfAbsent(each.getKey(), key -> new ArrayList<>())
                        .add(bandwidth);
            }
        }
    }

    private void measureSelections(boolean counts) throws IOException {
        for (Selections each : selections) {
            each.measure(pings, counts);
        }
    }

    private List<String> table() {
        double roundTrip = Medians.of(roundTrips.get(BASE));
        double bandwidth = Medians.of(bandwidths.get(BASE));
        int width = subjects.keySet().stream().mapToInt(String::length).max().orElse(1);
        List<String> lines = new ArrayList<>();
        lines.add("| | 64 B round trip, µs | times TCP, blocking | writes of " + chunkKib
                + " KiB, MiB/s | times TCP, blocking |");
        lines.add("|---|---:|---:|---:|---:|");
        for (String title : subjects.keySet()) {
            double micros = Medians.of(roundTrips.get(title));
            double mebibytes = Medians.of(bandwidths.get(title));
            lines.add(String.format(
                    Locale.ROOT,
                    "| %-" + width + "s | %6.1f | %5.2f | %5.0f | %5.2f |",
                    title,
                    micros,
                    micros / roundTrip,
                    mebibytes,
                    mebibytes / bandwidth));
        }
        if (!selections.isEmpty()) {
            lines.add("");
            lines.addAll(Selections.head(channels));
            selections.forEach(each -> lines.add(each.row()));
        }
        return lines;
    }
}
