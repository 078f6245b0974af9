package org.rdmapanama.spark.jobs;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.apache.spark.SparkConf;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** The program {@code bin/spark}: compares Spark's shuffle with the one by RDMA. */
@Command(
        name = "spark",
        subcommands = ServingCommand.class,
        description = {
            "Runs jobs of Apache Spark on this machine, in turns with Spark's own shuffle"
                    + " and with RdmaShuffleManager, checks that the results are equal, and prints"
                    + " how long they took, how much executors read from each other, and their"
                    + " processor time. Each round starts new executors for both, and runs each job"
                    + " once before the runs that count."
        },
        footerHeading = "%nVariables:%n",
        footer = {
            "  RDMA_SOFT_ADDRESS  the addresses of soft0: addresses and interfaces, with",
            "                     commas, or 'all'; by default the loopback addresses only",
            "",
            "Exit status:",
            "  0    success",
            "  1    failure; standard error says why",
            "  2    wrong usage",
            "  130  interrupted with Ctrl-C",
        })
public final class SparkCommand implements Callable<Integer> {
    private static final int LONGEST_MESSAGE = 300;

    private static final int MOST_EXECUTORS = 32;
    private static final int MOST_PARTITIONS = 10_000;
    private static final int MOST_ROUNDS = 1000;
    private static final long NORMAL_BYTES = 64 << 20;

    /** More than the 2 GiB of a buffer. */
    private static final long ENORMOUS_BYTES = 2200L << 20;

    /** What can be chosen. */
    enum Choice {
        SORT(ShuffleJob.SORT),
        GROUP(ShuffleJob.GROUP),
        JOIN(ShuffleJob.JOIN),
        ENORMOUS(ShuffleJob.ENORMOUS),
        ALL(ShuffleJob.SORT, ShuffleJob.GROUP, ShuffleJob.JOIN);

        private final List<ShuffleJob> jobs;

        Choice(ShuffleJob... jobs) {
            this.jobs = List.of(jobs);
        }
    }

    @Spec
    private CommandSpec spec;

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "JOB",
            defaultValue = "all",
            description =
                    "sort, group, join or all of these (${DEFAULT-VALUE}); or enormous, which has a partition that is"
                            + " larger than a buffer of Java can be, takes some minutes, and three times its size on the disk.")
    private Choice choice;

    @Option(
            names = {"-s", "--size"},
            paramLabel = "BYTES",
            converter = SizeConverter.class,
            description = "The size of the records of a job: 1048576, 64MiB or 1GiB (64MiB, and 2200MiB for enormous).")
    private Long size;

    @Option(
            names = {"-r", "--rounds"},
            paramLabel = "N",
            defaultValue = "3",
            description = "How often both are measured; the table has medians (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = {"-e", "--executors"},
            paramLabel = "N",
            defaultValue = "2",
            description = "How many executors there are, with 1 GiB and one task at a time (${DEFAULT-VALUE}).")
    private int executors;

    @Option(
            names = {"-p", "--partitions"},
            paramLabel = "N",
            defaultValue = "8",
            description = "How many partitions a shuffle has, on both sides (${DEFAULT-VALUE}).")
    private int partitions;

    @Option(
            names = {"-a", "--address"},
            paramLabel = "ADDRESS",
            defaultValue = "127.0.0.1",
            description = "The setting spark.rdma.address: an address, an interface or a subnet (${DEFAULT-VALUE}).")
    private String address;

    @Option(
            names = {"-n", "--repeat"},
            paramLabel = "N",
            defaultValue = "1",
            description = "How many runs of a job count in each round (${DEFAULT-VALUE}).")
    private int repeats;

    @Option(
            names = {"-f", "--fallback"},
            description =
                    "Let nothing be read by RDMA, so that all blocks come by Spark's client after the servers have"
                            + " been asked for them: --conf spark.rdma.pinned=0.")
    private boolean fallback;

    @Option(
            names = {"-c", "--conf"},
            paramLabel = "NAME=VALUE",
            description = "A setting of Spark, for both; spark.rdma.* only for RDMA.")
    private Map<String, String> settings = new LinkedHashMap<>();

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help.")
    boolean help;

    /** Reads a number of bytes, as Spark does. */
    static final class SizeConverter implements CommandLine.ITypeConverter<Long> {
        @Override
        public Long convert(String text) {
            try {
                return org.apache.spark.network.util.JavaUtils.byteStringAsBytes(
                        text.strip().replaceFirst("(?i)ib$", "b"));
            } catch (NumberFormatException e) {
                throw new TypeConversionException("must be a size such as 1048576, 64MiB or 1GiB, not '" + text + "'");
            }
        }
    }

    private final RunFolder folder;

    private SparkCommand(RunFolder folder) {
        this.folder = folder;
    }

    /**
     * Runs the command.
     *
     * @param arguments see {@code --help}
     */
    public static void main(String... arguments) {
        RunFolder folder = RunFolder.ofProcess();
        CommandLine command = new CommandLine(new SparkCommand(folder))
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler((failure, ignored) -> {
                    System.err.println("spark: " + describe(failure) + " (see bin/spark --help)");
                    return CommandLine.ExitCode.USAGE;
                })
                .setExecutionExceptionHandler((failure, ignored, result) -> {
                    if (folder.keep()) {
                        System.err.println(
                                "spark: " + describeFailure(failure) + "\nspark: its log is " + folder.log());
                    }
                    return CommandLine.ExitCode.SOFTWARE;
                });
        System.exit(command.execute(arguments));
    }

    /** Returns where a subcommand has its files. */
    static RunFolder folderOf(CommandSpec subcommand) {
        return ((SparkCommand) subcommand.parent().userObject()).folder;
    }

    private static String describe(ParameterException failure) {
        ArgSpec argument = failure.getArgSpec();
        String value = failure.getValue();
        if (argument == null || value == null) {
            return failure.getMessage();
        }
        String name = argument instanceof OptionSpec option ? option.longestName() : argument.paramLabel();
        Class<?> type = argument.type();
        String required;
        if (type == Choice.class) {
            required = "sort, group, join, enormous or all";
        } else if (type == int.class) {
            required = "a whole number";
        } else if (type == long.class || type == Long.class) {
            required = "a size such as 1048576, 64MiB or 1GiB";
        } else {
            required = argument.paramLabel();
        }
        return name + " must be " + required + ", not '" + value + "'";
    }

    private static String describeFailure(Throwable failure) {
        Throwable cause = failure;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        String message = Optional.ofNullable(cause.getMessage()).orElse(cause.toString());
        String first = message.lines().findFirst().orElse(cause.toString());
        return first.length() <= LONGEST_MESSAGE ? first : first.substring(0, LONGEST_MESSAGE) + "...";
    }

    @Override
    public Integer call() throws Exception {
        boolean enormous = choice == Choice.ENORMOUS;
        long bytes = Objects.requireNonNullElse(size, enormous ? ENORMOUS_BYTES : NORMAL_BYTES);
        require(spec, "--size", bytes, Records.BYTES * 100L, 1L << 40);
        require(spec, "--rounds", rounds, 1, MOST_ROUNDS);
        require(spec, "--repeat", repeats, 1, MOST_ROUNDS);
        require(spec, "--executors", executors, 1, MOST_EXECUTORS);
        require(spec, "--partitions", partitions, 1, MOST_PARTITIONS);
        folder.useSpark();
        Comparison comparison = new Comparison(choice.jobs, bytes, partitions, executors, repeats, System.err);
        for (int round = 0; round < rounds; round++) {
            comparison.round(round, way -> conf(way, folder.path()));
        }
        System.out.print(comparison.table());
        return CommandLine.ExitCode.OK;
    }

    static void require(CommandSpec spec, String option, long value, long least, long most) {
        if (value < least || value > most) {
            throw new ParameterException(
                    spec.commandLine(), option + " must be between " + least + " and " + most + ", not " + value);
        }
    }

    private SparkConf conf(Comparison.Way way, Path path) {
        SparkConf conf = LocalCluster.conf(executors, path);
        LocalCluster.jars(
                conf,
                Path.of(System.getProperty("spark.jobs.modules")),
                Path.of(System.getProperty("spark.jobs.modules"), "rdma-spark-jobs.jar"),
                Path.of(System.getProperty("spark.jobs.jar")));
        Map<String, String> rdma = new LinkedHashMap<>(Map.of("spark.rdma.address", address));
        Map<String, String> all = new LinkedHashMap<>();
        choice.jobs.forEach(each -> all.putAll(each.settings()));
        if (fallback) {
            all.put("spark.rdma.pinned", "0");
        }
        all.putAll(settings);
        all.forEach((name, value) -> {
            if (name.startsWith("spark.rdma.")) {
                rdma.put(name, value);
            } else {
                conf.set(name, value);
            }
        });
        return way == Comparison.Way.RDMA ? LocalCluster.byRdma(conf, rdma) : conf;
    }
}
