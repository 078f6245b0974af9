package org.rdmapanama.bench;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Posts and polls several million operations, checks the data they move, and fails if the thread allocates or the
 * process grows.
 */
@Command(
        name = "bin/bench soak",
        mixinStandardHelpOptions = true,
        description =
                "Post and poll several million sends, writes, reads and atomics. Fails if the loop allocates a byte, or"
                        + " if the process grows.")
public final class Soak implements Callable<Integer> {
    private static final int ROUNDS_AT_ONCE = 100;
    private static final double MEBIBYTE = 1 << 20;

    @Spec
    private CommandSpec spec;

    @Option(
            names = {"-n", "--operations"},
            defaultValue = "10000000",
            description = "Number of operations to post (${DEFAULT-VALUE}).")
    private long operations;

    @Option(
            names = "--warmup",
            defaultValue = "100000",
            description = "Number of operations to post before that, as a warm-up (${DEFAULT-VALUE}).")
    private long warmUp;

    @Option(
            names = "--verify-every",
            defaultValue = "10000",
            description = "Check every byte once in this number of operations; the first 8 of each are always checked"
                    + " (${DEFAULT-VALUE}).")
    private long verifyEvery;

    @Option(
            names = "--interval",
            defaultValue = "5",
            description = "Seconds between two lines of output (${DEFAULT-VALUE}).")
    private int interval;

    @Option(
            names = "--growth",
            defaultValue = "4",
            description = "How much the process may grow, including its heap, in MiB (${DEFAULT-VALUE}).")
    private int growth;

    /** Work that a test does during the measured part, and between measured parts. */
    private final Runnable inside;

    private final Runnable between;

    private final CommandLine.IExecutionExceptionHandler oneLine = (failure, command, parsed) -> {
        command.getErr().println("bin/bench soak: " + (failure.getMessage() == null ? failure : failure.getMessage()));
        command.getErr().flush();
        return 1;
    };

    private long allocated;
    private long start;
    private long residentAtFirst;
    private long heapAtFirst;
    private long verifications;

    /** For picocli. */
    public Soak() {
        this(() -> {}, () -> {});
    }

    /** Creates a soak with additional work, for tests: during the measured part, and between measured parts. */
    Soak(Runnable inside, Runnable between) {
        this.inside = inside;
        this.between = between;
    }

    /**
     * Runs the soak. Status 1 means that it allocated, grew or failed.
     *
     * @param arguments options; {@code --help} lists them
     */
    public static void main(String[] arguments) {
        System.exit(new Soak().commandLine().execute(arguments));
    }

    CommandLine commandLine() {
        return new CommandLine(this)
                .setExecutionExceptionHandler(oneLine)
                .setParameterExceptionHandler(new ShortUsageErrors());
    }

    @Override
    public Integer call() throws InterruptedException {
        atLeast("--operations", operations, 1);
        atLeast("--warmup", warmUp, 0);
        atLeast("--verify-every", verifyEvery, 1);
        atLeast("--interval", interval, 1);
        atLeast("--growth", growth, 0);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena);
            SoakTraffic traffic = new SoakTraffic(arena, context);
            say(
                    "%d operations on %s: sends, writes, reads and atomics of RC, %d at a time",
                    operations, context.deviceName(), SoakTraffic.OPERATIONS_IN_A_ROUND);
            start = System.nanoTime();
            run(traffic, warmUp);
            allocated = 0;
            // This line loads all code that a line needs; the next one is the reference for the others.
            print(traffic.operations());
            residentAtFirst = OwnMemory.resident();
            heapAtFirst = OwnMemory.heap();
            say("  warmed up");
            start = System.nanoTime();
            long before = traffic.operations();
            run(traffic, operations);
            long done = traffic.operations() - before;
            print(done);
            checkGrowth();
            say(
                    "%d operations in %s, every byte checked %d times: no byte allocated, resident memory %+.1f MiB,"
                            + " heap %+.2f MiB",
                    done, seconds(), verifications, grown(), heapGrown());
            return 0;
        }
    }

    private void atLeast(String option, long value, long min) {
        if (value < min) {
            throw new ParameterException(spec.commandLine(), option + " must be at least " + min + ", not " + value);
        }
    }

    private void run(SoakTraffic traffic, long count) throws InterruptedException {
        long first = traffic.operations();
        long nextVerification = first + verifyEvery;
        long nextLine = System.nanoTime() + Duration.ofSeconds(interval).toNanos();
        long left = count;
        while (left > 0) {
            int rounds =
                    (int) Math.clamp(Math.ceilDiv(left, SoakTraffic.OPERATIONS_IN_A_ROUND), 1L, (long) ROUNDS_AT_ONCE);
            long before = OwnMemory.allocated();
            traffic.run(rounds);
            inside.run();
            allocated += OwnMemory.allocated() - before;
            between.run();
            if (traffic.operations() >= nextVerification) {
                traffic.verify();
                verifications++;
                nextVerification = traffic.operations() + verifyEvery;
            }
            long done = traffic.operations() - first;
            left = count - done;
            if (residentAtFirst != 0 && left > 0 && System.nanoTime() >= nextLine) {
                print(done);
                checkGrowth();
                nextLine = System.nanoTime() + Duration.ofSeconds(interval).toNanos();
            }
        }
        traffic.verify();
        verifications++;
    }

    private void print(long done) {
        say(
                "  %12d  %10s  %7.1f us each  %d B allocated  heap %.2f MiB  resident %.1f MiB",
                done,
                seconds(),
                (System.nanoTime() - start) / 1e3 / done,
                allocated,
                OwnMemory.heap() / MEBIBYTE,
                OwnMemory.resident() / MEBIBYTE);
    }

    private void checkGrowth() {
        if (allocated > 0) {
            throw new IllegalStateException("posting and polling allocated " + allocated + " bytes");
        }
        if (heapGrown() > growth) {
            throw new IllegalStateException(String.format(Locale.ROOT, "the heap grew by %.1f MiB", heapGrown()));
        }
        if (grown() > growth) {
            throw new IllegalStateException(String.format(Locale.ROOT, "the process grew by %.1f MiB", grown()));
        }
    }

    private double grown() {
        return (OwnMemory.resident() - residentAtFirst) / MEBIBYTE;
    }

    private double heapGrown() {
        return (OwnMemory.heap() - heapAtFirst) / MEBIBYTE;
    }

    private String seconds() {
        return (System.nanoTime() - start) / 1_000_000_000L + " s";
    }

    private void say(String format, Object... values) {
        spec.commandLine().getOut().println(String.format(Locale.ROOT, format, values));
        spec.commandLine().getOut().flush();
    }
}
