package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.LinkOptions;
import org.rdmapanama.samples.Srd;
import org.rdmapanama.samples.figures.Charts;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The options of all tests, with the letters of perftest. */
final class TestOptions {
    private static final long BANDWIDTH_SIZE = 64 << 10;
    private static final long LATENCY_SIZE = 2;
    private static final int ITERATIONS = 1000;
    private static final int WRITE_BANDWIDTH_ITERATIONS = 5000;
    private static final int BANDWIDTH_DEPTH = 128;
    private static final int MODERATION = 100;

    /** Above this size, perftest requests a completion for every message. */
    private static final long MAX_MODERATED = 8192;

    private static final int LARGEST_MTU = 4096;
    private static final int INLINE_WRITE = 220;
    private static final int INLINE_SEND = 236;
    private static final int INLINE_DATAGRAM = 188;
    private static final int INLINE_SRD = 32;

    @Parameters(arity = "0..1", paramLabel = "HOST", description = "Host on which 'rdma perf server' runs.")
    private String host;

    @Option(
            names = {"-c", "--connection"},
            paramLabel = "RC|UC|UD|SRD",
            defaultValue = "RC",
            description =
                    "Reliable or unreliable connection, unreliable datagrams, or SRD, the reliable datagrams of EFA"
                            + " devices (${DEFAULT-VALUE}).")
    private Connection connection;

    @Option(
            names = {"-s", "--size"},
            paramLabel = "SIZE",
            description =
                    "Size of a message, such as 4096 or 64KiB (latency: 2; bandwidth: 64KiB, UD and sends over SRD: the MTU; atomics: 8).")
    private ByteSize size;

    @Option(
            names = {"-a", "--all"},
            description =
                    "Measure all powers of two from 2 bytes to 8 MiB, for UD and sends over SRD up to the MTU; or up to --size"
                            + " if given.")
    private boolean all;

    @Option(
            names = {"-n", "--iters"},
            paramLabel = "N",
            description = "Number of messages to measure, per size and queue pair (1000; write-bw: 5000).")
    private Long iterations;

    @Option(
            names = {"-D", "--duration"},
            paramLabel = "SECONDS",
            description = "Measure for a time instead of a number of messages.")
    private Integer seconds;

    @Option(
            names = "--warmup",
            paramLabel = "SECONDS",
            defaultValue = "2",
            description = "How long to run the first size before measuring, so that the JVM has compiled the code; 0"
                    + " measures from the start (${DEFAULT-VALUE}).")
    private int warmUp;

    @Option(
            names = {"-t", "--tx-depth"},
            paramLabel = "N",
            description = "Number of messages in flight on a queue pair (bandwidth: 128).")
    private Integer txDepth;

    @Option(
            names = {"-r", "--rx-depth"},
            paramLabel = "N",
            defaultValue = "512",
            description = "Number of receives posted on a queue pair (${DEFAULT-VALUE}).")
    private int rxDepth;

    @Option(
            names = {"-q", "--qps"},
            paramLabel = "N",
            defaultValue = "1",
            description = "Number of queue pairs, all on one completion queue; for bandwidth (${DEFAULT-VALUE}).")
    private int queuePairs;

    @Option(
            names = "--post-list",
            paramLabel = "N",
            defaultValue = "1",
            description = "Number of messages to post at once; for bandwidth (${DEFAULT-VALUE}).")
    private int postList;

    @Option(
            names = {"-Q", "--cq-mod", "--signaled-every"},
            paramLabel = "N",
            description =
                    "Request a completion for one of every N messages; for bandwidth (100, but at least one per 64 MiB;"
                            + " with a post list, its length; 1 with --rate and over SRD, and above 8 KiB unless"
                            + " with --all, --events or UD).")
    private Integer moderation;

    @Option(
            names = {"-I", "--inline"},
            paramLabel = "BYTES",
            description =
                    "Copy messages up to this size when they are posted (write-lat: 220, send-lat: 236, UD: 188, SRD: 32, or"
                            + " less if the device supports less; bandwidth: 0).")
    private Integer inline;

    @Option(
            names = {"-e", "--events"},
            description = "Sleep until a completion event, instead of polling; not for write-lat.")
    private boolean events;

    @Option(
            names = {"-b", "--bidirectional", "--duplex"},
            description = "Send from both sides, and report the sum; for bandwidth.")
    private boolean bidirectional;

    @Option(
            names = {"-o", "--outs"},
            paramLabel = "N",
            description = "Number of reads and atomics in flight on a queue pair (the device's limit).")
    private Integer outstanding;

    @Option(
            names = {"-m", "--mtu"},
            paramLabel = "BYTES",
            description = "Path MTU: 256, 512, 1024, 2048 or 4096 (that of the port).")
    private Integer mtu;

    @Option(
            names = {"-A", "--atomic"},
            paramLabel = "KIND",
            description = "Atomic operation: FETCH_AND_ADD or CMP_AND_SWAP (FETCH_AND_ADD).")
    private AtomicKind atomic;

    @Option(
            names = "--rate",
            paramLabel = "N",
            description =
                    "Limit the number of operations per second, of all queue pairs together. Latencies then count from"
                            + " the time at which each operation was due, so that a slow one does not hide the delay of"
                            + " those behind it.")
    private Integer rate;

    @Option(
            names = {"-F", "--format"},
            paramLabel = "text|json|csv",
            defaultValue = "text",
            description = "Output format (${DEFAULT-VALUE}).")
    private Format format;

    @Option(
            names = "--plot",
            paramLabel = "FILE.svg",
            description = "Also plot the results: the latency distribution, or with --all a curve over the size.")
    private Path plot;

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    /** Runs a test against a server and prints the results. */
    int run(TestKind kind, LinkOptions link) throws IOException, InterruptedException {
        measure(kind, link, Report.of(format, spec.commandLine().getOut()));
        return 0;
    }

    /** Runs a test against a server and reports the results. */
    List<Result> measure(TestKind kind, LinkOptions link, Report report) throws IOException, InterruptedException {
        link.check();
        checkGiven(kind, link);
        // Checks what can be checked without the device; sizes may still be missing.
        boolean packets = connection.isLimitedToPackets(kind.operation);
        complain(settings(kind, packets ? LARGEST_MTU : TestSettings.MAX_OF_ALL, 1), link);
        if (host == null) {
            throw link.wrong("give HOST, where 'rdma perf server' runs");
        }
        Charts.check(plot);
        TestSide.check(link.device());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = link.open(arena);
            int portMtu = Math.min(
                    mtu == null ? Integer.MAX_VALUE : mtu,
                    context.queryPort(link.devicePort()).activeMtu().bytes());
            TestSettings settings = settings(kind, packets ? portMtu : TestSettings.MAX_OF_ALL, portMtu);
            complain(settings, link);
            checkSize(context, kind.operation, settings.size(), portMtu, link);
            String device = link.device().name();
            List<Result> results = new PerfClient(link, host)
                    .run(arena, context, settings, () -> report.begin(settings, device), report::add);
            report.end();
            if (plot != null) {
                Plot.draw(plot, settings, results);
            }
            return results;
        }
    }

    private void checkSize(Context context, Operation operation, long bytes, int portMtu, LinkOptions link) {
        long largest = context.queryPort(link.devicePort()).maxMessageSize();
        String name = "the port's largest message";
        if (connection == Connection.UD) {
            largest = portMtu;
            name = "the MTU";
        } else if (connection == Connection.SRD) {
            long rdma = Srd.of(context).maxRdmaBytes();
            // Without RDMA there is a better message later.
            if (operation.isOneSided() && rdma > 0) {
                largest = rdma;
                name = "the device's largest RDMA read or write";
            }
        }
        if (bytes > largest) {
            throw link.wrong("--size must be between 1 byte and " + ByteSize.format(largest) + ", " + name + ", not "
                    + ByteSize.format(bytes));
        }
    }

    private static void complain(TestSettings settings, LinkOptions link) {
        String problem = settings.problem();
        if (problem != null) {
            throw link.wrong(problem);
        }
    }

    /** Rejects options that the test does not use, or that exclude each other. */
    private void checkGiven(TestKind kind, LinkOptions link) {
        Operation operation = kind.operation;
        if (iterations != null && seconds != null) {
            throw link.wrong("--iters and --duration exclude each other");
        }
        if (seconds != null) {
            link.range("--duration", seconds, 1, TestSettings.MAX_SECONDS);
        }
        if (rate != null) {
            link.range("--rate", rate, 1, TestSettings.MAX_RATE);
        }
        if (atomic != null && operation != Operation.ATOMIC) {
            throw link.wrong("--atomic is for atomic-lat and atomic-bw");
        }
        if (outstanding != null) {
            link.range("--outs", outstanding, 1, 255);
            if (!operation.answers()) {
                throw link.wrong("--outs is for reads and atomics");
            }
        }
        if (mtu != null) {
            try {
                Mtu.ofBytes(mtu);
            } catch (IllegalArgumentException e) {
                throw link.wrong(e.getMessage());
            }
        }
        if (plot != null && !kind.latency && !all && rate == null) {
            throw link.wrong("--plot draws bandwidth over the size, which needs --all, or the latencies of a bandwidth"
                    + " test, which needs --rate");
        }
    }

    /** Returns the settings, with the defaults that depend on other options. */
    private TestSettings settings(TestKind kind, long maxOfAll, int portMtu) {
        boolean latency = kind.latency;
        long bytes = size != null
                ? size.bytes()
                : kind.operation == Operation.ATOMIC
                        ? TestSettings.ATOMIC_SIZE
                        : all
                                ? maxOfAll
                                : latency
                                        ? LATENCY_SIZE
                                        : connection.isLimitedToPackets(kind.operation) ? portMtu : BANDWIDTH_SIZE;
        long count =
                iterations != null ? iterations : kind == TestKind.WRITE_BW ? WRITE_BANDWIDTH_ITERATIONS : ITERATIONS;
        if (iterations == null && postList > 1) {
            count = Math.max(1, count / postList) * postList;
        }
        int depth = txDepth != null ? txDepth : latency ? 1 : BANDWIDTH_DEPTH;
        return new TestSettings(
                kind,
                connection,
                bytes,
                all,
                count,
                seconds == null ? 0 : seconds,
                warmUp,
                depth,
                rxDepth,
                queuePairs,
                postList,
                moderation != null ? moderation : latency ? 1 : moderation(bytes, depth),
                inline != null ? inline : latency ? inlineOf(kind.operation) : 0,
                inline == null,
                events,
                bidirectional,
                outstanding == null ? 0 : outstanding,
                mtu == null ? 0 : mtu,
                atomic == null ? AtomicKind.FETCH_AND_ADD : atomic,
                rate == null ? 0 : rate);
    }

    private int moderation(long bytes, int depth) {
        boolean large = bytes > MAX_MODERATED && connection != Connection.UD && !all && !events;
        if (connection == Connection.SRD || rate != null || (large && postList == 1)) {
            return 1;
        }
        if (postList > 1) {
            return postList;
        }
        // With --all, each size has a separate limit.
        long silent = all ? MODERATION : Math.max(1, Bandwidth.MAX_SILENT_BYTES / Math.max(1, bytes));
        return Math.clamp(Math.min(depth, silent), 1, MODERATION);
    }

    private int inlineOf(Operation operation) {
        return switch (operation) {
            case WRITE -> connection == Connection.SRD ? 0 : INLINE_WRITE;
            case SEND ->
                switch (connection) {
                    case RC, UC -> INLINE_SEND;
                    case UD -> INLINE_DATAGRAM;
                    case SRD -> INLINE_SRD;
                };
            case READ, ATOMIC -> 0;
        };
    }
}
