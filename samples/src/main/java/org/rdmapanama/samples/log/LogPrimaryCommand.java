package org.rdmapanama.samples.log;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.WrongUsage;
import org.rdmapanama.samples.figures.LatencyRecord;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Runs a primary. */
@Command(
        name = "primary",
        description = {
            "Take over the log, append each line of the input, and print its index once it is committed.",
            "A former primary that still runs cannot commit anything afterwards.",
        },
        sortOptions = false)
final class LogPrimaryCommand implements Callable<Integer> {
    private static final int MAX_COUNT = 100_000_000;
    private static final int MAX_SECONDS = 1_000_000;
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final int WARM_UP = 1000;

    @Parameters(
            index = "0",
            paramLabel = "FILE",
            description = "File of this node, which is made if it does not exist.")
    private Path path;

    @Parameters(
            index = "1..*",
            arity = "1..*",
            paramLabel = "HOST[:PORT]",
            description = "All other nodes, as replicas (port " + LogReplicaCommand.PORT + ").")
    private List<String> hosts;

    @Option(
            names = "--durability",
            paramLabel = "memory|disk",
            defaultValue = "memory",
            description = "When a node has a record: once it is in its memory, where it survives that the process is"
                    + " killed, or once it is on its disk, where it survives a power failure (${DEFAULT-VALUE}).")
    private Durability durability;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            defaultValue = LogReplicaCommand.SIZE,
            description = "Size of the file, if it is made: the same on all nodes (${DEFAULT-VALUE}).")
    private ByteSize size;

    @Option(names = "--tcp", description = "Use TCP instead of RDMA, for comparison: all nodes or none.")
    private boolean tcp;

    @Option(
            names = {"-n", "--count"},
            paramLabel = "N",
            description = "Append N generated records instead, one after the other, and print how long commits take.")
    private Integer count;

    @Option(
            names = "--record",
            paramLabel = "BYTES",
            defaultValue = "64",
            description = "Bytes of a generated record (${DEFAULT-VALUE}).")
    private ByteSize record;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "30",
            description = "Give up when there is no majority to take over with this long (${DEFAULT-VALUE}).")
    private int timeoutSeconds;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private List<InetSocketAddress> addresses() {
        return hosts.stream()
                .map(each -> WrongUsage.address(spec.commandLine(), each, LogReplicaCommand.PORT))
                .toList();
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (count != null) {
            WrongUsage.range(spec.commandLine(), "--count", count, 1, MAX_COUNT);
        }
        if (record.bytes() > LogFile.MAX_PAYLOAD) {
            throw wrong("--record must be at most " + LogFile.MAX_PAYLOAD + " bytes, not " + record.bytes());
        }
        WrongUsage.range(spec.commandLine(), "--timeout", timeoutSeconds, 1, MAX_SECONDS);
        LogReplicaCommand.check(size, spec);
        PrintWriter out = spec.commandLine().getOut();
        try (Primary primary = Primary.takeOver(
                LogTransport.of(tcp),
                path,
                size.bytes(),
                addresses(),
                durability,
                Duration.ofSeconds(timeoutSeconds))) {
            out.println("primary of term " + primary.term() + ", with " + primary.committed() + " committed records");
            out.flush();
            if (count != null) {
                measure(primary, out);
            } else {
                appendLines(primary, out);
            }
            return 0;
        } catch (LogException e) {
            throw new Failure(e.getMessage(), e);
        }
    }

    private void appendLines(Primary primary, PrintWriter out) throws InterruptedException {
        BlockingQueue<Optional<String>> lines = new ArrayBlockingQueue<>(1);
        // Reading cannot be interrupted, and Ctrl-C must end this.
        Thread.ofPlatform().daemon().name("log-input").start(() -> read(lines));
        for (Optional<String> line = lines.take(); line.isPresent(); line = lines.take()) {
            long index = primary.append(line.get().getBytes(StandardCharsets.UTF_8));
            await(primary, index);
            out.println(index);
            out.flush();
        }
    }

    private static void read(BlockingQueue<Optional<String>> lines) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.put(Optional.of(line));
            }
            lines.put(Optional.empty());
        } catch (IOException e) {
            lines.offer(Optional.empty());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for a record as long as it takes, and says so now and then. */
    private void await(Primary primary, long index) throws InterruptedException {
        while (primary.committed() < index) {
            try {
                primary.awaitCommitted(index, PATIENCE);
            } catch (FencedException e) {
                throw e;
            } catch (LogException e) {
                if (primary.hasStopped()) {
                    throw e;
                }
                PrintWriter err = spec.commandLine().getErr();
                err.println("rdma log primary: " + e.getMessage());
                err.flush();
            }
        }
    }

    private void measure(Primary primary, PrintWriter out) throws InterruptedException {
        byte[] payload = new byte[(int) record.bytes()];
        new Random(count).nextBytes(payload);
        int warmUp = Math.min(WARM_UP, count);
        for (int i = 0; i < warmUp; i++) {
            await(primary, primary.append(payload));
        }
        LatencyRecord times = new LatencyRecord(1);
        long start = System.nanoTime();
        long before = start;
        for (int i = 0; i < count; i++) {
            await(primary, primary.append(payload));
            long now = System.nanoTime();
            times.record(now - before);
            before = now;
        }
        times.complete();
        out.printf(
                Locale.ROOT,
                "%d records of %d bytes in %s, after %d for warm-up: median %.1f us, 99th percentile %.1f us, %.0f a second%n",
                count,
                payload.length,
                durability,
                warmUp,
                times.at(50),
                times.at(99),
                count * 1e9 / (before - start));
        out.flush();
    }
}
