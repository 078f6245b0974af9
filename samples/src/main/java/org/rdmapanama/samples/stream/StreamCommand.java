package org.rdmapanama.samples.stream;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import org.rdmapanama.rsocket.RSocketProvider;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Sockets;
import org.rdmapanama.samples.figures.Charts;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** Measures sockets, as rstream of librdmacm does. */
@Command(
        name = "stream",
        description = {
            "Measure sockets over RDMA, or over TCP: round trips and bandwidth.",
            "Takes the options of the C program rstream, which may be the other side. Both sides need the same -I, -C,"
                    + " -S, and -T verify. A server ends when it has served one client.",
        },
        sortOptions = false,
        footerHeading = "%nExample:%n",
        footer = {
            "  rdma stream                               on the host named left",
            "  rdma stream -s left -T b                  on another: calls that block",
            "  rdma stream -s left -S all --plot a.svg   every size, with charts",
            "  rdma stream -s left -T s                  the same over TCP, for comparison",
        })
public final class StreamCommand implements Callable<Integer> {
    private static final int DEFAULT_BUFFER = 1 << 19;
    private static final int DEFAULT_COUNT = 1000;
    private static final int MAX_BUFFER = 1 << 30;
    private static final int MAX_COUNT = 1_000_000_000;
    private static final int MAX_INLINE = 65534;
    private static final int MAX_SECONDS = 32767;
    private static final String ALL = "all";

    @Option(
            names = {"-s", "--server"},
            paramLabel = "HOST",
            description = "Run as the client of the server at this host.")
    private String server;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "ADDRESS",
            description = "Local address (server: all; client: a matching one).")
    private String bind;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = "7471",
            description = "The server's port (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "SIZE|all",
            description =
                    "Bytes of a transfer; 'all' tests every size from 64 B to 6 MiB instead of 64 B, 4 KiB, 64 KiB and"
                            + " 1 MiB.")
    private String size;

    @Option(
            names = {"-C", "--transfers"},
            paramLabel = "N",
            description = "Transfers in a row before the other side sends (1000, if -S or -I is given).")
    private Integer transfers;

    @Option(
            names = {"-I", "--iterations"},
            paramLabel = "N",
            description = "How often to repeat this (1). With -C 1 it is a ping-pong.")
    private Integer iterations;

    @Option(
            names = {"-B", "--buffer-size"},
            paramLabel = "SIZE",
            description = "Size of the send and of the receive buffer (512 KiB).")
    private ByteSize bufferSize;

    @Option(
            names = {"-i", "--inline-size"},
            paramLabel = "BYTES",
            defaultValue = "64",
            description = "The largest message that is sent inline in tests of latency (${DEFAULT-VALUE}).")
    private int inlineSize;

    @Option(
            names = {"-k", "--keepalive"},
            paramLabel = "SECONDS",
            description = "Ask a silent peer this often whether it is there.")
    private Integer keepAlive;

    @Option(
            names = {"-T", "--test"},
            paramLabel = "OPTION",
            description = {
                "s|sockets      TCP instead of RDMA",
                "b|blocking     calls that block",
                "n|nonblocking  calls that return at once (default)",
                "a|async        a selector that spins, or sleeps with 'b'",
                "v|verify       verify the data",
                "May be given several times.",
            })
    private List<String> testOptions = List.of();

    @Option(
            names = "--plot",
            paramLabel = "FILE.svg",
            description =
                    "Also plot the results: round trips to FILE.svg and bandwidth to FILE-bw.svg, over the size; the"
                            + " distribution of a ping-pong of one size.")
    private Path plot;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    /** For picocli. */
    public StreamCommand() {}

    @Override
    public Integer call() throws IOException, InterruptedException {
        Set<TestOption> chosen = EnumSet.noneOf(TestOption.class);
        for (String each : testOptions) {
            chosen.add(TestOption.parse(each).orElseThrow(() -> wrong(TestOption.unknown(each))));
        }
        checkNumbers();
        StreamSettings settings = new StreamSettings(
                server,
                bind,
                port,
                rounds(),
                bufferSize == null ? DEFAULT_BUFFER : (int) bufferSize.bytes(),
                keepAlive,
                chosen.contains(TestOption.SOCKETS) ? SelectorProvider.provider() : RSocketProvider.instance(),
                TestOption.calls(chosen),
                chosen.contains(TestOption.VERIFY));
        Charts.check(plot);
        if (plot != null && settings.rounds().getFirst().tests().stream().noneMatch(StreamTest::isPingPong)) {
            throw wrong("--plot draws the latencies of one size, which needs --transfers 1, or every size");
        }
        PrintWriter out = spec.commandLine().getOut();
        List<StreamResult> results = new StreamSession(settings, out).run();
        if (plot != null) {
            StreamPlot.draw(plot, settings, results);
        }
        return 0;
    }

    private void checkNumbers() {
        if (!Sockets.isPort(port)) {
            throw wrong(Sockets.notAPort(port));
        }
        checkRange("--inline-size", inlineSize, 0, MAX_INLINE);
        checkRange("--keepalive", keepAlive, 1, MAX_SECONDS);
        checkRange("--transfers", transfers, 1, MAX_COUNT);
        checkRange("--iterations", iterations, 1, MAX_COUNT);
        if (bufferSize != null && (bufferSize.bytes() < 1 || bufferSize.bytes() > MAX_BUFFER)) {
            throw wrong("--buffer-size must be between 1 B and 1 GiB, not " + bufferSize);
        }
    }

    private void checkRange(String option, Integer value, int least, int most) {
        if (value != null && (value < least || value > most)) {
            throw wrong(option + " must be between " + least + " and " + most + ", not " + value);
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /** Each list of tests has a connection of its own. */
    private List<StreamRound> rounds() {
        boolean all = ALL.equalsIgnoreCase(size);
        if (transfers == null && iterations == null && (size == null || all)) {
            List<Integer> sizes = StreamTest.sizes(all);
            return List.of(
                    new StreamRound(sizes.stream().map(StreamTest::latency).toList(), inlineSize),
                    new StreamRound(sizes.stream().map(StreamTest::bandwidth).toList(), 0));
        }
        if (all) {
            throw wrong("'--size all' has its own numbers of transfers: leave out --transfers and --iterations");
        }
        StreamTest test = new StreamTest(
                "custom",
                size == null ? DEFAULT_COUNT : bytes(),
                Objects.requireNonNullElse(transfers, DEFAULT_COUNT),
                Objects.requireNonNullElse(iterations, 1));
        return List.of(new StreamRound(List.of(test), null));
    }

    private int bytes() {
        try {
            long bytes = ByteSize.parse(size).bytes();
            if (bytes >= 1 && bytes <= MAX_BUFFER) {
                return (int) bytes;
            }
        } catch (TypeConversionException e) {
            throw new ParameterException(spec.commandLine(), "--size: " + e.getMessage() + ", or all", e);
        }
        throw wrong("--size must be between 1 B and 1 GiB, or all, not " + size);
    }
}
