package org.rdmapanama.spark.jobs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code bin/spark serving}. */
@Command(
        name = "serving",
        description = {
            "Compares the processor time of a process whose shuffle files another one reads, by Spark's own"
                    + " client and server over TCP and by RDMA, in turns. There are no executors: both processes have"
                    + " the parts of one that exchange blocks. The bytes are compared with those of the files."
        })
final class ServingCommand implements Callable<Integer> {
    private static final int MOST_ROUNDS = 1000;
    private static final int MOST_MAPS = 1000;
    private static final int MOST_PARTITIONS = 100_000;

    @Spec
    private CommandSpec spec;

    @Option(
            names = {"-s", "--size"},
            paramLabel = "BYTES",
            defaultValue = "256MiB",
            converter = SparkCommand.SizeConverter.class,
            description = "How much is read in a round, of all files together (${DEFAULT-VALUE}).")
    private long size;

    @Option(
            names = {"-r", "--rounds"},
            paramLabel = "N",
            defaultValue = "5",
            description = "How often both are measured (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = {"-w", "--warm-up"},
            paramLabel = "N",
            defaultValue = "3",
            description = "How many rounds come before, and do not count (${DEFAULT-VALUE}).")
    private int warmUps;

    @Option(
            names = {"-m", "--maps"},
            paramLabel = "N",
            defaultValue = "8",
            description = "How many files there are, each the output of a map task (${DEFAULT-VALUE}).")
    private int maps;

    @Option(
            names = {"-p", "--partitions"},
            paramLabel = "N",
            defaultValue = "128",
            description = "How many blocks each of them has (${DEFAULT-VALUE}).")
    private int partitions;

    @Option(
            names = {"-k", "--keep"},
            description = "Let files stay registered after the first round, to see what registering takes.")
    private boolean keeps;

    @Option(
            names = {"-a", "--address"},
            paramLabel = "ADDRESS",
            defaultValue = "127.0.0.1",
            description = "An address of this machine, for both; that of an RDMA device (${DEFAULT-VALUE}).")
    private String address;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help.")
    boolean help;

    private ServingCommand() {}

    @Override
    public Integer call() throws Exception {
        SparkCommand.require(spec, "--rounds", rounds, 1, MOST_ROUNDS);
        SparkCommand.require(spec, "--warm-up", warmUps, 0, MOST_ROUNDS);
        SparkCommand.require(spec, "--maps", maps, 1, MOST_MAPS);
        SparkCommand.require(spec, "--partitions", partitions, 1, MOST_PARTITIONS);
        long blocks = (long) maps * partitions;
        // So that a block fits into what a task may have in flight.
        SparkCommand.require(spec, "--size", size, blocks, blocks << 25);
        RunFolder run = SparkCommand.folderOf(spec);
        run.useSpark();
        Path folder = Files.createDirectory(run.path().resolve("served"));
        Serving serving =
                new Serving(new ShuffleFiles(folder, maps, partitions, (int) (size / blocks)), address, keeps);
        serving.run(warmUps, rounds, System.err);
        System.out.print(serving.table());
        return CommandLine.ExitCode.OK;
    }
}
