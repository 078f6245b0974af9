package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.TransportType;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.Failure;

/** Runs each C program of perftest and our own test alternately, with the same parameters, and puts them side by side. */
final class ComparePerftest {
    /** What is to be reached: so much of C's latency at most, so much of its bandwidth at least. */
    static final double LATENCY_GOAL = 1.05;

    static final double BANDWIDTH_GOAL = 0.97;

    private static final String HOST = "127.0.0.1";
    private static final String LINE = "  %-11s %8s   %12s   %12s   %6s   %s%n";
    private static final String FORMAT_CSV = "csv";

    // Where the results are in a line of perftest, and in one of our own.
    private static final int C_TYPICAL = 4;
    private static final int C_AVERAGE = 3;
    private static final int OUR_TYPICAL = 6;
    private static final int OUR_AVERAGE = 5;

    /** Of devices, the first serves. */
    private final List<String> devices;

    private final List<String> gids;
    private final Plan plan;
    private final PrintWriter out;
    private final Consumer<String> progress;
    private int port;

    /**
     * What to compare.
     *
     * @param kinds which tests
     * @param sizes of messages, in bytes; atomics have their own
     * @param rounds how often each
     * @param iterations of each run
     * @param port the first TCP port to use; each run takes the next
     * @param limit how long a run may take
     * @param devices one or two names; none for those that are there
     * @param javaOptions more options for the JVMs of our side
     */
    record Plan(
            List<TestKind> kinds,
            List<ByteSize> sizes,
            int rounds,
            int iterations,
            int port,
            Duration limit,
            List<String> devices,
            List<String> javaOptions) {}

    /** One line of the table. */
    record Row(TestKind kind, long bytes, double theirs, double ours) {
        double ratio() {
            return ours / theirs;
        }

        boolean isGoalMet() {
            return kind.latency ? ratio() <= LATENCY_GOAL : ratio() >= BANDWIDTH_GOAL;
        }
    }

    ComparePerftest(Plan plan, PrintWriter out, Consumer<String> progress) {
        this.plan = plan;
        this.out = out;
        this.progress = progress;
        port = plan.port();
        devices = plan.devices().isEmpty() ? present() : plan.devices();
        gids = devices.stream().map(ComparePerftest::gid).toList();
    }

    /** Two different devices, if there are two; perftest does not connect iWARP without the connection manager. */
    private static List<String> present() {
        List<String> names = DeviceList.query().stream()
                .filter(device -> device.transportType() != TransportType.IWARP)
                .map(Device::name)
                .limit(2)
                .toList();
        if (names.isEmpty()) {
            throw new Failure("no device is there that perftest could use");
        }
        return names;
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
                "  %s to %s, medians of %d rounds of %d iterations; C is perftest. Both sides of a run are processes of"
                        + " their own, started for it.%n  Ours are warmed up by as many iterations first, and compile in"
                        + " the foreground (-XX:-BackgroundCompilation).%n",
                devices.getLast(), devices.getFirst(), plan.rounds(), plan.iterations());
        out.printf(Locale.ROOT, LINE, "test", "size", "C", "ours", "ratio", "goal");
        out.flush();
        List<Row> rows = new ArrayList<>();
        for (TestKind kind : plan.kinds()) {
            for (long bytes : sizes(kind)) {
                Row row = measure(kind, bytes);
                rows.add(row);
                print(row);
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

    private Row measure(TestKind kind, long bytes) throws IOException, InterruptedException {
        double[] theirs = new double[plan.rounds()];
        double[] ours = new double[plan.rounds()];
        for (int round = 0; round < plan.rounds(); round++) {
            // Neither is always the first.
            if (round % 2 == 0) {
                theirs[round] = theirs(kind, bytes);
                ours[round] = ours(kind, bytes);
            } else {
                ours[round] = ours(kind, bytes);
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
        return new Row(kind, bytes, median(theirs), median(ours));
    }

    private void print(Row row) {
        out.printf(
                Locale.ROOT,
                LINE,
                row.kind().label(),
                ByteSize.format(row.bytes()),
                String.format(Locale.ROOT, "%.2f %s", row.theirs(), unit(row.kind())),
                String.format(Locale.ROOT, "%.2f %s", row.ours(), unit(row.kind())),
                String.format(Locale.ROOT, "%.3f", row.ratio()),
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
        int chosen = port++;
        try (Children children = new Children(plan.limit())) {
            children.start(program(kind, bytes, chosen, 0));
            children.awaitListening(chosen);
            List<String> client = program(kind, bytes, chosen, devices.size() - 1);
            client.add(HOST);
            return theirResult(kind, children.run(client));
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

    /** How much goes inline unless it is told, perftest makes depend on the device, and has no such data on some. */
    private static List<String> notInline(TestKind kind) {
        return kind.operation == Operation.SEND || kind.operation == Operation.WRITE ? List.of("-I", "0") : List.of();
    }

    private double ours(TestKind kind, long bytes) throws IOException, InterruptedException {
        int chosen = port++;
        try (Children children = new Children(plan.limit())) {
            children.start(ourSide(0, chosen, "server", "--once"));
            List<String> client = ourSide(
                    devices.size() - 1,
                    chosen,
                    kind.label(),
                    "-n",
                    Integer.toString(plan.iterations()),
                    "-F",
                    FORMAT_CSV);
            if (kind.operation != Operation.ATOMIC) {
                client.addAll(List.of("-s", Long.toString(bytes)));
            }
            client.addAll(notInline(kind));
            client.add(HOST);
            return ourResult(kind, children.run(client));
        }
    }

    private List<String> ourSide(int side, int chosen, String... words) {
        List<String> command = Children.java(plan.javaOptions());
        command.add("perf");
        command.addAll(Arrays.asList(words));
        command.addAll(List.of(
                "-d",
                devices.get(side),
                "-p",
                Integer.toString(chosen),
                "--timeout",
                Long.toString(plan.limit().toSeconds())));
        return command;
    }

    /** The number in the last line of perftest that has any. */
    static double theirResult(TestKind kind, String output) {
        return number(output, "\\s+", kind.latency ? C_TYPICAL : C_AVERAGE);
    }

    static double ourResult(TestKind kind, String output) {
        return number(output, ",", kind.latency ? OUR_TYPICAL : OUR_AVERAGE);
    }

    private static double number(String output, String separator, int index) {
        for (String line : output.lines().toList().reversed()) {
            String[] words = line.strip().split(separator, -1);
            if (words.length > index) {
                try {
                    return Double.parseDouble(words[index]);
                } catch (NumberFormatException e) {
                    // Another line.
                }
            }
        }
        throw new Failure("no result in what it printed: " + output);
    }
}
