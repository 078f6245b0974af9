package org.rdmapanama.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Latency and bandwidth between two processes: soft0 and other devices, beside UDP and TCP, in turns. */
@Command(
        name = "bench soft",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Compare soft0 with UDP and TCP between two processes, and with other devices of this machine.")
public final class Speed implements Callable<Integer> {
    private static final String UDP = "UDP, DatagramChannel";
    private static final String TCP = "TCP, SocketChannel";
    private static final int WARM_UP = 3;
    private static final int PINGS = 2000;
    private static final int CHUNKS = 256;
    private static final double MIB = 1 << 20;
    private static final double NANOS = 1e9;
    private static final long LIMIT_SECONDS = 60;

    @Option(
            names = {"-r", "--rounds"},
            defaultValue = "9",
            description = "Rounds, of which the medians count, after three to warm up (${DEFAULT-VALUE}).")
    private int rounds;

    @Parameters(paramLabel = "DEVICE", arity = "0..*", description = "Pairs of devices to compare with, as rxe0,rxe1.")
    private List<String> devices = List.of();

    private final Map<String, Pair> pairs = new LinkedHashMap<>();

    /** For picocli. */
    public Speed() {}

    /** Compares, or, as {@code peer WAY}, is the other process. */
    public static void main(String[] args) throws IOException {
        if (args.length == 2 && args[0].equals("peer")) {
            answer(args[1]);
            return;
        }
        System.exit(new CommandLine(new Speed()).execute(args));
    }

    private static Link link(String way, boolean peer) throws IOException {
        return switch (way) {
            case "udp" -> new DatagramLink();
            case "tcp" -> new StreamLink(peer);
            default -> new VerbsLink(way);
        };
    }

    /** The other process: does what it is told, line by line. */
    private static void answer(String way) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        try (Link link = link(way, true)) {
            out.println(link.place());
            link.connect(lines.readLine());
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.equals("pong")) {
                    for (int i = 0; i < PINGS; i++) {
                        link.pong();
                    }
                } else {
                    link.take(CHUNKS);
                }
            }
        }
    }

    /** A way with its peer, in another process or in this one. */
    private static final class Pair implements AutoCloseable {
        private final Link link;
        private final Process process;
        private final PrintStream commands;

        Pair(String way, String peersWay) throws IOException {
            process = new ProcessBuilder(command(peersWay))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            commands = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
            BufferedReader answers =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            link = link(way, false);
            String place = answers.readLine();
            if (place == null) {
                throw new IOException("the other process ended early");
            }
            commands.println(link.place());
            link.connect(place);
        }

        private static List<String> command(String way) {
            List<String> command = new ArrayList<>(
                    List.of(ProcessHandle.current().info().command().orElse("java")));
            command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
            command.addAll(List.of("-cp", System.getProperty("java.class.path"), Speed.class.getName(), "peer", way));
            return command;
        }

        /** Nanoseconds for a round trip: the median of many. */
        double latency() throws IOException {
            Histogram histogram = new Histogram(TimeUnit.SECONDS.toNanos(LIMIT_SECONDS), 3);
            commands.println("pong");
            for (int i = 0; i < PINGS; i++) {
                long start = System.nanoTime();
                link.ping();
                histogram.recordValue(System.nanoTime() - start);
            }
            return histogram.getValueAtPercentile(50);
        }

        /** MiB per second. */
        double bandwidth() throws IOException {
            commands.println("take");
            long start = System.nanoTime();
            link.push(CHUNKS);
            return CHUNKS * (double) Link.CHUNK / MIB / ((System.nanoTime() - start) / NANOS);
        }

        @Override
        public void close() throws IOException {
            commands.close();
            link.close();
            try {
                if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public Integer call() throws IOException {
        Map<String, String[]> ways = new LinkedHashMap<>();
        ways.put(UDP, new String[] {"udp", "udp"});
        ways.put(TCP, new String[] {"tcp", "tcp"});
        ways.put("soft0, two processes", new String[] {"soft0", "soft0"});
        for (String device : devices) {
            String[] pair = device.split(",", -1);
            ways.put(device, new String[] {pair[0], pair[pair.length - 1]});
        }
        Map<String, List<Double>> latencies = new LinkedHashMap<>();
        Map<String, List<Double>> bandwidths = new LinkedHashMap<>();
        try {
            for (int round = -WARM_UP; round < rounds; round++) {
                for (Map.Entry<String, String[]> way : ways.entrySet()) {
                    measure(way.getKey(), way.getValue(), round >= 0, latencies, bandwidths);
                }
                System.err.printf("round %d of %d%n", Math.max(0, round + 1), rounds);
            }
        } finally {
            for (Pair pair : pairs.values()) {
                pair.close();
            }
        }
        print(ways, latencies, bandwidths);
        return 0;
    }

    private void measure(
            String title,
            String[] way,
            boolean counts,
            Map<String, List<Double>> latencies,
            Map<String, List<Double>> bandwidths)
            throws IOException {
        Pair pair = pairs.get(title);
        if (pair == null) {
            pair = new Pair(way[0], way[1]);
            pairs.put(title, pair);
        }
        double latency = pair.latency();
        double bandwidth = title.equals(UDP) ? Double.NaN : pair.bandwidth();
        if (counts) {
            latencies.computeIfAbsent(title, key -> new ArrayList<>()).add(latency);
            bandwidths.computeIfAbsent(title, key -> new ArrayList<>()).add(bandwidth);
        }
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().toList().get(values.size() / 2);
    }

    private void print(
            Map<String, String[]> ways, Map<String, List<Double>> latencies, Map<String, List<Double>> bandwidths) {
        double udp = median(latencies.get(UDP));
        double tcp = median(bandwidths.get(TCP));
        System.out.printf(
                Locale.ROOT,
                "%-24s %24s %10s %24s %10s%n",
                "",
                "8 B there and back, µs",
                "times UDP",
                "64 KiB at once, MiB/s",
                "times TCP");
        for (String title : ways.keySet()) {
            double latency = median(latencies.get(title));
            double bandwidth = median(bandwidths.get(title));
            System.out.printf(
                    Locale.ROOT,
                    "%-24s %24.1f %10.2f %24s %10s%n",
                    title,
                    latency / 1000,
                    latency / udp,
                    Double.isNaN(bandwidth) ? "-" : String.format(Locale.ROOT, "%.0f", bandwidth),
                    Double.isNaN(bandwidth) ? "-" : String.format(Locale.ROOT, "%.2f", bandwidth / tcp));
        }
    }
}
