package org.rdmapanama.samples.log;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.rdmapanama.samples.figures.LatencyRecord;

/** Measures how long commits take with all nodes in this process, one after the other. */
final class LogBench {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int NODE_SPACE = 4096;

    private final InetAddress address;
    private final Path folder;
    private final int nodes;
    private final int count;
    private final int warmUp;
    private final byte[] payload;

    /**
     * Creates it.
     *
     * @param address where the replicas listen
     * @param folder where files are made, in a folder that is removed afterwards
     * @param nodes how many, the primary included
     * @param count the commits that count
     * @param warmUp the commits before them
     * @param record the bytes of a record
     */
    LogBench(InetAddress address, Path folder, int nodes, int count, int warmUp, int record) {
        this.address = address;
        this.folder = folder;
        this.nodes = nodes;
        this.count = count;
        this.warmUp = warmUp;
        payload = new byte[record];
        new Random(record).nextBytes(payload);
    }

    /** Returns the size that the file of each node has. */
    static long capacity(long commits, long record) {
        // Padding included, and room for the header and the record of the term.
        return LogFile.MIN_CAPACITY + NODE_SPACE + commits * (LogFile.RECORD_HEADER + (record + 7) / 8 * 8);
    }

    /**
     * The results of a run.
     *
     * @param median of the times of all commits, in microseconds
     * @param high the 99th percentile, in microseconds
     * @param perSecond commits a second
     */
    record Result(double median, double high, double perSecond) {
        /** Returns the median of each figure. */
        static Result medianOf(List<Result> results) {
            return new Result(
                    median(results.stream().map(Result::median)),
                    median(results.stream().map(Result::high)),
                    median(results.stream().map(Result::perSecond)));
        }

        private static double median(Stream<Double> values) {
            double[] sorted = values.mapToDouble(Double::doubleValue).sorted().toArray();
            int half = sorted.length / 2;
            return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
        }
    }

    Result run(LogTransport transport, Durability durability) throws IOException, InterruptedException {
        Path files = Files.createTempDirectory(folder, "log-bench");
        List<Replica> replicas = new ArrayList<>();
        try {
            long capacity = capacity(warmUp + (long) count, payload.length);
            List<InetSocketAddress> addresses = new ArrayList<>();
            for (int i = 1; i < nodes; i++) {
                Path path = files.resolve("node" + i);
                Replica replica = Replica.start(transport, path, capacity, new InetSocketAddress(address, 0), _ -> {});
                replicas.add(replica);
                addresses.add(new InetSocketAddress(address, replica.address().getPort()));
            }
            Path path = files.resolve("node0");
            try (Primary primary = Primary.takeOver(transport, path, capacity, addresses, durability, TIMEOUT)) {
                awaitAll(primary);
                Result result = measure(primary);
                // Before the primary, so that none complains that it is gone.
                replicas.forEach(Replica::close);
                replicas.clear();
                return result;
            }
        } finally {
            replicas.forEach(Replica::close);
            remove(files);
        }
    }

    private void awaitAll(Primary primary) throws InterruptedException {
        long start = System.nanoTime();
        while (primary.inStep() < nodes) {
            if (System.nanoTime() - start > TIMEOUT.toNanos()) {
                throw new LogException("only " + primary.inStep() + " of " + nodes + " nodes are in step after "
                        + TIMEOUT.toSeconds() + " seconds: see what the log says");
            }
            Thread.sleep(1);
        }
    }

    private Result measure(Primary primary) throws InterruptedException {
        for (int i = 0; i < warmUp; i++) {
            primary.commit(payload, TIMEOUT);
        }
        LatencyRecord times = new LatencyRecord(1);
        long start = System.nanoTime();
        long before = start;
        for (int i = 0; i < count; i++) {
            primary.commit(payload, TIMEOUT);
            long now = System.nanoTime();
            times.record(now - before);
            before = now;
        }
        times.complete();
        if (primary.inStep() < nodes) {
            throw new LogException("a node was lost while this measured, which makes commits faster: run it again");
        }
        return new Result(times.at(50), times.at(99), count * 1e9 / (before - start));
    }

    private static void remove(Path files) throws IOException {
        try (Stream<Path> all = Files.walk(files)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        }
    }
}
