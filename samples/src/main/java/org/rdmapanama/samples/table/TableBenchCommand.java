package org.rdmapanama.samples.table;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Measures gets. */
@Command(
        name = "bench",
        description = {
            "Measure gets by RDMA READ, by asking the server over RDMA and, with --tcp, over TCP, in turn.",
            "Fills the table of the server with keys of its own first.",
        },
        sortOptions = false)
final class TableBenchCommand implements Callable<Integer> {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int MAX_THREADS = 32;
    private static final int MAX_SECONDS = 3600;
    private static final int MAX_ROUNDS = 100;
    private static final int MAX_KEYS = 1 << 20;

    @Parameters(index = "0", paramLabel = "HOST[:PORT]", description = "The server (port " + TableCommand.PORT + ").")
    private String host;

    @Option(
            names = "--readers",
            paramLabel = "N",
            defaultValue = "1",
            description = "Threads that get random keys, each with a connection (${DEFAULT-VALUE}).")
    private int readers;

    @Option(
            names = "--writers",
            paramLabel = "N",
            defaultValue = "0",
            description = "Threads that set random keys meanwhile, as fast as they can (${DEFAULT-VALUE}).")
    private int writers;

    @Option(
            names = "--keys",
            paramLabel = "N",
            defaultValue = "1000",
            description = "Keys in the table (${DEFAULT-VALUE}).")
    private int keys;

    @Option(
            names = "--value",
            paramLabel = "BYTES",
            defaultValue = "64",
            description = "Size of a value (${DEFAULT-VALUE}).")
    private ByteSize value;

    @Option(
            names = "--seconds",
            paramLabel = "N",
            defaultValue = "2",
            description = "How long each way is measured in a round (${DEFAULT-VALUE}).")
    private int seconds;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "3",
            description = "Rounds; the table shows medians of them (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--tcp",
            paramLabel = "PORT",
            description = "Also ask over TCP, at this port: that of 'rdma table serve --tcp'.")
    private Integer tcpPort;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException, IOException {
        WrongUsage.range(spec.commandLine(), "--readers", readers, 1, MAX_THREADS);
        WrongUsage.range(spec.commandLine(), "--writers", writers, 0, MAX_THREADS);
        WrongUsage.range(spec.commandLine(), "--keys", keys, 1, MAX_KEYS);
        WrongUsage.range(spec.commandLine(), "--seconds", seconds, 1, MAX_SECONDS);
        WrongUsage.range(spec.commandLine(), "--rounds", rounds, 1, MAX_ROUNDS);
        InetSocketAddress server = WrongUsage.address(spec.commandLine(), host, TableCommand.PORT);
        InetSocketAddress tcp = null;
        if (tcpPort != null) {
            WrongUsage.range(spec.commandLine(), "--tcp", tcpPort, 1, 65535);
            tcp = new InetSocketAddress(server.getAddress(), tcpPort);
        }
        PrintWriter out = spec.commandLine().getOut();
        try (VerbsArena arena = VerbsArena.ofShared();
                TableClient client = TableClient.connect(arena, server, TIMEOUT)) {
            int most = client.geometry().maxEntry() - BenchKeys.BYTES;
            if (value.bytes() > most) {
                throw new ParameterException(
                        spec.commandLine(),
                        "--value must be at most " + most + " bytes with the slots of the server, not "
                                + value.bytes());
            }
            BenchKeys names = new BenchKeys(keys, (int) value.bytes());
            names.putAll(client);
            TableBench bench = new TableBench(client, arena, server, tcp, TIMEOUT, names, readers, writers);
            out.printf(
                    Locale.ROOT,
                    "%d keys, values of %d bytes, %d READ bytes a get, %d readers, %d writers, %d rounds of %d s%n%n",
                    keys,
                    value.bytes(),
                    client.geometry().windowBytes(),
                    readers,
                    writers,
                    rounds,
                    seconds);
            out.println(BenchResult.HEADING);
            out.flush();
            List<List<BenchResult>> results = new ArrayList<>();
            List<TableBench.Way> ways = bench.ways();
            ways.forEach(_ -> results.add(new ArrayList<>()));
            for (int round = 0; round < rounds; round++) {
                for (int i = 0; i < ways.size(); i++) {
                    results.get(i).add(bench.run(ways.get(i), Duration.ofSeconds(seconds)));
                }
            }
            for (int i = 0; i < ways.size(); i++) {
                out.println(BenchResult.line(ways.get(i).text(), results.get(i)));
            }
            out.println();
            out.println("'server us' is the processor time of the server's process for each get"
                    + (writers == 0 ? "." : ", its work for the writers included."));
            out.flush();
            return 0;
        } catch (TableException e) {
            throw new Failure(e.getMessage(), e);
        }
    }
}
