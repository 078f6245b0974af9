package org.rdmapanama.samples.today;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.ByteSize;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.CpuTime;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.figures.Charts;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Compares RDMA with what Java offers today, between two processes of this machine. */
@Command(
        name = "today",
        description = {
            "Compare RDMA with what Java offers today: move the same data from one process to another by TCP, from"
                    + " memory and from a file, and by RDMA WRITE, and show throughput and processor time.",
            "This program starts both processes on this machine.",
        },
        sortOptions = false)
public final class TodayComparison implements Callable<Integer> {
    /** The fixed cost of a transfer would dominate the result for less. */
    private static final long MIN_SIZE = 1L << 20;

    private static final long MAX_SIZE = 1L << 30;
    private static final int MAX_ROUNDS = 1000;
    private static final int MAX_SECONDS = 100_000;
    private static final Duration MOMENT = Duration.ofMillis(300);

    @Option(
            names = {"-s", "--size"},
            paramLabel = "SIZE",
            defaultValue = "256MiB",
            description = "Amount of data to move each time, from 1MiB to 1GiB (${DEFAULT-VALUE}).")
    private ByteSize size;

    @Option(
            names = {"-r", "--rounds"},
            paramLabel = "N",
            defaultValue = "5",
            description = "Number of rounds, after one to warm up; each round measures every way, and the medians count"
                    + " (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = {"-I", "--addresses"},
            paramLabel = "ADDRESS",
            split = ",",
            description = "Addresses of the sender and of the receiver, both of this machine (those of the first two"
                    + " RDMA devices, or of the only one).")
    private List<String> addresses;

    @Option(
            names = "--file",
            paramLabel = "DIR",
            defaultValue = "${sys:java.io.tmpdir}",
            description = "Directory for the file to send; the file is deleted at the end (${DEFAULT-VALUE}).")
    private Path folder;

    @Option(
            names = "--plot",
            paramLabel = "FILE",
            description = "Also draw throughput, processor time and context switches into this SVG file.")
    private Path plot;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "120",
            description = "Give up when one step takes longer (${DEFAULT-VALUE}).")
    private long timeoutSeconds;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private final Map<TransferMethod, List<Sample>> samples = new EnumMap<>(TransferMethod.class);
    private PrintWriter out;
    private Ends ends;
    private Worker sender;
    private Worker receiver;

    /** Device and driver of each side. */
    private String sendingDevice;

    private String receivingDevice;

    /** Why the file cannot be read past the page cache; empty if it can. */
    private String directObstacle;

    /** For picocli. */
    public TodayComparison() {}

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (size.bytes() < MIN_SIZE || size.bytes() > MAX_SIZE) {
            throw wrong("--size must be between 1 MiB and 1 GiB, not " + size);
        }
        range("--rounds", rounds, 1, MAX_ROUNDS);
        range("--timeout", timeoutSeconds, 1, MAX_SECONDS);
        if (addresses != null && addresses.size() > 2) {
            throw wrong("--addresses takes one or two, not " + addresses.size());
        }
        if (!Files.isDirectory(folder)) {
            throw new Failure("--file: there is no directory '" + folder + "'");
        }
        Charts.check(plot);
        out = spec.commandLine().getOut();
        ends = addresses == null ? Ends.ofDevices() : Ends.of(addresses);
        Path file = Files.createTempDirectory(folder, "rdma-today").resolve("data");
        try {
            compare(file);
        } finally {
            Files.deleteIfExists(file);
            Files.delete(file.getParent());
        }
        if (plot != null) {
            Charts.write(TodayChart.of(size + " from one process to another", samples), plot);
        }
        new TodayTable(out, size.bytes(), samples).print(ends, sendingDevice, receivingDevice, directObstacle);
        return 0;
    }

    private void range(String option, long value, long min, long max) {
        if (value < min || value > max) {
            throw wrong(option + " must be between " + min + " and " + max + ", not " + value);
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private void compare(Path file) throws IOException, InterruptedException {
        Duration limit = Duration.ofSeconds(timeoutSeconds);
        String bytes = Long.toString(size.bytes());
        String seconds = Long.toString(timeoutSeconds);
        String from = ends.sender().getHostAddress();
        String to = ends.receiver().getHostAddress();
        out.printf("  %s from %s to %s, %d ways in turns%n", size, from, to, TransferMethod.values().length);
        out.flush();
        try (Worker first = new Worker("sender", limit, List.of("send", from, bytes, seconds, file.toString()));
                Worker second = new Worker("receiver", limit, List.of("receive", to, bytes, seconds))) {
            sender = first;
            receiver = second;
            directObstacle = sender.await("ready", receiver);
            receiver.await("ready", sender);
            // The first round only loads and compiles code.
            for (int round = 0; round <= rounds; round++) {
                round(round);
            }
        } catch (Failure e) {
            // Ctrl-C at a terminal ends all three programs at once, so this thread is about to be interrupted as well.
            Thread.sleep(MOMENT);
            throw e;
        }
    }

    private void round(int number) throws IOException, InterruptedException {
        List<String> rates = new ArrayList<>();
        for (TransferMethod way : TransferMethod.values()) {
            if (way.isDirect() && !directObstacle.isEmpty()) {
                rates.add("-");
                continue;
            }
            Sample sample = measure(way);
            rates.add(String.format(Locale.ROOT, "%.0f", sample.rate()));
            if (number > 0) {
                samples.computeIfAbsent(way, w -> new ArrayList<>()).add(sample);
            }
        }
        out.printf(
                "  %s: %s MiB/s%n",
                number == 0 ? "warm-up" : "round " + number + " of " + rounds, String.join(", ", rates));
        out.flush();
    }

    private Sample measure(TransferMethod way) throws IOException, InterruptedException {
        receiver.tell("prepare " + way);
        String port = receiver.await("listening", sender);
        sender.tell("prepare " + way + " " + port + " " + ends.receiver().getHostAddress());
        String sending = sender.await("ready", receiver);
        String receiving = receiver.await("ready", sender);
        if (way.isRdma()) {
            sendingDevice = sending;
            // After the memory.
            receivingDevice = receiving.split(" ", 2)[1];
        }

        long crossed = ends.sent();
        long ofMachine = CpuTime.ofMachine();
        long ofSender = CpuTime.ofProcess(sender.pid());
        long ofReceiver = CpuTime.ofProcess(receiver.pid());
        receiver.tell("go");
        sender.tell("go " + receiving);
        long nanos = Long.parseLong(sender.await("done", receiver));
        receiver.await("done", sender);
        ofReceiver = CpuTime.ofProcess(receiver.pid()) - ofReceiver;
        ofSender = CpuTime.ofProcess(sender.pid()) - ofSender;
        ofMachine = CpuTime.ofMachine() - ofMachine;
        crossed = ends.sent() - crossed;

        // Both at once, because each waits for the other to disconnect.
        sender.tell("check");
        receiver.tell("check");
        // The checksum, and what was counted.
        String[] sent = sender.await("sum", receiver).split(" ", 2);
        String[] arrived = receiver.await("sum", sender).split(" ", 2);
        if (!sent[0].equals(arrived[0])) {
            throw new Failure("the data is not the same on both sides after '" + way.title() + "': CRC32C " + sent[0]
                    + " and " + arrived[0]);
        }
        return new Sample(
                size.bytes(),
                nanos,
                ofSender,
                ofReceiver,
                ofMachine,
                crossed,
                Counts.parse(sent[1]),
                Counts.parse(arrived[1]));
    }
}
