package org.rdmapanama.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.openjdk.jmh.runner.RunnerException;
import org.rdmapanama.ffm.NativeLibrary;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures the direct path of ConnectX or EFA cards, compared with C over their driver and with our calls of it. */
@Command(
        name = "bin/bench direct",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Compare queues of ConnectX or EFA cards that Java writes and reads itself with C over libmlx5 or libefa, and"
                    + " with our calls of that library.",
            "The driver is the real one, the card is in memory: it completes a work request by a store. All ways take"
                    + " turns, each time in a new JVM. The table shows the median time in nanoseconds, and its ratio to"
                    + " that of C.",
        })
public final class DirectComparison implements Callable<Integer> {
    private static final int ITERATIONS = 3;

    /** The compilers need longer than for calls, which do little in Java. */
    private static final int WARM_UPS = 10;

    @Option(
            names = "--card",
            paramLabel = "mlx5|efa",
            defaultValue = "mlx5",
            description = "The card: mlx5, or efa, which needs libefa of rdma-core 60 or newer (${DEFAULT-VALUE}).")
    private String cardName;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "3",
            description = "Number of rounds, 1 to 100 (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--rows",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "Measure only the row with this title, or those whose titles contain this text.")
    private String only;

    @Option(names = "--write", paramLabel = "FILE", description = "Write the table to this file, between its marks.")
    private Path file;

    @Spec
    private CommandSpec spec;

    private Card card = Card.MLX5;

    private final Map<Operation, EnumMap<Way, Samples>> results = new LinkedHashMap<>();

    private DirectComparison() {}

    /** What is measured. */
    private record Operation(String title, String method, int batch) {}

    private static final List<Operation> OPERATIONS = List.of(
            new Operation("post_send, poll: chain of 1", "postSend", 1),
            new Operation("post_send, poll: chain of 16", "postSend", 16),
            new Operation("ibv_wr_*, poll: batch of 1", "build", 1),
            new Operation("ibv_wr_*, poll: batch of 16", "build", 16),
            new Operation("post_recv, poll: chain of 1", "postReceive", 1),
            new Operation("poll of an empty queue", "pollEmpty", 1));

    /** A kind of card. */
    private enum Card {
        MLX5("mlx5", DirectBenchmark.class, "direct --write"),
        EFA("efa", EfaBenchmark.class, "direct --card efa --write");

        final String option;
        final Class<? extends CardBenchmark> benchmark;

        /** What writes its table. */
        final String command;

        Card(String option, Class<? extends CardBenchmark> benchmark, String command) {
            this.option = option;
            this.benchmark = benchmark;
            this.command = command;
        }

        /** Whether its driver can do without locks: libefa takes its own always. */
        boolean hasQueuesWithoutLocks() {
            return this == MLX5;
        }
    }

    /** A column of the table. */
    private enum Way {
        C("C", true, Threads.CONFINED, List.of()),
        C_SINGLE_THREADED("C, single-threaded", true, Threads.CONFINED, List.of()),
        CALLS("calls", false, Threads.CONFINED, List.of()),
        CALLS_THREAD_DOMAIN("calls, thread domain", false, Threads.CONFINED, List.of()),
        DIRECT("direct", false, Threads.CONFINED, List.of("-Dorg.rdmapanama.direct=true")),
        DIRECT_THREAD_DOMAIN("direct, thread domain", false, Threads.CONFINED, List.of("-Dorg.rdmapanama.direct=true")),
        DIRECT_SHARED("direct, shared arena", false, Threads.SHARED, List.of("-Dorg.rdmapanama.direct=true"));

        final String title;
        final boolean c;
        final Threads threads;
        final List<String> jvm;

        Way(String title, boolean c, Threads threads, List<String> jvm) {
            this.title = title;
            this.c = c;
            this.threads = threads;
            this.jvm = jvm;
        }

        /** Whether it is for drivers that can do without locks. */
        boolean isWithoutLocks() {
            return this == C_SINGLE_THREADED || isInThreadDomain();
        }

        boolean isInThreadDomain() {
            return this == CALLS_THREAD_DOMAIN || this == DIRECT_THREAD_DOMAIN;
        }
    }

    /** Runs the benchmark and exits the JVM. */
    public static void main(String[] args) {
        System.exit(commandLine().execute(args));
    }

    static CommandLine commandLine() {
        return new CommandLine(new DirectComparison())
                .setParameterExceptionHandler(new ShortUsageErrors())
                .setExecutionExceptionHandler(new LockedErrors());
    }

    @Override
    public Integer call() throws IOException, RunnerException {
        if (rounds < 1 || rounds > 100) {
            throw new ParameterException(spec.commandLine(), "--rounds must be between 1 and 100, not " + rounds);
        }
        card = Arrays.stream(Card.values())
                .filter(each -> each.option.equals(cardName))
                .findFirst()
                .orElseThrow(() -> new ParameterException(
                        spec.commandLine(), "--card must be mlx5 or efa, not '" + cardName + "'"));
        if (file != null) {
            marked().check();
        }
        boolean exact = OPERATIONS.stream().anyMatch(each -> each.title().equals(only));
        for (Operation operation : OPERATIONS) {
            if (exact ? operation.title().equals(only) : operation.title().contains(only)) {
                results.put(operation, new EnumMap<>(Way.class));
            }
        }
        if (results.isEmpty()) {
            throw new ParameterException(spec.commandLine(), "no row title contains '" + only + "'");
        }
        if (card == Card.EFA && NativeLibrary.EFA.find("efadv_query_cq").isEmpty()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--card efa needs libefa of rdma-core 60 or newer, which tells where the queues are: install it, or run"
                            + " 'lab/newer-rdma-core bin/bench direct --card efa'");
        }
        for (int round = 1; round <= rounds; round++) {
            for (Operation operation : results.keySet()) {
                measure(operation);
                PrintWriter err = spec.commandLine().getErr();
                err.printf(Locale.ROOT, "[%d/%d] %s%n", round, rounds, operation.title());
                err.flush();
            }
        }
        List<String> table = table();
        PrintWriter out = spec.commandLine().getOut();
        table.forEach(out::println);
        out.flush();
        if (file != null) {
            marked().write(table);
        }
        return 0;
    }

    private MarkedTable marked() {
        return new MarkedTable(spec, file, card.command);
    }

    private List<Way> ways() {
        return Arrays.stream(Way.values())
                .filter(way -> card.hasQueuesWithoutLocks() || !way.isWithoutLocks())
                .toList();
    }

    private void measure(Operation operation) throws RunnerException {
        for (Way way : ways()) {
            Samples samples = results.get(operation).computeIfAbsent(way, key -> new Samples());
            Map<String, String> parameters = new HashMap<>();
            parameters.put("batch", "" + operation.batch());
            parameters.put("c", "" + way.c);
            parameters.put("extended", "" + operation.method().equals("build"));
            parameters.put("threads", way.threads.name());
            if (card.hasQueuesWithoutLocks()) {
                parameters.put("singleThreaded", "" + (way == Way.C_SINGLE_THREADED));
                parameters.put("threadDomain", "" + way.isInThreadDomain());
            }
            int warmUps = way.c ? ITERATIONS : WARM_UPS;
            DataPath.measure(card.benchmark, operation.method(), warmUps, ITERATIONS, way.jvm, parameters, samples);
        }
    }

    private List<String> table() {
        List<String> lines = new ArrayList<>();
        lines.add(DataPath.origin(spec, rounds));
        lines.add("");
        StringBuilder head = new StringBuilder("| Nanoseconds (times C) ");
        StringBuilder rule = new StringBuilder("|---");
        for (Way way : ways()) {
            head.append("| ").append(way.title).append(' ');
            rule.append("|---:");
        }
        lines.add(head + "| Bytes allocated |");
        lines.add(rule + "|---:|");
        results.forEach((operation, ways) -> {
            double c = ways.get(Way.C).nanos();
            StringBuilder line =
                    new StringBuilder("| ").append(operation.title()).append(' ');
            double bytes = 0;
            for (Map.Entry<Way, Samples> way : ways.entrySet()) {
                double own = way.getValue().nanos();
                line.append(
                        way.getKey() == Way.C
                                ? String.format(Locale.ROOT, "| %.1f ", own)
                                : String.format(Locale.ROOT, "| %.1f (%.2f) ", own, own / c));
                if (!way.getKey().c) {
                    bytes = Math.max(bytes, way.getValue().bytes());
                }
            }
            lines.add(line.append(String.format(Locale.ROOT, "| %.1f |", bytes)).toString());
        });
        return lines;
    }
}
