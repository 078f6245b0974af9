package org.rdmapanama.samples.selftest;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.efa.EfaCapability;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.DeviceOptions;
import org.rdmapanama.samples.Failure;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Checks what a device does, and writes a report. */
@Command(
        name = "selftest",
        description = {
            "Check a device, and write a report in Markdown, to be pasted into a bug report.",
            "Connects queue pairs of the device with each other and checks every operation, with messages of all sizes,"
                    + " byte by byte, and errors, events and the speed: through the driver and, where Java can write the"
                    + " queues of the device itself, directly. Takes seconds on a card. Exit status 1 if a check fails.",
        },
        sortOptions = false,
        footerHeading = "%nExample:%n",
        footer = "  rdma selftest -d mlx5_0 -o report.md")
public final class SelftestCommand implements Callable<Integer> {
    private static final int MAX_SECONDS = 1000;
    private static final int MAX_ROUNDS = 1000;

    /** Name of the system property that makes all queues direct. */
    private static final String DIRECT = "org.rdmapanama.direct";

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "Write the report to FILE (standard output).")
    private Path output;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "5",
            description = "How long to wait for a completion before the check fails (${DEFAULT-VALUE}).")
    private int timeoutSeconds;

    @Option(
            names = "--rounds",
            paramLabel = "COUNT",
            defaultValue = "9",
            description =
                    "How often to measure each speed, for up to 0.1 s each time; the median counts (${DEFAULT-VALUE}).")
    private int rounds;

    @Mixin
    private DeviceOptions options;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    /** For picocli. */
    public SelftestCommand() {}

    @Override
    public Integer call() throws IOException, InterruptedException {
        options.check();
        options.range("--timeout", timeoutSeconds, 1, MAX_SECONDS);
        options.range("--rounds", rounds, 1, MAX_ROUNDS);
        if (Boolean.getBoolean(DIRECT)) {
            throw new Failure(
                    "the system property " + DIRECT + " is true, and then nothing would go through the driver:"
                            + " unset it, as the selftest chooses by itself which queues are direct");
        }
        // Fails before it creates a file if there is no such device.
        Subject subject = new Subject(options.device(), options, Duration.ofSeconds(timeoutSeconds));
        PrintWriter out = spec.commandLine().getOut();
        if (output == null) {
            return run(subject, new SelftestReport(out));
        }
        try (PrintWriter file = new PrintWriter(Files.newBufferedWriter(output))) {
            SelftestReport report = new SelftestReport(file);
            int status = run(subject, report);
            if (file.checkError()) {
                throw new Failure("the report could not be written to " + output + ": is the disk full?");
            }
            out.println(report.summary() + "; the report is in " + output);
            out.flush();
            return status;
        }
    }

    private int run(Subject subject, SelftestReport report) throws InterruptedException {
        report.line("# Selftest of " + subject.device().name());
        report.line("");
        Facts.write(report, subject, spec.root().version()[0]);
        report.heading("## Checks");
        report.table("Check", "Way", "Bytes", "Result");
        Set<EfaCapability> efa = efaCapabilities(subject);
        List<TestedTransport> transports = TestedTransport.of(efa != null);
        for (Way way : Way.values()) {
            for (TestedTransport transport : transports) {
                report.part(transport + ", " + way, () -> check(subject, report, way, transport));
            }
        }
        report.heading("## Speed");
        report.part("speed", new SpeedMeasurements(subject, report, transports.getFirst(), efa, rounds)::run);
        report.heading("## Result");
        report.result();
        return report.isPassed() ? 0 : 1;
    }

    private static Set<EfaCapability> efaCapabilities(Subject subject) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            return Loopback.efaCapabilities(Context.open(arena, subject.device()));
        }
    }

    private static void check(Subject subject, SelftestReport report, Way way, TestedTransport transport)
            throws InterruptedException {
        Limits limits = Limits.probe(subject, report, transport, way);
        if (limits == null) {
            return;
        }
        if (transport == TestedTransport.SRD) {
            new SrdChecks(subject, report, way, limits).run();
            new SrdErrorChecks(subject, report, way, limits).run();
        } else {
            new DataChecks(subject, report, way).run(transport, limits);
        }
        if (transport == TestedTransport.RC) {
            new KeyChecks(subject, report, way).run(limits);
            new ErrorChecks(subject, report, way).run(limits);
        }
        if (transport.isReliable()) {
            new EventChecks(subject, report, transport, way).run();
        }
    }
}
