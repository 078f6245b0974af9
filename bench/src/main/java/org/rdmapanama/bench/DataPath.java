package org.rdmapanama.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures the cost of the data path on a device that does nothing, compared with C and JNI in the same run. */
@Command(
        name = "bin/bench",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Measure the cost of posting and polling, compared with C and with JNI.",
            "All three call the same functions of a driver that does what a fast driver does in user space, for a"
                    + " device that does nothing. They take turns, each time in a new JVM. The table shows the median"
                    + " time in nanoseconds, and its ratio to that of C.",
        })
public final class DataPath implements Callable<Integer> {
    /** The smallest object takes 16 bytes; anything less is garbage of the harness. */
    private static final double MOST_BYTES = 4;

    /** A method handle that is not a constant, or a call that allocates, is slower than this. */
    private static final double MOST_RATIO = 10;

    /** How often a suspicious row is measured again, for longer: a real fault shows up each time. */
    private static final int MOST_REPEATS = 2;

    @Option(names = "--quick", description = "Measure a few rows in one short round, in about a minute.")
    private boolean quick;

    @Option(names = "--check", description = "Fail if anything allocates, or takes more than 10 times as long as C.")
    private boolean check;

    @Option(names = "--rounds", paramLabel = "N", description = "Number of rounds, 1 to 100 (3; --quick: 1).")
    private Integer rounds;

    @Option(names = "--rows", paramLabel = "TEXT", description = "Measure only rows whose title contains this text.")
    private String only;

    @Option(names = "--write", paramLabel = "FILE", description = "Write the table to this file, between its marks.")
    private Path file;

    @Spec
    private CommandSpec spec;

    private final Map<Row, EnumMap<Variant, Samples>> results = new LinkedHashMap<>();

    private DataPath() {}

    /** Runs the benchmark and exits the JVM. */
    public static void main(String[] args) {
        System.exit(commandLine().execute(args));
    }

    static CommandLine commandLine() {
        return new CommandLine(new DataPath())
                .setParameterExceptionHandler(new ShortUsageErrors())
                .setExecutionExceptionHandler(new LockedErrors());
    }

    @Override
    public Integer call() throws IOException, RunnerException {
        int turns = rounds == null ? (quick ? 1 : 3) : rounds;
        if (turns < 1 || turns > 100) {
            throw new ParameterException(spec.commandLine(), "--rounds must be between 1 and 100, not " + turns);
        }
        if (file != null && (quick || only != null)) {
            throw new ParameterException(
                    spec.commandLine(), "--write needs the whole table: leave out --quick and --rows");
        }
        if (file != null) {
            new MarkedTable(spec, file, "--write").check();
        }
        for (Row row : Row.all()) {
            if ((!quick || row.quick()) && (only == null || row.title().contains(only))) {
                results.put(row, new EnumMap<>(Variant.class));
            }
        }
        if (results.isEmpty()) {
            throw new ParameterException(spec.commandLine(), "no row title contains '" + only + "'");
        }
        for (int turn = 0; turn < turns; turn++) {
            measure(results.keySet(), quick, "[%d/%d]", turn * results.size(), turns * results.size());
        }
        Map<Row, List<String>> faults = check ? faults() : Map.of();
        for (int repeat = 0; repeat < MOST_REPEATS && !faults.isEmpty(); repeat++) {
            measure(faults.keySet(), false, "again [%d/%d]", 0, faults.size());
            faults = faults();
        }

        List<String> table = table(turns);
        PrintWriter out = spec.commandLine().getOut();
        table.forEach(out::println);
        out.flush();
        if (file != null) {
            new MarkedTable(spec, file, "--write").write(table);
        }
        PrintWriter err = spec.commandLine().getErr();
        faults.values().forEach(all -> all.forEach(fault -> err.println("bin/bench: " + fault)));
        err.flush();
        return faults.isEmpty() ? 0 : 1;
    }

    private void measure(Set<Row> rows, boolean brief, String progress, int before, int all) throws RunnerException {
        int done = before;
        for (Row row : rows) {
            for (Variant way : Variant.values()) {
                if ((!quick || way.quick) && way.does(row)) {
                    Samples samples = results.get(row).computeIfAbsent(way, key -> new Samples());
                    Map<String, String> parameters = new HashMap<>(row.parameters());
                    parameters.put("threads", way.threads.name());
                    int iterations = brief ? 3 : 5;
                    measure(row.benchmark(), way.method, iterations, iterations, row.options(), parameters, samples);
                }
            }
            done++;
            PrintWriter err = spec.commandLine().getErr();
            err.printf(Locale.ROOT, progress + " %s%n", done, all, row.title());
            err.flush();
        }
    }

    /**
     * Runs a benchmark method with JMH in a new JVM: iterations of 200 milliseconds each.
     *
     * @param samples where the results go
     */
    static void measure(
            Class<?> benchmark,
            String method,
            int warmUps,
            int iterations,
            List<String> jvm,
            Map<String, String> parameters,
            Samples samples)
            throws RunnerException {
        ChainedOptionsBuilder options = new OptionsBuilder()
                .include("^" + Pattern.quote(benchmark.getName() + "." + method) + "$")
                .forks(1)
                .warmupIterations(warmUps)
                .warmupTime(TimeValue.milliseconds(200))
                .measurementIterations(iterations)
                .measurementTime(TimeValue.milliseconds(200))
                .shouldFailOnError(true)
                .addProfiler(GCProfiler.class)
                .jvmArgsAppend(jvm.toArray(String[]::new))
                .verbosity(VerboseMode.SILENT);
        // The launcher of this JVM may be another file than that of its JDK (lab/newer-rdma-core).
        String java = System.getProperty("org.rdmapanama.bench.java");
        if (java != null) {
            options.jvm(java);
        }
        parameters.forEach((name, value) -> options.param(name, value));
        for (RunResult result : new Runner(options.build()).run()) {
            samples.add(result);
        }
        if (samples.isEmpty()) {
            throw new RunnerException(
                    "no result was measured for: " + benchmark.getName() + "." + method + " " + parameters);
        }
    }

    private List<String> table(int turns) {
        List<String> lines = new ArrayList<>();
        lines.add(origin(spec, turns));
        lines.add("");
        StringBuilder head = new StringBuilder("| Nanoseconds (times C) ");
        StringBuilder rule = new StringBuilder("|---");
        for (Variant way : Variant.values()) {
            if (!quick || way.quick) {
                head.append("| ").append(way.title).append(' ');
                rule.append("|---:");
            }
        }
        lines.add(head + "| Bytes allocated |");
        lines.add(rule + "|---:|");
        for (Map.Entry<Row, EnumMap<Variant, Samples>> row : results.entrySet()) {
            lines.add(line(row.getKey(), row.getValue()));
        }
        return lines;
    }

    private String line(Row row, EnumMap<Variant, Samples> samples) {
        StringBuilder line = new StringBuilder("| ").append(row.title()).append(' ');
        double c = samples.get(Variant.C).nanos();
        for (Variant way : Variant.values()) {
            if (quick && !way.quick) {
                continue;
            }
            Samples own = samples.get(way);
            if (own == null) {
                line.append("| - ");
            } else if (way == Variant.C) {
                line.append(String.format(Locale.ROOT, "| %.1f ", c));
            } else {
                line.append(String.format(Locale.ROOT, "| %.1f (%.2f) ", own.nanos(), own.nanos() / c));
            }
        }
        double most = samples.entrySet().stream()
                .filter(way -> way.getKey().ours)
                .mapToDouble(way -> way.getValue().bytes())
                .max()
                .orElseThrow();
        return line.append(String.format(Locale.ROOT, "| %.1f |", most)).toString();
    }

    /** Returns the line above a table: the command, the number of rounds, and the machine. */
    static String origin(CommandSpec spec, int turns) {
        List<String> words = new ArrayList<>(List.of(spec.name()));
        words.addAll(spec.commandLine().getParseResult().originalArgs());
        return "`" + String.join(" ", words) + "` (" + turns + (turns == 1 ? " round" : " rounds") + ") on " + machine()
                + ":";
    }

    private static String machine() {
        String processor = System.getProperty("os.arch");
        try {
            processor = Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                    .filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse(processor);
        } catch (IOException unknown) {
            // Use the architecture instead.
        }
        return processor + ", " + Runtime.getRuntime().availableProcessors() + " processors, "
                + System.getProperty("os.name") + ", JDK "
                + System.getProperty("java.version");
    }

    private Map<Row, List<String>> faults() {
        Map<Row, List<String>> faults = new LinkedHashMap<>();
        results.forEach((row, ways) -> {
            List<String> own = new ArrayList<>();
            ways.forEach((way, samples) -> {
                if (way.ours) {
                    // Compares the shortest times, because a busy machine distorts medians.
                    double ratio = samples.leastNanos() / ways.get(Variant.C).leastNanos();
                    if (ratio > MOST_RATIO) {
                        own.add(String.format(
                                Locale.ROOT, "%s takes %.1f times as long as C: %s", way.title, ratio, row.title()));
                    }
                    if (samples.bytes() > MOST_BYTES) {
                        own.add(String.format(
                                Locale.ROOT,
                                "%s allocates %.1f bytes per operation: %s",
                                way.title,
                                samples.bytes(),
                                row.title()));
                    }
                }
            });
            if (!own.isEmpty()) {
                faults.put(row, own);
            }
        });
        return faults;
    }
}
