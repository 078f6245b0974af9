package org.rdmapanama.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceAttributes;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * What one more queue pair or memory region costs, and whether posting and polling becomes slower where there are many.
 */
@Command(
        name = "scale",
        mixinStandardHelpOptions = true,
        description =
                "Make many queue pairs on one completion queue, and many memory regions: what each of them costs, and"
                        + " what posting and polling costs among them.")
public final class Scale implements Callable<Integer> {
    private static final int SLICES = 20;
    private static final int WARM_UP = 32;

    /** Fewer than these are less than what comes and goes in the heap meanwhile. */
    private static final int FEW = 100;

    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Pattern LOCKED = Pattern.compile("^Max locked memory +(\\S+)", Pattern.MULTILINE);

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--queue-pairs",
            split = ",",
            paramLabel = "N",
            defaultValue = "1,16,256,1024",
            description = "How many queue pairs (${DEFAULT-VALUE}).")
    private int[] queuePairs;

    @Option(
            names = "--regions",
            split = ",",
            paramLabel = "N",
            defaultValue = "1,10,100,1000,10000",
            description = "How many memory regions, of 4096 bytes each (${DEFAULT-VALUE}).")
    private int[] regions;

    @Option(
            names = {"-n", "--operations"},
            paramLabel = "N",
            defaultValue = "20000",
            description = "How many writes to post and poll for each number (${DEFAULT-VALUE}).")
    private int operations;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "3",
            description = "How often to measure each number, in turns; the median counts (${DEFAULT-VALUE}).")
    private int rounds;

    /** For picocli. */
    public Scale() {}

    /** Makes the objects in a new arena. */
    @FunctionalInterface
    private interface Maker {
        Population make(VerbsArena arena, Context context, int count);
    }

    /**
     * What was measured of some number of objects.
     *
     * @param create microseconds to create one
     * @param connect microseconds to connect one; 0 where there is nothing to connect
     * @param close microseconds to close one
     * @param garbage bytes of heap allocated to create and connect one, those that stay included
     * @param kept bytes of heap that stay for one; of many only
     * @param operation microseconds to post and poll a write, each by the next one
     * @param same microseconds to do so with one of them only
     */
    record Row(
            int count,
            double create,
            double connect,
            double close,
            double garbage,
            double kept,
            double operation,
            double same) {
        static Row median(List<Row> rows) {
            return new Row(
                    rows.getFirst().count,
                    median(rows, Row::create),
                    median(rows, Row::connect),
                    median(rows, Row::close),
                    median(rows, Row::garbage),
                    median(rows, Row::kept),
                    median(rows, Row::operation),
                    median(rows, Row::same));
        }

        private static double median(List<Row> rows, ToDoubleFunction<Row> value) {
            double[] sorted = rows.stream().mapToDouble(value).sorted().toArray();
            return sorted[sorted.length / 2];
        }

        String line(double smallest) {
            return String.format(
                    Locale.ROOT,
                    "%12d %10.1f %11s %9.1f %16.0f %11s %14.2f %8.2f %12.2f",
                    count,
                    create,
                    connect == 0 ? "-" : String.format(Locale.ROOT, "%.1f", connect),
                    close,
                    garbage,
                    count < FEW ? "-" : String.format(Locale.ROOT, "%.0f", kept),
                    operation,
                    operation / smallest,
                    same);
        }
    }

    /**
     * Measures, and prints two tables.
     *
     * @param arguments options; {@code --help} lists them
     */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Scale()).execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        check("--queue-pairs", queuePairs);
        check("--regions", regions);
        check("--operations", operations);
        check("--rounds", rounds);
        PrintWriter out = spec.commandLine().getOut();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena);
            DeviceAttributes device = context.queryDevice();
            out.printf(
                    "%s: at most %d queue pairs and %d regions; locked memory: %s%n",
                    context.deviceName(), device.maxQueuePairs(), device.maxMemoryRegions(), lockedMemory());
        }
        out.printf(
                "%d RDMA writes of %d bytes for each number, one at a time, each by the next object; median of %d rounds%n",
                operations, OneWrite.BYTES, rounds);
        boolean first = table("queue pairs", queuePairs, QueuePairPopulation::new);
        boolean second = table("regions", regions, RegionPopulation::new);
        return first && second ? 0 : 1;
    }

    private void check(String option, int... values) {
        for (int value : values) {
            if (value < 1) {
                throw new ParameterException(spec.commandLine(), option + " must be at least 1, not " + value);
            }
        }
    }

    private static String lockedMemory() throws IOException {
        Matcher matcher = LOCKED.matcher(Files.readString(LIMITS));
        String limit = matcher.find() ? matcher.group(1) : "unknown";
        return limit.equals("unlimited") ? limit : limit + " bytes (which root may exceed)";
    }

    private boolean table(String title, int[] counts, Maker maker) throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        out.println();
        out.printf(
                "%12s %10s %11s %9s %16s %11s %14s %8s %12s%n",
                title,
                "create us",
                "connect us",
                "close us",
                "heap allocated",
                "heap kept",
                "post+poll us",
                "ratio",
                "same one us");
        out.flush();
        // Until the code is there.
        measure(maker, WARM_UP);
        measure(maker, WARM_UP);
        Map<Integer, List<Row>> measured = new LinkedHashMap<>();
        TooMany end = null;
        for (int round = 0; round < rounds && end == null; round++) {
            for (int count : counts) {
                try {
                    measured.computeIfAbsent(count, c -> new ArrayList<>()).add(measure(maker, count));
                } catch (TooMany e) {
                    end = e;
                    break;
                }
            }
        }
        double smallest = 0;
        for (List<Row> rows : measured.values()) {
            if (!rows.isEmpty()) {
                Row row = Row.median(rows);
                smallest = smallest == 0 ? row.operation : smallest;
                out.println(row.line(smallest));
            }
        }
        if (end != null) {
            out.println("it ends there: " + end.made + " were possible, and then " + end.getMessage());
        }
        out.flush();
        return end == null;
    }

    private Row measure(Maker maker, int count) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Population population = maker.make(arena, Context.open(arena), count);
            long heap = OwnMemory.heap();
            long allocated = OwnMemory.allocated();
            double create = create(population, count);
            long start = System.nanoTime();
            boolean connects = true;
            for (int i = 0; i < count && connects; i++) {
                connects = population.connect(i);
            }
            double connect = connects ? micros(start, count) : 0;
            double garbage = (double) (OwnMemory.allocated() - allocated) / count;
            double kept = (double) (OwnMemory.heap() - heap) / count;

            double[] operation = postAndPoll(population, count);

            start = System.nanoTime();
            for (int i = 0; i < count; i++) {
                population.close(i);
            }
            double close = micros(start, count);
            return new Row(count, create, connect, close, garbage, kept, operation[0], operation[1]);
        }
    }

    private static double create(Population population, int count) {
        long start = System.nanoTime();
        for (int i = 0; i < count; i++) {
            try {
                population.create(i);
            } catch (VerbsException e) {
                throw new TooMany(i, e);
            }
        }
        return micros(start, count);
    }

    /** Microseconds for an operation by the next one each time, and by the same one; both in turns. */
    private double[] postAndPoll(Population population, int count) throws InterruptedException {
        // Once through all of them first, as a program that has run for a while has.
        for (int i = 0; i < count; i++) {
            population.postAndPoll(i);
        }
        double[] next = new double[SLICES];
        double[] same = new double[SLICES];
        int each = Math.ceilDiv(operations, SLICES);
        int index = 0;
        for (int slice = 0; slice < SLICES; slice++) {
            long start = System.nanoTime();
            for (int i = 0; i < each; i++) {
                population.postAndPoll(index);
                index = index + 1 < count ? index + 1 : 0;
            }
            next[slice] = micros(start, each);
            start = System.nanoTime();
            for (int i = 0; i < each; i++) {
                population.postAndPoll(0);
            }
            same[slice] = micros(start, each);
        }
        Arrays.sort(next);
        Arrays.sort(same);
        return new double[] {next[SLICES / 2], same[SLICES / 2]};
    }

    private static double micros(long start, int count) {
        return (System.nanoTime() - start) / 1e3 / count;
    }

    /** The device, or the kernel, allows no further one. */
    private static final class TooMany extends RuntimeException {
        private static final long serialVersionUID = 1L;
        private final int made;

        TooMany(int made, VerbsException cause) {
            super(cause.getMessage(), cause);
            this.made = made;
        }
    }
}
