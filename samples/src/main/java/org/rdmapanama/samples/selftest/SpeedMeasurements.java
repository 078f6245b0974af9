package org.rdmapanama.samples.selftest;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.efa.EfaCapability;

/**
 * A short measurement with messages of eight bytes over a reliable transport: in each round, both ways one after the
 * other. It shows the magnitude, and is not a benchmark.
 */
final class SpeedMeasurements {
    private static final int ITERATIONS = 20_000;
    private static final long ROUND_NANOS = 100_000_000;

    // The JVM compiles what ran ten thousand times or so. An emulated device takes too long for that.
    private static final int WARM_UP_ROUNDS = 2;
    private static final long MAX_WARM_UP_NANOS = 1_000_000_000;

    private static final int BURST = 32;
    private static final int BYTES = Long.BYTES;

    /** What is measured. */
    private enum Kind {
        POST("call that posts one %s, of " + BURST + " in a row"),
        EMPTY_POLL("call that polls an empty queue"),
        WRITE("%s: post it, and poll until it is complete"),
        ROUND_TRIP("SEND round trip, both ends in one thread");

        private final String text;

        Kind(String text) {
            this.text = text;
        }
    }

    private final Subject subject;
    private final SelftestReport report;
    private final TestedTransport transport;

    /** A write, or a read where an EFA device cannot write; null if it can do neither. */
    private final TestedOperation operation;

    private final int rounds;

    /**
     * Prepares.
     *
     * @param efa what an EFA device can do; null for others
     * @param rounds how many rounds, 1 or more, of which the median counts
     */
    SpeedMeasurements(
            Subject subject, SelftestReport report, TestedTransport transport, Set<EfaCapability> efa, int rounds) {
        this.subject = subject;
        this.report = report;
        this.transport = transport;
        operation = Stream.of(TestedOperation.RDMA_WRITE, TestedOperation.RDMA_READ)
                .filter(each -> efa == null || each.isPossible(efa))
                .findFirst()
                .orElse(null);
        this.rounds = rounds;
    }

    /** The prepared requests of one way. */
    private final class Runner implements AutoCloseable {
        private final Loopback loopback;
        private final End a;
        private final End b;

        /** RDMA, of transports that take it as a request. */
        private final SendWorkRequest request;

        private final SendWorkRequest sendOfA;
        private final SendWorkRequest sendOfB;
        private final ReceiveWorkRequest receiveOfA;
        private final ReceiveWorkRequest receiveOfB;

        Runner(Way way) throws NotPossible {
            loopback = new Loopback.Options(subject, transport, way).open();
            a = loopback.a;
            b = loopback.b;
            request = operation == null ? null : operation.set(a.request(1, 0, BYTES), b, 0);
            sendOfA = loopback.addressed(a, a.request(1, 0, BYTES).send());
            sendOfB = loopback.addressed(b, b.request(1, 0, BYTES).send());
            receiveOfA = ReceiveWorkRequest.allocate(loopback.arena, 1).add(a.region, 0, BYTES);
            receiveOfB = ReceiveWorkRequest.allocate(loopback.arena, 1).add(b.region, 0, BYTES);
        }

        private void post() {
            if (transport != TestedTransport.SRD) {
                a.queuePair.postSend(request);
                return;
            }
            try (WorkRequestBuilder builder = loopback.start()) {
                builder.id(1).signaled(true);
                operation.build(builder, b, 0);
                loopback.toB(builder);
                builder.add(a.region, 0, BYTES);
                builder.complete();
            }
        }

        private void next(End end) throws CheckFailure, InterruptedException {
            end.await("completion during the measurement");
            if (!end.completions.succeeded(0)) {
                throw new CheckFailure("completion at " + end.name, "SUCCESS", end.completions.describe(0));
            }
        }

        /** Runs a round, and returns nanoseconds per call, operation or round trip. */
        double round(Kind kind, long nanos) throws CheckFailure, InterruptedException {
            long start = System.nanoTime();
            long measured = 0;
            int count = 0;
            while (count < ITERATIONS && System.nanoTime() - start < nanos) {
                measured += burst(kind);
                count += BURST;
            }
            return measured / (double) count;
        }

        private long burst(Kind kind) throws CheckFailure, InterruptedException {
            long start = System.nanoTime();
            long end = 0;
            switch (kind) {
                case POST -> {
                    for (int i = 0; i < BURST; i++) {
                        post();
                    }
                    end = System.nanoTime();
                    for (int i = 0; i < BURST; i++) {
                        next(a);
                    }
                }
                case EMPTY_POLL -> {
                    for (int i = 0; i < BURST; i++) {
                        if (a.queue.poll(a.completions) != 0) {
                            throw new CheckFailure("poll of an empty queue", 0, a.completions.count());
                        }
                    }
                    end = System.nanoTime();
                }
                case WRITE -> {
                    for (int i = 0; i < BURST; i++) {
                        post();
                        next(a);
                    }
                    end = System.nanoTime();
                }
                case ROUND_TRIP -> {
                    for (int i = 0; i < BURST; i++) {
                        roundTrip();
                    }
                    end = System.nanoTime();
                }
            }
            return end - start;
        }

        private void roundTrip() throws CheckFailure, InterruptedException {
            a.queuePair.postReceive(receiveOfA);
            b.queuePair.postReceive(receiveOfB);
            a.queuePair.postSend(sendOfA);
            next(b);
            b.queuePair.postSend(sendOfB);
            // One completion is that of the send, the other that of the receive, at both ends.
            next(a);
            next(a);
            next(b);
        }

        @Override
        public void close() {
            loopback.close();
        }
    }

    /** Measures and writes the table. */
    void run() throws InterruptedException {
        report.table(
                "Median of " + rounds + (rounds == 1 ? " round" : " rounds") + ", in nanoseconds",
                "driver",
                "direct",
                "direct / driver");
        for (Kind kind : Kind.values()) {
            String name = kind.text.formatted(operation == null ? "RDMA" : operation);
            String[] cells = {name, "", "", ""};
            String result = report.result("measurement, " + name, () -> measure(kind, cells));
            if (!result.equals(SelftestReport.PASSED)) {
                cells[1] = result;
            }
            report.row((Object[]) cells);
        }
    }

    private void measure(Kind kind, String[] cells) throws CheckFailure, NotPossible, InterruptedException {
        if (operation == null && (kind == Kind.POST || kind == Kind.WRITE)) {
            throw new NotPossible("the device has neither RDMA WRITE nor RDMA READ");
        }
        try (Runner driver = new Runner(Way.DRIVER)) {
            measure(kind, driver, cells);
        }
    }

    private void measure(Kind kind, Runner driver, String[] cells) throws CheckFailure, InterruptedException {
        Map<Way, Runner> runners = new EnumMap<>(Way.class);
        runners.put(Way.DRIVER, driver);
        try (Runner direct = new Runner(Way.DIRECT)) {
            runners.put(Way.DIRECT, direct);
            Map<Way, Double> medians = measure(kind, runners);
            cells[1] = number("%.0f", medians.get(Way.DRIVER));
            cells[2] = number("%.0f", medians.get(Way.DIRECT));
            cells[3] = number("%.2f", medians.get(Way.DIRECT) / medians.get(Way.DRIVER));
        } catch (NotPossible e) {
            cells[1] = number("%.0f", measure(kind, runners).get(Way.DRIVER));
            cells[2] = "not possible";
        }
    }

    private Map<Way, Double> measure(Kind kind, Map<Way, Runner> runners) throws CheckFailure, InterruptedException {
        Map<Way, double[]> results = new EnumMap<>(Way.class);
        runners.keySet().forEach(way -> results.put(way, new double[rounds]));
        // No longer than what is measured.
        long warmUpNanos = Math.min(rounds * ROUND_NANOS, MAX_WARM_UP_NANOS);
        for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
            for (Map.Entry<Way, Runner> each : runners.entrySet()) {
                double nanos = each.getValue().round(kind, round < 0 ? warmUpNanos : ROUND_NANOS);
                if (round >= 0) {
                    results.get(each.getKey())[round] = nanos;
                }
            }
        }
        Map<Way, Double> medians = new EnumMap<>(Way.class);
        results.forEach((way, values) -> {
            Arrays.sort(values);
            medians.put(way, values[rounds / 2]);
        });
        return medians;
    }

    private static String number(String format, double value) {
        return String.format(Locale.ROOT, format, value);
    }
}
