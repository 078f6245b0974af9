package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.reflect.AnnotatedElement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.LinkOptions;
import org.rdmapanama.samples.WrongUsage;
import org.rdmapanama.samples.today.TodayComparison;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures latency and bandwidth. */
@Command(
        name = "perf",
        description = {
            "Measure latency and bandwidth, like the programs of perftest.",
            "One side is 'rdma perf server', which serves every test; the other side says what to measure.",
        },
        addMethodSubcommands = false,
        sortOptions = false,
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma perf server                          on the host named left",
            "  rdma perf write-lat left                  on another",
            "  rdma perf read-bw left --all --plot read.svg",
            "  rdma perf --compare-perftest              compare with C, on one machine",
            "  rdma perf today                           compare with TCP, on one machine",
        })
public final class PerfCommand implements Callable<Integer> {
    private static final int MAX_ROUNDS = 1000;
    private static final int MAX_ITERATIONS = 1_000_000;

    /** The fewest iterations that perftest accepts. */
    private static final int MIN_ITERATIONS = 5;

    private static final int MAX_PORT = 60_000;
    private static final Duration RUN_LIMIT = Duration.ofSeconds(120);

    @Option(
            names = "--compare-perftest",
            description =
                    "Compare with the C programs of perftest: run them and our tests alternately on this machine.")
    private boolean comparePerftest;

    @Option(
            names = "--ops",
            split = ",",
            paramLabel = "TEST",
            description = "Compare: the tests, such as write-lat,read-bw (all eight).")
    private List<String> tests = List.of();

    @Option(
            names = "--sizes",
            split = ",",
            paramLabel = "SIZE",
            defaultValue = "8,4KiB,64KiB",
            description = "Compare: the message sizes (${DEFAULT-VALUE}).")
    private List<ByteSize> sizes;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "9",
            description = "Compare: number of runs of each program (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--iters",
            paramLabel = "N",
            defaultValue = "1000",
            description = "Compare: number of iterations of each run (${DEFAULT-VALUE}).")
    private int iterations;

    @Option(
            names = "--devices",
            split = ",",
            paramLabel = "NAME",
            description =
                    "Compare: device of the server and of the client (the first two that are not iWARP, or the only"
                            + " one).")
    private List<String> devices = List.of();

    @Option(
            names = "--first-port",
            paramLabel = "PORT",
            defaultValue = "19000",
            description = "Compare: the first TCP port to use (${DEFAULT-VALUE}).")
    private int port;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    /** For picocli. */
    public PerfCommand() {}

    /**
     * Adds the subcommands.
     *
     * @param perf this command
     * @param name that of a subcommand, which is then the only one; with any other text, all are added
     */
    public static void addTests(CommandLine perf, String name) {
        List<Object> tests = new ArrayList<>(List.of(PerfServerCommand.class, TodayComparison.class));
        tests.addAll(CommandLine.getCommandMethods(PerfCommand.class, null));
        List<Object> named =
                tests.stream().filter(each -> nameOf(each).equals(name)).toList();
        (named.isEmpty() ? tests : named).forEach(perf::addSubcommand);
    }

    /** That of a subcommand, which is a class or a method. */
    private static String nameOf(Object test) {
        return ((AnnotatedElement) test).getAnnotation(Command.class).name();
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (comparePerftest) {
            compareWithPerftest();
            return 0;
        }
        throw new ParameterException(spec.commandLine(), "which test? " + WrongUsage.choices(spec.commandLine()));
    }

    private void compareWithPerftest() throws IOException, InterruptedException {
        range("--rounds", rounds, 1, MAX_ROUNDS);
        range("--iters", iterations, MIN_ITERATIONS, MAX_ITERATIONS);
        range("--first-port", port, 1, MAX_PORT);
        if (devices.size() > 2) {
            throw wrong("--devices takes one or two, not " + devices.size());
        }
        ComparePerftest.Plan plan =
                new ComparePerftest.Plan(kinds(), sizes, rounds, iterations, port, RUN_LIMIT, devices);
        new ComparePerftest(plan, spec.commandLine().getOut(), this::say).run();
    }

    private List<TestKind> kinds() {
        if (tests.isEmpty()) {
            return List.of(TestKind.values());
        }
        return tests.stream().map(this::kind).toList();
    }

    private TestKind kind(String label) {
        for (TestKind kind : TestKind.values()) {
            if (kind.label().equals(label)) {
                return kind;
            }
        }
        throw wrong("--ops: there is no test '" + label + "': choose "
                + WrongUsage.either(
                        Stream.of(TestKind.values()).map(TestKind::label).toList()));
    }

    private void range(String option, int value, int min, int max) {
        if (value < min || value > max) {
            throw wrong(option + " must be between " + min + " and " + max + ", not " + value);
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private void say(String line) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(line);
        err.flush();
    }

    @Command(
            name = "send-lat",
            sortOptions = false,
            description = "Latency of SEND: half the round-trip time of a message and its answer.")
    int sendLatency(@Mixin TestOptions test, @Mixin LinkOptions link, @Mixin CommonOptions help)
            throws IOException, InterruptedException {
        return test.run(TestKind.SEND_LAT, link);
    }

    @Command(
            name = "write-lat",
            sortOptions = false,
            description = {
                "Latency of RDMA WRITE: half the round-trip time of a message and its answer.",
                "Each side polls the last byte of its memory, because no completion announces a message.",
            })
    int writeLatency(@Mixin TestOptions test, @Mixin LinkOptions link, @Mixin CommonOptions help)
            throws IOException, InterruptedException {
        return test.run(TestKind.WRITE_LAT, link);
    }

    @Command(name = "read-lat", sortOptions = false, description = "Latency of RDMA READ: the full round trip.")
    int readLatency(@Mixin TestOptions test, @Mixin LinkOptions link, @Mixin CommonOptions help)
            throws IOException, InterruptedException {
        return test.run(TestKind.READ_LAT, link);
    }

    @Command(name = "atomic-lat", sortOptions = false, description = "Latency of atomics: the full round trip.")
    int atomicLatency(@Mixin TestOptions test, @Mixin LinkOptions link, @Mixin CommonOptions help)
            throws IOException, InterruptedException {
        return test.run(TestKind.ATOMIC_LAT, link);
    }

    @Command(name = "send-bw", sortOptions = false, description = "Bandwidth of SEND.")
    int sendBandwidth(@Mixin TestOptions test, @Mixin LinkOptions link, @Mixin CommonOptions help)
            throws IOException, InterruptedException {
        return test.run(TestKind.SEND_BW, link);
    }

    @Command(name = "write-bw", sortOptions = false, description = "Bandwidth of RDMA WRITE.")
    int writeBandwidth(@Mixin TestOptions test, @Mixin LinkOptions link, @Mixin CommonOptions help)
            throws IOException, InterruptedException {
        return test.run(TestKind.WRITE_BW, link);
    }

    @Command(name = "read-bw", sortOptions = false, description = "Bandwidth of RDMA READ.")
    int readBandwidth(@Mixin TestOptions test, @Mixin LinkOptions link, @Mixin CommonOptions help)
            throws IOException, InterruptedException {
        return test.run(TestKind.READ_BW, link);
    }

    @Command(name = "atomic-bw", sortOptions = false, description = "Bandwidth and message rate of atomics.")
    int atomicBandwidth(@Mixin TestOptions test, @Mixin LinkOptions link, @Mixin CommonOptions help)
            throws IOException, InterruptedException {
        return test.run(TestKind.ATOMIC_BW, link);
    }
}
