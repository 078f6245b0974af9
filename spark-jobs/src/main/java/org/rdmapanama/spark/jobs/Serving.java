package org.rdmapanama.spark.jobs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.zip.CRC32C;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.rdmapanama.spark.jobs.Comparison.Way;
import org.rdmapanama.spark.transfer.BlockClient;
import org.rdmapanama.spark.transfer.BlockRange;

/** Reads the blocks of another process in both ways, in turns, and compares how much processor time that takes. */
final class Serving {
    /** The defaults of Spark: how much a task has in flight, in how many requests. */
    private static final long IN_FLIGHT_BYTES = 48 << 20;

    private static final int REQUESTS = 5;
    private static final int LIMIT_SECONDS = 120;
    private static final double GIBI = 1 << 30;
    private static final double MEBI = 1 << 20;

    /**
     * What reading all blocks once took.
     *
     * @param seconds how long
     * @param serving the processor time of the process that has the files, in seconds
     * @param reading that of the one that reads
     * @param machine that of the machine
     */
    private record Round(double seconds, double serving, double reading, double machine) {}

    private final ShuffleFiles files;
    private final String address;

    /** Whether files stay registered from round to round. */
    private final boolean keeps;

    private final Map<BlockRange, Long> checksums;
    private final List<List<BlockRange>> requests = new ArrayList<>();
    private final Map<Way, List<Round>> rounds = new EnumMap<>(Way.class);
    private final BlockingQueue<Fetcher.Arrival> arrivals = new LinkedBlockingQueue<>();

    Serving(ShuffleFiles files, String address, boolean keeps) throws IOException {
        this.files = files;
        this.address = address;
        this.keeps = keeps;
        checksums = files.write();
        List<BlockRange> blocks = files.inOrderOfTasks();
        int together = (int) Math.max(1, IN_FLIGHT_BYTES / REQUESTS / files.blockBytes());
        for (int from = 0; from < blocks.size(); from += together) {
            requests.add(blocks.subList(from, Math.min(blocks.size(), from + together)));
        }
    }

    private List<String> command() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of(
                "-cp",
                System.getProperty("java.class.path"),
                ServingProcess.class.getName(),
                address,
                files.folder().toString(),
                Integer.toString(files.maps()),
                Integer.toString(files.partitions()),
                Integer.toString(files.blockBytes())));
        return command;
    }

    /**
     * Measures.
     *
     * @param warmUps how many rounds do not count
     * @param count how many do
     * @param progress is told of each of them
     * @throws IllegalStateException when a block does not arrive, or has other bytes than its file
     */
    void run(int warmUps, int count, PrintStream progress) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader answers =
                        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
                PrintStream questions = new PrintStream(process.getOutputStream(), true, StandardCharsets.US_ASCII);
                NettyBlockTransferService spark = ServingSettings.spark(address, new SparkBlocks(null));
                BlockClient rdma = BlockClient.start(ServingSettings.transfer(0), ServingSettings.SECRET)) {
            String[] ports = answer(answers).split(" ", 2);
            Map<Way, Fetcher> fetchers = Map.of(
                    Way.SPARK,
                    Fetcher.spark(spark, new InetSocketAddress(address, Integer.parseInt(ports[0])), arrivals),
                    Way.RDMA,
                    Fetcher.rdma(rdma, new InetSocketAddress(address, Integer.parseInt(ports[1])), arrivals));
            for (int round = -warmUps; round < count; round++) {
                for (int turn = 0; turn < 2; turn++) {
                    Way way = Way.values()[Math.floorMod(round + turn, 2)];
                    Round result = measure(way, fetchers.get(way), questions, answers);
                    progress.printf(
                            Locale.ROOT,
                            "%s%s: %.2f s, serving process %.3f s%n",
                            way,
                            round < 0 ? " (warming up)" : "",
                            result.seconds(),
                            result.serving());
                    if (round >= 0) {
                        rounds.computeIfAbsent(way, each -> new ArrayList<>()).add(result);
                    }
                }
            }
        } finally {
            if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        }
    }

    private static String answer(BufferedReader answers) throws IOException {
        String answer = answers.readLine();
        if (answer == null) {
            throw new IOException("the process that serves has ended");
        }
        return answer;
    }

    private static double ask(String question, PrintStream questions, BufferedReader answers) throws IOException {
        questions.println(question);
        return Double.parseDouble(answer(answers));
    }

    private Round measure(Way way, Fetcher fetcher, PrintStream questions, BufferedReader answers)
            throws IOException, InterruptedException {
        double servingBefore = ask(ServingProcess.TIME, questions, answers);
        double machineBefore = ProcessorTime.ofMachine();
        double readingBefore = ProcessorTime.ofProcess();
        long start = System.nanoTime();
        readAll(fetcher);
        double seconds = (double) (System.nanoTime() - start) / (double) TimeUnit.SECONDS.toNanos(1);
        double reading = ProcessorTime.ofProcess() - readingBefore;
        // Otherwise each round registers the files and deregisters them, once, as in the life of a shuffle.
        boolean forgets = way == Way.RDMA && !keeps;
        double serving = ask(forgets ? ServingProcess.FORGET : ServingProcess.TIME, questions, answers) - servingBefore;
        return new Round(seconds, serving, reading, ProcessorTime.ofMachine() - machineBefore);
    }

    private void readAll(Fetcher fetcher) throws InterruptedException {
        long inFlight = 0;
        int next = 0;
        for (int left = checksums.size(); left > 0; left--) {
            while (next < requests.size()
                    && (inFlight == 0 || inFlight + bytes(requests.get(next)) <= IN_FLIGHT_BYTES)) {
                inFlight += bytes(requests.get(next));
                fetcher.fetch(requests.get(next));
                next++;
            }
            Fetcher.Arrival arrival = arrivals.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
            if (arrival == null) {
                throw new IllegalStateException("nothing has arrived in " + LIMIT_SECONDS + " s");
            }
            check(arrival);
            inFlight -= files.blockBytes();
        }
    }

    private long bytes(List<BlockRange> request) {
        return (long) request.size() * files.blockBytes();
    }

    private void check(Fetcher.Arrival arrival) {
        if (arrival.failure() != null) {
            throw new IllegalStateException(arrival.block() + " has not arrived: " + arrival.failure());
        }
        CRC32C checksum = new CRC32C();
        checksum.update(arrival.bytes());
        arrival.release().run();
        if (checksum.getValue() != checksums.get(arrival.block())) {
            throw new IllegalStateException(arrival.block() + " has other bytes than its file");
        }
    }

    /** Returns a table: the median of the times, and the means of processor times, which count in hundredths of a second. */
    String table() {
        StringBuilder table = new StringBuilder(String.format(
                Locale.ROOT,
                "%-8s %9s %16s %16s %16s%n",
                "blocks",
                "MiB/s",
                "serving, s/GiB",
                "reading, s/GiB",
                "machine, s/GiB"));
        for (Way way : Way.values()) {
            table.append(String.format(
                    Locale.ROOT,
                    "%-8s %9.1f %16.3f %16.3f %16.3f%n",
                    way,
                    (double) files.bytes() / MEBI / median(way, Round::seconds),
                    perGibibyte(way, Round::serving),
                    perGibibyte(way, Round::reading),
                    perGibibyte(way, Round::machine)));
        }
        return table.append(String.format(
                        Locale.ROOT,
                        "%-8s %9.2f %16.2f %16.2f %16.2f%n",
                        "ratio",
                        median(Way.SPARK, Round::seconds) / median(Way.RDMA, Round::seconds),
                        ratio(Round::serving),
                        ratio(Round::reading),
                        ratio(Round::machine)))
                .toString();
    }

    private double perGibibyte(Way way, ToDoubleFunction<Round> value) {
        return mean(way, value) * GIBI / (double) files.bytes();
    }

    private double ratio(ToDoubleFunction<Round> value) {
        return mean(Way.RDMA, value) / mean(Way.SPARK, value);
    }

    private double mean(Way way, ToDoubleFunction<Round> value) {
        return rounds.get(way).stream().mapToDouble(value).average().orElseThrow();
    }

    private double median(Way way, ToDoubleFunction<Round> value) {
        return Medians.of(rounds.get(way).stream().mapToDouble(value));
    }
}
