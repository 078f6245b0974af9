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
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.device.DeviceAttributes;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Measures the cost of one more queue pair or memory region, and whether many of them slow down posting and polling.
 */
@Command(
        name = "bin/bench scale",
        mixinStandardHelpOptions = true,
        description =
                "Create many queue pairs on one completion queue, and many memory regions, and measure the cost of each"
                        + " and that of posting and polling among them.")
public final class Scale implements Callable<Integer> {
    private static final int SLICES = 20;
    private static final int WARM_UP = 32;

    /** The heap use of fewer objects than this is lost in the noise. */
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
            description = "Numbers of queue pairs to create (${DEFAULT-VALUE}).")
    private int[] queuePairs;

    @Option(
            names = "--regions",
            split = ",",
            paramLabel = "N",
            defaultValue = "1,10,100,1000,10000",
            description = "Numbers of memory regions to create, of 4096 bytes each (${DEFAULT-VALUE}).")
    private int[] regions;

    @Option(
            names = {"-n", "--operations"},
            paramLabel = "N",
            defaultValue = "20000",
            description = "Number of writes to post and poll for each number of objects (${DEFAULT-VALUE}).")
    private int operations;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "3",
            description = "Number of rounds in which to measure each number; the medians count (${DEFAULT-VALUE}).")
    private int rounds;

    /** For picocli. */
    public Scale() {}

    /** Creates the objects in a new arena. */
    @FunctionalInterface
    private interface Maker {
        Population make(VerbsArena arena, Context context, int count);
    }

    /**
     * The measurements for one number of objects.
     *
     * @param create microseconds to create an object
     * @param connect microseconds to connect an object; 0 if there is nothing to connect
     * @param close microseconds to close an object
     * @param garbage bytes of heap allocated to create and connect an object, including those that stay
     * @param kept bytes of heap that stay per object; only meaningful for many
     * @param operation microseconds to post and poll a write that uses the next object each time
     * @param same microseconds to do so with the same object each time
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
     * Runs the measurement, and prints two tables.
     *
     * @param arguments options; {@code --help} lists them
     */
    public static void main(String[] arguments) {
        System.exit(new Scale().commandLine().execute(arguments));
    }

    CommandLine commandLine() {
        return new CommandLine(this).setParameterExceptionHandler(new ShortUsageErrors());
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
                "%d RDMA writes of %d bytes for each number, one at a time, each with the next object; medians of %d"
                        + " rounds%n",
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
        // Until the code is compiled.
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
            out.println("stopped after " + end.made + " of them: " + end.getMessage());
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

    /** Measures an operation with the next object and with the same object each time, in turns; in microseconds. */
    private double[] postAndPoll(Population population, int count) throws InterruptedException {
        // Uses each object once first, as a program has that has run for a while.
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

    /** The device or the kernel does not allow another object. */
    private static final class TooMany extends RuntimeException {
        private static final long serialVersionUID = 1L;
        private final int made;

        TooMany(int made, VerbsException cause) {
            super(cause.getMessage(), cause);
            this.made = made;
        }
    }
}
