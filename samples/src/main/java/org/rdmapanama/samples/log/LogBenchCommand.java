package org.rdmapanama.samples.log;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.rdmapanama.VerbsException;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Sockets;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures commits. */
@Command(
        name = "bench",
        description = {
            "Measure how long commits take over RDMA and over TCP, in turns, and print a Markdown table.",
            "All nodes are threads of this process, so they share its processors. One record is under way at a time.",
        },
        sortOptions = false)
final class LogBenchCommand implements Callable<Integer> {
    private static final int MAX_COUNT = 10_000_000;
    private static final int MAX_ROUNDS = 100;
    private static final int MAX_NODES = 9;
    private static final long MAX_FILE = 4L << 30;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "ADDRESS",
            defaultValue = "127.0.0.1",
            description = "Address of this machine at which the replicas listen, for both transports; a kernel device"
                    + " needs that of its network interface (${DEFAULT-VALUE}).")
    private String address;

    @Option(
            names = "--nodes",
            paramLabel = "N",
            defaultValue = "3",
            description = "Nodes, the primary included (${DEFAULT-VALUE}).")
    private int nodes;

    @Option(
            names = "--record",
            paramLabel = "BYTES",
            defaultValue = "64",
            description = "Bytes of a record (${DEFAULT-VALUE}).")
    private ByteSize record;

    @Option(
            names = {"-n", "--count"},
            paramLabel = "N",
            defaultValue = "10000",
            description = "Commits of each kind in a round (${DEFAULT-VALUE}).")
    private int count;

    @Option(
            names = "--warm-up",
            paramLabel = "N",
            defaultValue = "2000",
            description = "Commits before them that do not count (${DEFAULT-VALUE}).")
    private int warmUp;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "3",
            description = "Rounds; the table shows medians of them (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--durability", paramLabel = "memory|disk", description = "Measure only one of them (both).")
    private Durability durability;

    @Option(
            names = "--directory",
            paramLabel = "DIRECTORY",
            defaultValue = ".",
            description = "Where the files of the nodes are made, and removed afterwards. With disk, a directory in"
                    + " memory says little (the current directory).")
    private Path directory;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private void check() {
        WrongUsage.range(spec.commandLine(), "--nodes", nodes, 2, MAX_NODES);
        WrongUsage.range(spec.commandLine(), "--record", record.bytes(), 0, LogFile.MAX_PAYLOAD);
        WrongUsage.range(spec.commandLine(), "--count", count, 1, MAX_COUNT);
        WrongUsage.range(spec.commandLine(), "--warm-up", warmUp, 0, MAX_COUNT);
        WrongUsage.range(spec.commandLine(), "--rounds", rounds, 1, MAX_ROUNDS);
        long size = LogBench.capacity((long) count + warmUp, record.bytes());
        if (size > MAX_FILE) {
            throw new ParameterException(
                    spec.commandLine(),
                    "the file of each node would have " + size + " bytes, and at most " + MAX_FILE
                            + " are allowed: make --count, --warm-up or --record smaller");
        }
        if (!Files.isDirectory(directory)) {
            throw new ParameterException(
                    spec.commandLine(), "--directory must be a directory that exists, not " + directory);
        }
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check();
        InetAddress bind = Sockets.resolve(address, 0).getAddress();
        PrintWriter out = spec.commandLine().getOut();
        out.printf(
                Locale.ROOT,
                "%d nodes, records of %d bytes, %d rounds of %d commits after %d for warm-up%n%n",
                nodes,
                record.bytes(),
                rounds,
                count,
                warmUp);
        out.println(
                "| Durability | Transport | Median, us | 99th percentile, us | Commits a second | Median to RDMA |");
        out.println("|---|---|---:|---:|---:|---:|");
        out.flush();
        try {
            LogBench bench = new LogBench(bind, directory, nodes, count, warmUp, (int) record.bytes());
            for (Durability each : durability == null ? Durability.values() : new Durability[] {durability}) {
                print(each, run(bench, each), out);
            }
            return 0;
        } catch (LogException | VerbsException e) {
            throw new Failure(e.getMessage(), e);
        }
    }

    private Map<LogTransport, List<LogBench.Result>> run(LogBench bench, Durability each)
            throws IOException, InterruptedException {
        Map<LogTransport, List<LogBench.Result>> results = new EnumMap<>(LogTransport.class);
        for (int round = 0; round < rounds; round++) {
            for (LogTransport transport : LogTransport.values()) {
                results.computeIfAbsent(transport, _ -> new ArrayList<>()).add(bench.run(transport, each));
            }
        }
        return results;
    }

    private static void print(Durability each, Map<LogTransport, List<LogBench.Result>> results, PrintWriter out) {
        double base = LogBench.Result.medianOf(results.get(LogTransport.RDMA)).median();
        results.forEach((transport, rounds) -> {
            LogBench.Result result = LogBench.Result.medianOf(rounds);
            out.printf(
                    Locale.ROOT,
                    "| %s | %s | %.1f | %.1f | %.0f | %.2f |%n",
                    each,
                    transport,
                    result.median(),
                    result.high(),
                    result.perSecond(),
                    result.median() / base);
        });
        out.flush();
    }
}
