package org.rdmapanama.samples.collective;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.WrongUsage;
import org.rdmapanama.samples.figures.LatencyRecord;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs one operation, checks it, and measures it. What the commands have in common. */
abstract class Measurement implements Callable<Integer> {
    private static final int MAX_ITERATIONS = 100_000_000;

    @Option(
            names = {"-i", "--iterations"},
            paramLabel = "N",
            defaultValue = "100",
            description = "How many calls to measure (${DEFAULT-VALUE}).")
    private int iterations;

    @Option(
            names = {"-w", "--warm-up"},
            paramLabel = "N",
            defaultValue = "100",
            description = "How many calls to make before (${DEFAULT-VALUE}).")
    private int warmUp;

    @Mixin
    RankOptions ranks;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    final CommandSpec spec() {
        return spec;
    }

    /** Checks the options of a subclass. */
    abstract void check();

    /** Returns the options of a subclass, for the processes to start. */
    List<String> arguments() {
        return List.of();
    }

    /** Returns the first line of the output. */
    abstract String title();

    /** Measures everything that was asked for; only rank 0 has somewhere to print. */
    abstract void measure(Group group, PrintWriter out) throws InterruptedException;

    @Override
    public final Integer call() throws IOException, InterruptedException {
        ranks.check();
        WrongUsage.range(spec.commandLine(), "--iterations", iterations, 1, MAX_ITERATIONS);
        WrongUsage.range(spec.commandLine(), "--warm-up", warmUp, 0, MAX_ITERATIONS);
        check();
        PrintWriter out = spec.commandLine().getOut();
        if (ranks.processes() > 0) {
            List<String> arguments = new ArrayList<>(ranks.arguments());
            arguments.addAll(
                    List.of("--iterations", Integer.toString(iterations), "--warm-up", Integer.toString(warmUp)));
            arguments.addAll(arguments());
            new Processes(spec.name(), arguments, out).run(ranks.processes(), ranks.localHost());
            return 0;
        }
        try (Group group = Group.join(ranks.rank(), ranks.addresses(), ranks.options())) {
            boolean prints = group.rank() == 0;
            if (prints) {
                out.println(title() + ", " + group.size() + (group.size() == 1 ? " rank, " : " ranks, ") + iterations
                        + " calls after " + warmUp + " for warm-up, times of rank 0");
                out.flush();
            }
            measure(group, prints ? out : new PrintWriter(PrintWriter.nullWriter()));
            return 0;
        } catch (CollectiveException e) {
            throw new Failure(e.getMessage(), e);
        }
    }

    /** What is measured. */
    @FunctionalInterface
    interface Operation {
        void run() throws InterruptedException;
    }

    /** Measures calls one after the other, and returns how long they took. */
    final LatencyRecord time(Operation operation) throws InterruptedException {
        for (int i = 0; i < warmUp; i++) {
            operation.run();
        }
        LatencyRecord times = new LatencyRecord(1);
        long before = System.nanoTime();
        for (int i = 0; i < iterations; i++) {
            operation.run();
            long now = System.nanoTime();
            times.record(now - before);
            before = now;
        }
        times.complete();
        return times;
    }

    static String format(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    /** What the operations on vectors have in common. */
    abstract static class OfVectors extends Measurement {
        private static final long MAX_BYTES = 1L << 34;

        @Option(
                names = {"-t", "--type"},
                paramLabel = "float|double",
                defaultValue = "double",
                description = "Type of the elements (${DEFAULT-VALUE}).")
        ElementType type;

        @Option(
                names = {"-c", "--count"},
                paramLabel = "N",
                split = ",",
                defaultValue = "1,128,1024,8192,65536,524288",
                description = "Numbers of elements, with commas (${DEFAULT-VALUE}).")
        private long[] counts;

        /** Makes the call. */
        abstract void run(Group group, Vector vector) throws InterruptedException;

        /** Returns what an element must be after a call, computed from what all ranks had, on this one alone. */
        abstract double expected(Group group, long count, long index);

        /** Returns how much of the size each rank has to send, as nccl-tests define it for the bandwidth of the bus. */
        abstract double busShare(int size);

        @Override
        void check() {
            for (long each : counts) {
                WrongUsage.range(spec().commandLine(), "--count", each, 0, MAX_BYTES / type.bytes());
            }
        }

        @Override
        List<String> arguments() {
            return List.of("--type", type.toString(), "--count", commas(counts));
        }

        private static String commas(long... numbers) {
            return Arrays.stream(numbers).mapToObj(Long::toString).collect(Collectors.joining(","));
        }

        @Override
        final void measure(Group group, PrintWriter out) throws InterruptedException {
            out.println(format(
                    "%12s %10s %12s %12s %15s %10s",
                    "elements", "size", "median us", "99 % us", "algorithm MB/s", "bus MB/s"));
            Vector all = group.allocate(type, Arrays.stream(counts).max().orElse(0));
            for (long count : counts) {
                Vector vector = all.first(count);
                verify(group, vector);
                vector.memory().fill((byte) 0);
                LatencyRecord times = time(() -> run(group, vector));
                verify(group, vector);
                long bytes = count * type.bytes();
                double bandwidth = times.at(50) == 0 ? 0 : bytes / times.at(50);
                out.println(format(
                        "%12d %10s %12.1f %12.1f %15.1f %10.1f",
                        count,
                        ByteSize.format(bytes),
                        times.at(50),
                        times.at(99),
                        bandwidth,
                        bandwidth * busShare(group.size())));
                out.flush();
            }
            out.println("all results are those that one process computes");
            out.flush();
        }

        /** Returns what a rank has before the call: whole numbers, whose sums are exact in any order. */
        static double value(int rank, long index) {
            long mixed = (rank + 1) * 0x9E3779B97F4A7C15L + index * 0xBF58476D1CE4E5B9L;
            mixed ^= mixed >>> 29;
            return Math.floorMod(mixed, 2001L) - 1000.0;
        }

        private void verify(Group group, Vector vector) throws InterruptedException {
            for (long i = 0; i < vector.count(); i++) {
                vector.set(i, value(group.rank(), i));
            }
            run(group, vector);
            for (long i = 0; i < vector.count(); i++) {
                double expected = expected(group, vector.count(), i);
                if (vector.get(i) != expected) {
                    throw new Failure("wrong result: element " + i + " of " + vector.count() + " on rank "
                            + group.rank() + " is " + vector.get(i) + ", and must be " + expected);
                }
            }
        }
    }
}
