package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.DoubleStream;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.LinkOptions;
import org.rdmapanama.samples.OwnJvm;
import org.rdmapanama.samples.Rdma;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Runs each C program of perftest and the same test in Java alternately, and compares the results. */
final class ComparePerftest {
    /** The goals, relative to C: the highest latency and the lowest bandwidth. */
    static final double LATENCY_GOAL = 1.05;

    static final double BANDWIDTH_GOAL = 0.97;

    private static final String HOST = "127.0.0.1";
    private static final String LINE = "  %-11s %8s   %12s   %12s   %6s   %6s   %s%n";

    private static final double MEDIAN = 50;

    /** How long a test runs before it is measured, in nanoseconds: the first time, most code is not compiled yet. */
    private static final long FIRST_WARM_UP = 10_000_000_000L;

    private static final long WARM_UP = 3_000_000_000L;

    // The columns of the results in a line of perftest.
    private static final int C_TYPICAL = 4;
    private static final int C_AVERAGE = 3;
    private static final int C_MESSAGE_RATE = 4;

    /** Below this bandwidth, its two decimals are less precise than the six decimals of the message rate. */
    private static final double WELL_KNOWN = 10;

    private static final double MILLION = 1e6;
    private static final double MIB = 1 << 20;
    private static final int MAX_PORT = 65_535;

    /** The devices; the first one is that of the server. */
    private final List<String> devices;

    private final List<String> gids;
    private final Plan plan;
    private final PrintWriter out;
    private final Consumer<String> progress;
    private int nextPort;

    /**
     * What to compare.
     *
     * @param kinds the tests to compare
     * @param sizes message sizes, in bytes; ignored for atomics
     * @param rounds how often to run each test
     * @param iterations iterations of each run
     * @param port the first TCP port to use; each program uses the next free one
     * @param limit how long a run may take
     * @param devices the names of one or two devices; empty for those present
     */
    record Plan(
            List<TestKind> kinds,
            List<ByteSize> sizes,
            int rounds,
            int iterations,
            int port,
            Duration limit,
            List<String> devices) {}

    /** One line of the table: the results of all rounds. */
    record Row(TestKind kind, long bytes, double[] allTheirs, double[] allOurs) {
        double theirs() {
            return median(allTheirs);
        }

        double ours() {
            return median(allOurs);
        }

        double ratio() {
            return ours() / theirs();
        }

        /** The ratio of the best rounds, which other programs on the machine disturbed least. */
        double bestRatio() {
            return best(allOurs) / best(allTheirs);
        }

        private double best(double[] rounds) {
            DoubleStream all = Arrays.stream(rounds);
            return (kind.latency ? all.min() : all.max()).orElseThrow();
        }

        boolean isGoalMet() {
            return kind.latency ? ratio() <= LATENCY_GOAL : ratio() >= BANDWIDTH_GOAL;
        }
    }

    ComparePerftest(Plan plan, PrintWriter out, Consumer<String> progress) {
        this.plan = plan;
        this.out = out;
        this.progress = progress;
        nextPort = plan.port();
        devices = plan.devices().isEmpty() ? present() : plan.devices();
        devices.stream().filter(name -> !isOfKernel(name)).findFirst().ifPresent(name -> {
            throw new Failure("perftest cannot use " + name
                    + ": name kernel devices with --devices ('rdma devices' lists all devices)");
        });
        gids = devices.stream().map(ComparePerftest::gid).toList();
    }

    /** Returns two devices if there are two. Without the connection manager, perftest cannot connect iWARP. */
    private static List<String> present() {
        List<String> names = DeviceList.query().stream()
                .filter(device -> device.transportType() != TransportType.IWARP)
                .map(Device::name)
                .filter(ComparePerftest::isOfKernel)
                .limit(2)
                .toList();
        if (names.isEmpty()) {
            throw new Failure("no device present can be used by perftest");
        }
        return names;
    }

    /** Whether a device belongs to the kernel; soft0 exists in this process only. */
    private static boolean isOfKernel(String device) {
        return Files.exists(Path.of("/sys/class/infiniband", device));
    }

    private static String gid(String device) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            return Context.open(arena, DeviceList.query().byName(device))
                    .preferredGid(1)
                    .map(entry -> Integer.toString(entry.index()))
                    .orElse("0");
        }
    }

    /** Measures everything and prints the table. */
    void run() throws IOException, InterruptedException {
        if (!Children.isInstalled(TestKind.SEND_LAT.program())) {
            throw new Failure("perftest is not installed: apt-get install perftest");
        }
        out.printf(
                "  %s to %s, medians of %d rounds of %d iterations, in turns. C is perftest, started anew for each%n"
                        + "  round; ours are this JVM and one that serves it, warmed up before each row. The goal is"
                        + " for the%n"
                        + "  ratio of the medians; best is the ratio of the best rounds, which others disturbed"
                        + " least.%n",
                devices.getLast(), devices.getFirst(), plan.rounds(), plan.iterations());
        out.printf(Locale.ROOT, LINE, "test", "size", "C", "ours", "ratio", "best", "goal");
        out.flush();
        List<Row> rows = new ArrayList<>();
        int port = freePort();
        try (Children server = new Children(plan.limit())) {
            List<String> command = OwnJvm.command(Rdma.class, List.of());
            command.addAll(List.of("perf", "server"));
            command.addAll(link(0, port));
            server.start(command);
            server.awaitListening(port);
            for (TestKind kind : plan.kinds()) {
                long warmUp = FIRST_WARM_UP;
                for (long bytes : sizes(kind)) {
                    long start = System.nanoTime();
                    do {
                        // With the number of turns that is measured: code compiled for another number would be compiled
                        // again.
                        ours(kind, bytes, server, port);
                    } while (System.nanoTime() - start < warmUp);
                    Row row = measure(kind, bytes, server, port);
                    rows.add(row);
                    print(row);
                    warmUp = WARM_UP;
                }
            }
        }
        summary("latency", "at most " + LATENCY_GOAL, rows, true);
        summary("bandwidth", "at least " + BANDWIDTH_GOAL, rows, false);
    }

    private List<Long> sizes(TestKind kind) {
        return kind.operation == Operation.ATOMIC
                ? List.of(TestSettings.ATOMIC_SIZE)
                : plan.sizes().stream().map(ByteSize::bytes).toList();
    }

    private Row measure(TestKind kind, long bytes, Children server, int port) throws IOException, InterruptedException {
        double[] theirs = new double[plan.rounds()];
        double[] ours = new double[plan.rounds()];
        for (int round = 0; round < plan.rounds(); round++) {
            // They take turns to go first.
            if (round % 2 == 0) {
                theirs[round] = theirs(kind, bytes);
                ours[round] = ours(kind, bytes, server, port);
            } else {
                ours[round] = ours(kind, bytes, server, port);
                theirs[round] = theirs(kind, bytes);
            }
            progress.accept(String.format(
                    Locale.ROOT,
                    "%s %s, round %d of %d: C %.2f, ours %.2f %s",
                    kind.label(),
                    ByteSize.format(bytes),
                    round + 1,
                    plan.rounds(),
                    theirs[round],
                    ours[round],
                    unit(kind)));
        }
        return new Row(kind, bytes, theirs, ours);
    }

    private void print(Row row) {
        out.printf(
                Locale.ROOT,
                LINE,
                row.kind().label(),
                ByteSize.format(row.bytes()),
                number(row.theirs(), row.kind()),
                number(row.ours(), row.kind()),
                String.format(Locale.ROOT, "%.3f", row.ratio()),
                String.format(Locale.ROOT, "%.3f", row.bestRatio()),
                row.isGoalMet() ? "met" : "missed");
        out.flush();
    }

    private void summary(String what, String goal, List<Row> rows, boolean latency) {
        List<Row> chosen =
                rows.stream().filter(row -> row.kind().latency == latency).toList();
        if (!chosen.isEmpty()) {
            out.printf(
                    "  goal for %s, a ratio of %s: met in %d of %d rows%n",
                    what, goal, chosen.stream().filter(Row::isGoalMet).count(), chosen.size());
            out.flush();
        }
    }

    /** Formats a value with four decimals if it is below one, and otherwise with two. */
    private static String number(double value, TestKind kind) {
        return String.format(Locale.ROOT, value < 1 ? "%.4f %s" : "%.2f %s", value, unit(kind));
    }

    private static String unit(TestKind kind) {
        return kind.latency ? "usec" : "MB/sec";
    }

    static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private double theirs(TestKind kind, long bytes) throws IOException, InterruptedException {
        int chosen = freePort();
        try (Children children = new Children(plan.limit())) {
            children.start(program(kind, bytes, chosen, 0));
            children.awaitListening(chosen);
            List<String> client = program(kind, bytes, chosen, devices.size() - 1);
            client.add(HOST);
            return theirResult(kind, bytes, children.run(client));
        }
    }

    private List<String> program(TestKind kind, long bytes, int chosen, int side) {
        List<String> command = new ArrayList<>(List.of(
                kind.program(),
                "-d",
                devices.get(side),
                "-x",
                gids.get(side),
                "-p",
                Integer.toString(chosen),
                "-n",
                Integer.toString(plan.iterations()),
                "-F"));
        if (kind.operation != Operation.ATOMIC) {
            command.addAll(List.of("-s", Long.toString(bytes)));
        }
        command.addAll(notInline(kind));
        return command;
    }

    /** Disables inline data: perftest's default depends on the device, and fails on some. */
    private static List<String> notInline(TestKind kind) {
        return kind.operation == Operation.SEND || kind.operation == Operation.WRITE ? List.of("-I", "0") : List.of();
    }

    /** Runs our test, with this JVM as the client. */
    private double ours(TestKind kind, long bytes, Children server, int port) throws IOException, InterruptedException {
        List<String> words = link(devices.size() - 1, port);
        words.addAll(List.of("-n", Integer.toString(plan.iterations()), HOST));
        if (kind.operation != Operation.ATOMIC) {
            words.addAll(List.of("-s", Long.toString(bytes)));
        }
        words.addAll(notInline(kind));
        words.addAll(List.of("--warmup", "0"));
        Client client = new Client();
        new CommandLine(client)
                .registerConverter(ByteSize.class, ByteSize::parse)
                .parseArgs(words.toArray(String[]::new));
        try {
            Report unseen = Report.of(Format.csv, new PrintWriter(Writer.nullWriter()));
            Result result = client.test.measure(kind, client.link, unseen).getLast();
            return kind.latency ? result.latencies().at(MEDIAN) : result.average();
        } catch (Failure e) {
            // If the server has ended, its output says more.
            server.checkRunning();
            throw e;
        }
    }

    /** Returns the options of a test, as on the command line. */
    @Command
    private static final class Client {
        @Mixin
        private TestOptions test;

        @Mixin
        private LinkOptions link;
    }

    /** Returns the options of one side; side 0 is the server. */
    private List<String> link(int side, int port) {
        return new ArrayList<>(List.of(
                "-d",
                devices.get(side),
                "-p",
                Integer.toString(port),
                "--timeout",
                Long.toString(plan.limit().toSeconds())));
    }

    private int freePort() throws IOException {
        while (Children.isListening(nextPort)) {
            nextPort++;
        }
        if (nextPort > MAX_PORT) {
            throw new Failure("no free TCP port is left: choose a smaller --first-port, or fewer --rounds");
        }
        return nextPort++;
    }

    /** Parses the last line of perftest's output that has the numbers for a message size. */
    static double theirResult(TestKind kind, long bytes, String output) {
        if (kind.latency) {
            return number(output, C_TYPICAL);
        }
        double bandwidth = number(output, C_AVERAGE);
        return bandwidth >= WELL_KNOWN ? bandwidth : number(output, C_MESSAGE_RATE) * MILLION * bytes / MIB;
    }

    private static double number(String output, int index) {
        for (String line : output.lines().toList().reversed()) {
            String[] words = line.strip().split("\\s+", -1);
            if (words.length > index) {
                try {
                    return Double.parseDouble(words[index]);
                } catch (NumberFormatException e) {
                    // Not a line of numbers.
                }
            }
        }
        throw new Failure("no result in the output of perftest: " + output);
    }
}
