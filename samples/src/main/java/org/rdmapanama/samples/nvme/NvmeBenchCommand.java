package org.rdmapanama.samples.nvme;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.rdmapanama.nvme.NvmeController;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.CpuTime;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.ProgressBar;
import org.rdmapanama.samples.figures.Charts;
import org.rdmapanama.samples.figures.LatencyRecord;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures reads or writes of a namespace. */
@Command(
        name = "bench",
        description = {
            "Measure how long reads or writes of a namespace take, and how many there are in a second.",
            "By default it reads. With --operation write, what is in the namespace is lost.",
        },
        sortOptions = false)
final class NvmeBenchCommand implements Callable<Integer> {
    private static final int MAX_COUNT = 1_000_000_000;
    private static final double NANOS = 1e9;
    private static final double MICRO = 1e3;

    /** The processor time of a shorter run is mostly the error of its clock. */
    private static final long LEAST_NANOS = 500_000_000;

    private static final double MIB = 1 << 20;

    /** What is measured, spelled as on the command line. */
    enum Operation {
        read,
        write
    }

    @Mixin
    private NvmeHost host;

    @Option(
            names = "--namespace",
            paramLabel = "ID",
            defaultValue = "0",
            description = "The namespace; by default the only one.")
    private int namespace;

    @Option(
            names = "--operation",
            paramLabel = "read|write",
            defaultValue = "read",
            description = "What to measure (${DEFAULT-VALUE}).")
    private Operation operation;

    @Option(
            names = "--block",
            paramLabel = "SIZE",
            defaultValue = "4KiB",
            description = "How much each command moves, a multiple of the block size (${DEFAULT-VALUE}).")
    private ByteSize block;

    @Option(
            names = "--depth",
            paramLabel = "N",
            defaultValue = "1",
            description = "Number of commands in flight (${DEFAULT-VALUE}).")
    private int depth;

    @Option(
            names = "--count",
            paramLabel = "N",
            defaultValue = "20000",
            description = "Number of commands that are measured (${DEFAULT-VALUE}).")
    private int count;

    @Option(
            names = "--warmup",
            paramLabel = "N",
            defaultValue = "5000",
            description = "Number of commands before that (${DEFAULT-VALUE}).")
    private int warmUp;

    @Option(names = "--sequential", description = "One place after the other, instead of places at random.")
    private boolean sequential;

    @Mixin
    private NvmeLending lending;

    @Option(names = "--plot", paramLabel = "FILE.svg", description = "Also plot the distribution of the times.")
    private Path plot;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        check();
        PrintWriter out = spec.commandLine().getOut();
        try (NvmeController controller = host.connect(lending)) {
            NvmeNamespace chosen = NvmeHost.namespace(controller, namespace);
            int bytes = bytes(chosen);
            try (NvmeLoad load = new NvmeLoad(chosen, operation == Operation.write, bytes, depth, sequential)) {
                load.run(warmUp, new LatencyRecord(1), progress(out, "warm-up", (long) warmUp * bytes));
                LatencyRecord times = new LatencyRecord(1);
                ProgressBar progress = progress(out, operation.name(), (long) count * bytes);
                long ofProcess = CpuTime.ofThisProcess();
                long ofMachine = CpuTime.ofMachine();
                long nanos = load.run(count, times, progress);
                ofMachine = CpuTime.ofMachine() - ofMachine;
                ofProcess = CpuTime.ofThisProcess() - ofProcess;
                progress.finish(System.nanoTime());
                times.complete();
                String title = String.format(
                        Locale.ROOT,
                        "%s of %s, %s, depth %d",
                        operation,
                        ByteSize.format(bytes),
                        sequential ? "one after the other" : "at random places",
                        load.depth());
                print(out, title, times, nanos, bytes);
                printProcessorTime(out, nanos, ofProcess, ofMachine);
                if (plot != null) {
                    Charts.write(Charts.distribution(title, times), plot);
                }
            }
        }
        return 0;
    }

    private void check() {
        host.check();
        host.range("--depth", depth, 1, NvmeRange.MAX_DEPTH);
        host.range("--count", count, 1, MAX_COUNT);
        host.range("--warmup", warmUp, 0, MAX_COUNT);
        host.range("--namespace", namespace, 0, Integer.MAX_VALUE);
        Charts.check(plot);
    }

    private int bytes(NvmeNamespace of) {
        long bytes = block.bytes();
        long most = Math.min(of.controller().maxTransfer(), of.byteSize());
        if (bytes < 1 || bytes > most || bytes % of.blockSize() != 0) {
            throw new Failure("--block must be a multiple of the block size, which is " + of.blockSize()
                    + " bytes, and at most " + most + ": " + bytes);
        }
        return (int) bytes;
    }

    private static ProgressBar progress(PrintWriter out, String title, long bytes) {
        return new ProgressBar(out, title, bytes, ProgressBar.onTerminal(), System.nanoTime());
    }

    private void print(PrintWriter out, String title, LatencyRecord times, long nanos, int bytes) {
        double seconds = nanos / NANOS;
        out.println(" " + title);
        out.println(" #commands        IOPS  BW average[MiB/sec]  t_min[usec]  t_typical[usec]  t_avg[usec]"
                + "  t_stdev[usec]  99%[usec]  99.9%[usec]  t_max[usec]");
        out.println(String.format(
                Locale.ROOT,
                " %9d %11.0f %19.2f %12.2f %16.2f %12.2f %14.2f %10.2f %12.2f %12.2f",
                times.count(),
                times.count() / seconds,
                times.count() * (bytes / MIB) / seconds,
                times.min(),
                times.at(50),
                times.average(),
                times.deviation(),
                times.at(99),
                times.at(99.9),
                times.max()));
        out.flush();
    }

    /** The kernel does much of the work in threads of its own, and so does a target on this machine. */
    private void printProcessorTime(PrintWriter out, long nanos, long ofProcess, long ofMachine) {
        if (nanos < LEAST_NANOS) {
            out.println(" processor time of a command: - (it is counted in steps of 10 ms: give a larger --count)");
        } else {
            out.println(String.format(
                    Locale.ROOT,
                    " processor time of a command: %.1f usec of this process, %.1f usec of the whole machine",
                    ofProcess / MICRO / count,
                    ofMachine / MICRO / count));
        }
        out.flush();
    }
}
