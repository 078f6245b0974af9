package org.rdmapanama.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Compares the latency and bandwidth of soft0 and other devices, in two processes and in one, with UDP and TCP. */
@Command(
        name = "bin/bench soft",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Compare soft0, between two processes and in one, with UDP, TCP and other devices of this machine.")
public final class Speed implements Callable<Integer> {
    private static final String UDP = "UDP, DatagramChannel";
    private static final String TCP = "TCP, SocketChannel";
    private static final double MIB = 1 << 20;
    private static final double NANOS = 1e9;
    private static final long LIMIT_SECONDS = 60;

    /** What the other end is told: to answer so many round trips, or to take so many chunks. */
    private static final String PONG = "pong";

    private static final String TAKE = "take";

    /** What the other end says once it can be sent something. */
    private static final String CONNECTED = "connected";

    /** What the name of a way ends with whose ends are virtual threads. */
    private static final String VIRTUAL = "+virtual";

    @Option(
            names = {"-r", "--rounds"},
            defaultValue = "9",
            description = "Number of rounds, whose medians count (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--warmup",
            paramLabel = "ROUNDS",
            defaultValue = "10",
            description = "Number of warm-up rounds before that: give more if compilers are slow (${DEFAULT-VALUE}).")
    private int warmUp;

    @Option(
            names = "--pings",
            defaultValue = "2000",
            description = "Number of round trips per round and row, whose median counts (${DEFAULT-VALUE}).")
    private int pings;

    @Option(
            names = "--chunks",
            defaultValue = "256",
            description = "Number of chunks per round and row (${DEFAULT-VALUE}).")
    private int chunks;

    @Option(
            names = "--rows",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "Only the rows whose title contains this, beside UDP, TCP and the devices that are named.")
    private String rows;

    @Option(names = "--write", paramLabel = "FILE", description = "Write the table to this file, between its marks.")
    private Path file;

    @Spec
    private CommandSpec spec;

    @Parameters(
            paramLabel = "DEVICE",
            arity = "0..*",
            description = "Pairs of devices to compare with, such as rxe0,rxe1 or, with a packet size in bytes,"
                    + " rxe0:1024,rxe1:1024.")
    private List<String> devices = List.of();

    private final Map<String, Pair> pairs = new LinkedHashMap<>();

    /** For picocli. */
    public Speed() {}

    /** Runs the comparison, or, as {@code peer WAY}, the other process. */
    public static void main(String[] args) throws IOException {
        if (args.length == 2 && args[0].equals("peer")) {
            try (ExecutorService thread = thread(args[1])) {
                in(thread, () -> {
                    answer(Speed::link, args[1], System.in, System.out);
                    return null;
                });
            } catch (IOException | RuntimeException e) {
                tell(e);
                System.exit(1);
            }
            return;
        }
        System.exit(new Speed().commandLine().execute(args));
    }

    CommandLine commandLine() {
        return new CommandLine(this)
                .setExecutionExceptionHandler((failure, command, parsed) -> {
                    tell(failure);
                    return 1;
                })
                .setParameterExceptionHandler(new ShortUsageErrors());
    }

    private static void tell(Exception failure) {
        System.err.println("bin/bench soft: " + (failure.getMessage() == null ? failure : failure.getMessage()));
    }

    /** One thread, virtual if the way says so. */
    private static ExecutorService thread(String way) {
        return Executors.newSingleThreadExecutor(
                way.endsWith(VIRTUAL)
                        ? Thread.ofVirtual().factory()
                        : Thread.ofPlatform().daemon().factory());
    }

    /** Runs something in a thread, and waits for it. */
    private static <T> T in(ExecutorService thread, Callable<T> action) throws IOException {
        try {
            return thread.submit(action).get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause().getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException();
        }
    }

    /** Makes the ends of connections. */
    interface Links {
        /** Returns an end of a way: that of the other process if {@code peer}. */
        Link open(String way, boolean peer) throws IOException;
    }

    private static Link link(String way, boolean peer) throws IOException {
        String name = way.replace(VIRTUAL, "");
        return switch (name) {
            case "udp" -> new UdpLink();
            case "tcp" -> new TcpLink(peer, false);
            case "tcp+events" -> new TcpLink(peer, true);
            default -> new VerbsLink(name);
        };
    }

    /** Runs the other end, which executes commands line by line. */
    private static void answer(Links links, String way, InputStream commands, OutputStream answers) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(commands, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(answers, true, StandardCharsets.UTF_8);
        try (Link link = links.open(way, true)) {
            out.println(link.place());
            link.connect(lines.readLine());
            out.println(CONNECTED);
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ", -1);
                int count = Integer.parseInt(words[1]);
                if (words[0].equals(PONG)) {
                    for (int i = 0; i < count; i++) {
                        link.pong();
                    }
                } else {
                    link.take(count);
                }
            }
        }
    }

    /** The other end, in another process or in another thread of this one. */
    private interface Other extends AutoCloseable {
        OutputStream commands() throws IOException;

        InputStream answers() throws IOException;

        /** Ends it, whatever it waits for. */
        void abandon();

        @Override
        void close();
    }

    private static final class OtherProcess implements Other {
        private final Process process;

        OtherProcess(String way, boolean sharesMemory) throws IOException {
            List<String> options = sharesMemory ? List.of() : List.of("-Dorg.rdmapanama.soft.ring=none");
            process = OtherJvm.start(options, Speed.class, "peer", way);
        }

        @Override
        public OutputStream commands() {
            return process.getOutputStream();
        }

        @Override
        public InputStream answers() {
            return process.getInputStream();
        }

        @Override
        public void abandon() {
            process.destroyForcibly();
        }

        @Override
        public void close() {
            OtherJvm.end(process, LIMIT_SECONDS);
        }
    }

    private static final class OtherThread implements Other {
        private final PipedOutputStream commands = new PipedOutputStream();
        private final PipedInputStream answers = new PipedInputStream();
        private final Thread thread;

        OtherThread(Links links, String way) throws IOException {
            PipedInputStream in = new PipedInputStream(commands);
            PipedOutputStream out = new PipedOutputStream(answers);
            thread = new Thread(() -> run(links, way, in, out), "other end");
            thread.setDaemon(true);
            thread.start();
        }

        private static void run(Links links, String way, InputStream in, OutputStream out) {
            try (out) {
                answer(links, way, in, out);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public OutputStream commands() {
            return commands;
        }

        @Override
        public InputStream answers() {
            return answers;
        }

        @Override
        public void abandon() {
            // It ends with this process.
        }

        @Override
        public void close() {
            try {
                thread.join(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The two ends of a connection. */
    static final class Pair implements AutoCloseable {
        /** The only one that uses the link. */
        private final ExecutorService thread;

        private final Link link;
        private final boolean gets;
        private final Other other;
        private final PrintStream commands;

        /** Connects the ends of a way; those of another process are not made by {@code links}. */
        Pair(Ends way, Links links) throws IOException {
            // First, so that only this end reports a failure of the device.
            thread = thread(way.name);
            link = in(thread, () -> links.open(way.name, false));
            gets = way.gets;
            other = way.oneProcess
                    ? new OtherThread(links, way.peersName)
                    : new OtherProcess(way.peersName, way.sharesMemory);
            commands = new PrintStream(other.commands(), true, StandardCharsets.UTF_8);
            BufferedReader answers = new BufferedReader(new InputStreamReader(other.answers(), StandardCharsets.UTF_8));
            String place = answer(answers, way);
            commands.println(in(thread, link::place));
            in(thread, () -> {
                link.connect(place);
                return null;
            });
            // A JVM that has just started may take longer to connect than a queue pair repeats what gets no answer.
            answer(answers, way);
        }

        private static String answer(BufferedReader answers, Ends way) throws IOException {
            String answer = answers.readLine();
            if (answer == null) {
                throw new IOException("the other end, " + way.peersName + ", ended early");
            }
            return answer;
        }

        /** Called in place of {@link #close} before this process ends with a failure, for which the other end may wait. */
        void abandon() {
            other.abandon();
        }

        /** Returns the median time of a round trip or a get, in nanoseconds. */
        double latency(int pings) throws IOException {
            return in(thread, () -> medianOf(pings));
        }

        private double medianOf(int pings) throws IOException {
            Histogram histogram = new Histogram(TimeUnit.SECONDS.toNanos(LIMIT_SECONDS), 3);
            if (!gets) {
                commands.println(PONG + " " + pings);
            }
            for (int i = 0; i < pings; i++) {
                long start = System.nanoTime();
                if (gets) {
                    link.get();
                } else {
                    link.ping();
                }
                histogram.recordValue(System.nanoTime() - start);
            }
            return histogram.getValueAtPercentile(50);
        }

        /** Returns the bandwidth, in MiB per second. */
        double bandwidth(int chunks) throws IOException {
            return in(thread, () -> pushed(chunks));
        }

        private double pushed(int chunks) throws IOException {
            commands.println(TAKE + " " + chunks);
            long start = System.nanoTime();
            link.push(chunks);
            return chunks * (double) Link.CHUNK / MIB / ((System.nanoTime() - start) / NANOS);
        }

        @Override
        public void close() throws IOException {
            commands.close();
            other.close();
            in(thread, () -> {
                link.close();
                return null;
            });
            thread.close();
        }
    }

    /** What to measure: the names of a device or a protocol, here and at the other end. */
    record Ends(
            String name,
            String peersName,
            boolean oneProcess,
            boolean hasBandwidth,
            boolean sharesMemory,
            boolean gets) {
        static Ends of(String name) {
            return new Ends(name, name, false, true, true, false);
        }

        Ends inOneProcess() {
            return new Ends(name, peersName, true, hasBandwidth, sharesMemory, gets);
        }

        Ends withoutBandwidth() {
            return new Ends(name, peersName, oneProcess, false, sharesMemory, gets);
        }

        Ends withoutSharedMemory() {
            return new Ends(name, peersName, oneProcess, hasBandwidth, false, gets);
        }

        /** The program of the other end takes no part. */
        Ends thatGet() {
            return new Ends(name, peersName, oneProcess, false, sharesMemory, true);
        }
    }

    @Override
    public Integer call() throws IOException {
        atLeast("--rounds", rounds, 1);
        atLeast("--warmup", warmUp, 0);
        atLeast("--pings", pings, 1);
        atLeast("--chunks", chunks, 1);
        MarkedTable marked = file == null ? null : new MarkedTable(spec, file, "soft");
        if (marked != null) {
            marked.check();
        }
        Map<String, Ends> ways = new LinkedHashMap<>();
        ways.put(UDP, Ends.of("udp").withoutBandwidth());
        ways.put(TCP, Ends.of("tcp"));
        ways.put("soft0, two processes", Ends.of("soft0"));
        ways.put("soft0, two processes, 64 queue pairs", Ends.of("soft0*64"));
        // As large as Ethernet allows, and the loopback interface.
        ways.put("soft0 over UDP, packets of 1 KiB", Ends.of("soft0:1024").withoutSharedMemory());
        ways.put("soft0 over UDP, packets of 4 KiB", Ends.of("soft0:4096").withoutSharedMemory());
        ways.put("soft0 over UDP, 64 queue pairs", Ends.of("soft0:1024*64").withoutSharedMemory());
        ways.put("soft0, one process", Ends.of("soft0").inOneProcess());
        ways.put("TCP, both ends sleep", Ends.of("tcp+events"));
        ways.put("soft0, both ends sleep", Ends.of("soft0+events"));
        ways.put("soft0, both ends poll and then sleep", Ends.of("soft0+await"));
        ways.put("TCP, both ends sleep, virtual threads", Ends.of("tcp+events" + VIRTUAL));
        ways.put("soft0, both ends sleep, virtual threads", Ends.of("soft0+events" + VIRTUAL));
        ways.put("soft0, both ends poll and then sleep, virtual threads", Ends.of("soft0+await" + VIRTUAL));
        ways.put("soft0, a get, this end sleeps", Ends.of("soft0+events").thatGet());
        ways.put(
                "soft0, a get, this end polls and then sleeps",
                Ends.of("soft0+await").thatGet());
        ways.put(
                "soft0, a get, this end sleeps, virtual thread",
                Ends.of("soft0+events" + VIRTUAL).thatGet());
        ways.put(
                "soft0, a get, this end polls and then sleeps, virtual thread",
                Ends.of("soft0+await" + VIRTUAL).thatGet());
        for (String device : devices) {
            String[] pair = device.split(",", -1);
            ways.put(device, new Ends(pair[0], pair[pair.length - 1], false, true, true, false));
        }
        chooseFrom(ways);
        Map<String, List<Double>> latencies = new LinkedHashMap<>();
        Map<String, List<Double>> bandwidths = new LinkedHashMap<>();
        boolean succeeded = false;
        try {
            for (int round = -warmUp; round < rounds; round++) {
                for (Map.Entry<String, Ends> way : ways.entrySet()) {
                    measure(way.getKey(), way.getValue(), round >= 0, latencies, bandwidths);
                }
                boolean counts = round >= 0;
                System.err.printf(
                        "%s %d of %d%n",
                        counts ? "round" : "warm-up",
                        counts ? round + 1 : round + 1 + warmUp,
                        counts ? rounds : warmUp);
            }
            succeeded = true;
        } finally {
            for (Pair pair : pairs.values()) {
                if (succeeded) {
                    pair.close();
                } else {
                    pair.abandon();
                }
            }
        }
        List<String> table = table(ways, latencies, bandwidths);
        table.forEach(System.out::println);
        if (marked != null) {
            marked.write(table);
        }
        return 0;
    }

    private void chooseFrom(Map<String, Ends> ways) {
        if (!rows.isEmpty() && file != null) {
            throw new ParameterException(spec.commandLine(), "--write writes all rows: leave out --rows");
        }
        if (ways.keySet().stream().noneMatch(title -> title.contains(rows))) {
            throw new ParameterException(spec.commandLine(), "no row title contains '" + rows + "'");
        }
        ways.keySet()
                .removeIf(title ->
                        !title.contains(rows) && !title.equals(UDP) && !title.equals(TCP) && !devices.contains(title));
    }

    private void atLeast(String option, int value, int min) {
        if (value < min) {
            throw new ParameterException(spec.commandLine(), option + " must be at least " + min + ", not " + value);
        }
    }

    private void measure(
            String title,
            Ends way,
            boolean counts,
            Map<String, List<Double>> latencies,
            Map<String, List<Double>> bandwidths)
            throws IOException {
        Pair pair = pairs.get(title);
        if (pair == null) {
            pair = new Pair(way, Speed::link);
            pairs.put(title, pair);
        }
        double latency = pair.latency(pings);
        double bandwidth = way.hasBandwidth ? pair.bandwidth(chunks) : Double.NaN;
        if (counts) {
            latencies.computeIfAbsent(title, key -> new ArrayList<>()).add(latency);
            bandwidths.computeIfAbsent(title, key -> new ArrayList<>()).add(bandwidth);
        }
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().toList().get(values.size() / 2);
    }

    private static List<String> table(
            Map<String, Ends> ways, Map<String, List<Double>> latencies, Map<String, List<Double>> bandwidths) {
        double udp = median(latencies.get(UDP));
        double tcp = median(bandwidths.get(TCP));
        int width = ways.keySet().stream().mapToInt(String::length).max().orElse(1);
        List<String> lines = new ArrayList<>();
        lines.add("| | 8 B round trip, µs | times UDP | writes of 64 KiB, MiB/s | times TCP |");
        lines.add("|---|---:|---:|---:|---:|");
        for (String title : ways.keySet()) {
            double latency = median(latencies.get(title));
            double bandwidth = median(bandwidths.get(title));
            lines.add(String.format(
                    Locale.ROOT,
                    "| %-" + width + "s | %5.1f | %5.2f | %6s | %5s |",
                    title,
                    latency / 1000,
                    latency / udp,
                    Double.isNaN(bandwidth) ? "-" : String.format(Locale.ROOT, "%.0f", bandwidth),
                    Double.isNaN(bandwidth) ? "-" : String.format(Locale.ROOT, "%.2f", bandwidth / tcp)));
        }
        return lines;
    }
}
