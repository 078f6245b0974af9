package com.example.trial;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Shows that a {@link com.example.KeyValueServer} survives what a day brings: as many connections as one a second for a day,
 * within ten minutes, while clients are killed and stopped, the server is killed and started again, and another thread closes
 * its arena. Prints what happened and whether all was right; the status is 0 if it was, and 1 if not. Runs on soft0.
 *
 * <p>Arguments: {@code --seconds N}, 20 or more, 600 by default; {@code --folder F} for the recording and what the processes
 * write to standard error, a new one by default; {@code --top COMMAND}, such as {@code bin/rdma}, which is asked for {@code top
 * --once}.
 */
public final class Trial {
    private static final int PORT = 7475;
    private static final int DAY = 86_400;
    private static final int DAY_SECONDS = 600;

    /** More than wanted, to make up for the pauses. */
    private static final double RATE = 1.15 * DAY / DAY_SECONDS;

    private static final int PROCESSES = 2;
    private static final int THREADS = 8;

    /** The connections of a client that is killed or stopped. */
    private static final int HELD = 4;

    private static final int MOST_ROUNDS = 60;
    private static final int NOTICED_SECONDS = 20;
    private static final List<String> SMALL = List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx64m");

    // What the server may have more at the end than at the beginning: less than a byte, and a thousandth of a descriptor, for
    // each connection of a long trial. The heap also has what the JVM itself keeps of classes, code and the recording.
    private static final long MORE_HEAP = 3 << 20;
    private static final long MORE_SEGMENTS = 64 << 10;
    private static final long MORE_DESCRIPTORS = 4;
    private static final long MORE_THREADS = 1;

    private final int seconds;
    private final Path folder;
    private final List<String> top;
    private final Report report = new Report();
    private final Random random = new Random(1);
    private final List<Child> churning = new ArrayList<>();
    private final Totals totals = new Totals();
    private final Map<String, Long> failures = new TreeMap<>();
    private Child server;

    /** What the closed servers of this process have counted, and all of it together. */
    private final Totals counted = new Totals();

    /** How many clients there were besides those that come and go; their names have it, and so their keys. */
    private int clients;

    // What must have happened since the server was started the second time.
    private long killed;
    private long stopped;
    private long tooLong;
    private long dismissed;
    private long losses;

    private Trial(int seconds, Path folder, List<String> top) {
        this.seconds = seconds;
        this.folder = folder;
        this.top = top;
    }

    public static void main(String[] args) throws Exception {
        int seconds = DAY_SECONDS;
        Path folder = null;
        List<String> top = List.of();
        for (int i = 0; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--seconds" -> seconds = Math.max(20, Integer.parseInt(args[i + 1]));
                case "--folder" -> folder = Files.createDirectories(Path.of(args[i + 1]).toAbsolutePath().normalize());
                case "--top" -> top = Arrays.asList(args[i + 1].split(" "));
                default -> throw new IllegalArgumentException(args[i]);
            }
        }
        Trial trial = new Trial(seconds, folder == null ? Files.createTempDirectory("trial") : folder, top);
        int status = 1;
        try {
            status = trial.run() ? 0 : 1;
        } catch (IOException | InterruptedException | RuntimeException e) {
            e.printStackTrace(System.out);
        }
        System.out.println(
                status == 0 ? "The server survived." : "The server did NOT survive all of it: see " + trial.folder);
        System.exit(status);
    }

    private boolean run() throws Exception {
        try {
            report.note("%d s, files in %s", seconds, folder);
            startServer("server-1");
            for (int i = 0; i < PROCESSES; i++) {
                churning.add(new Child(
                        folder, "churn-" + i, SMALL, TrialClient.class, "churn", PORT, "churn-" + i, THREADS, RATE / PROCESSES));
            }
            killAClient();
            sleepUntil(0.1);
            killTheServer();
            // Once of everything, so that its classes are there and its code is compiled.
            showTop();
            closeTheArena();
            killAClient();
            sleepUntil(0.2);
            Map<String, Long> first = measure("first");
            for (int round = 0; report.seconds() < 0.85 * seconds || round < 4; round++) {
                long next = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds) / MOST_ROUNDS;
                play(round);
                sleep(next - System.nanoTime());
            }
            showTop();
            sleepUntil(0.97);
            Map<String, Long> last = measure("last");
            finish(first, last);
            return report.failed() == 0;
        } finally {
            for (Child each : churning) {
                each.close();
            }
            if (server != null) {
                server.close();
            }
        }
    }

    private void play(int round) throws Exception {
        switch (round % 8) {
            case 0, 4, 6 -> killAClient();
            case 1, 5 -> stopAClient();
            case 2 -> beHostile();
            default -> closeTheArena();
        }
    }

    private void sleepUntil(double part) throws InterruptedException {
        sleep((long) ((part * seconds - report.seconds()) * 1e9));
    }

    private static void sleep(long nanos) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(Math.max(0, nanos));
    }

    // What happens.

    private void startServer(String name) throws Exception {
        server = new Child(
                folder,
                name,
                List.of(
                        "-XX:+UseSerialGC",
                        "-Xms128m",
                        "-Xmx128m",
                        "-Dorg.rdmapanama.jmx=true",
                        "-Xlog:jfr*=off",
                        "-XX:StartFlightRecording:filename=" + folder.resolve(name + ".jfr")),
                TrialServer.class,
                PORT);
        server.await("listening");
        report.note("the server listens, process %d", server.pid());
    }

    private Child connectedClient(String name) throws Exception {
        Child client = new Child(folder, name, SMALL, TrialClient.class, "hold", PORT, name, HELD);
        client.await("connected");
        return client;
    }

    private void killAClient() throws Exception {
        try (Child client = connectedClient("killed-" + ++clients)) {
            long before = counts().get("lost");
            sleep(random.nextLong(500_000_000));
            client.kill();
            killed += HELD;
            report.note("killed a client: %d connections lost, known after %d ms", HELD, awaitLost(before + HELD));
        }
    }

    private void stopAClient() throws Exception {
        try (Child client = connectedClient("stopped-" + ++clients)) {
            long before = counts().get("lost");
            client.signal("STOP");
            stopped += HELD;
            report.note("stopped a client: %d connections lost, known after %d ms", HELD, awaitLost(before + HELD));
            client.signal("CONT");
            client.await("connected");
            client.ask("reopen", "reopened");
            client.await("connected");
            collect(client);
            client.ask("stop", "stopped");
            client.join();
            report.note("let it continue, and closed its arena: it has connected again, twice");
        }
    }

    private void beHostile() throws Exception {
        try (Child hostile = new Child(folder, "hostile", SMALL, Hostile.class, PORT)) {
            long before = counts().get("lost");
            String result = hostile.await("totals");
            hostile.join();
            Map<String, Long> all = Totals.parse(result);
            tooLong += all.getOrDefault("tooLong", 0L);
            dismissed += all.getOrDefault("flood", 0L);
            awaitLost(before + 1);
            report.check(!all.containsKey("wrong"), "a hostile client got what it deserves: %s", result);
        }
    }

    private void closeTheArena() throws Exception {
        server.tell("reopen");
        String counts = server.await("closed");
        counted.addAll(counts);
        server.await("listening");
        losses++;
        report.note("closed the server's arena in another thread, and opened another one: %s", counts);
    }

    private void killTheServer() throws Exception {
        server.kill();
        losses++;
        report.note("killed the server");
        startServer("server-2");
        killed = 0;
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(NOTICED_SECONDS);
        while (counts().get("accepted") < THREADS && System.nanoTime() < end) {
            sleep(10_000_000);
        }
        report.check(counts().get("accepted") >= THREADS, "clients connect again to the restarted server");
    }

    private Map<String, Long> counts() throws Exception {
        return Totals.parse(server.ask("counts", "counts"));
    }

    /** Waits until the server has lost so many connections. Returns how long it took, in milliseconds. */
    private long awaitLost(long wanted) throws Exception {
        long start = System.nanoTime();
        long lost = counts().get("lost");
        while (lost < wanted && System.nanoTime() - start < TimeUnit.SECONDS.toNanos(NOTICED_SECONDS)) {
            sleep(5_000_000);
            lost = counts().get("lost");
        }
        if (lost != wanted) {
            report.check(false, "the server has lost %d connections, and not %d", lost, wanted);
        }
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    }

    /** Measures the server while it has no clients. */
    private Map<String, Long> measure(String when) throws Exception {
        for (Child each : churning) {
            each.ask("pause", "paused");
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(NOTICED_SECONDS);
        Map<String, Long> counts = counts();
        while (counts.get("open") > 0 && System.nanoTime() < end) {
            sleep(20_000_000);
            counts = counts();
        }
        String measured = server.ask("measure", "measured");
        report.note("%s measurement: %s; %s", when, measured, counts());
        for (Child each : churning) {
            each.tell("resume");
        }
        return Totals.parse(measured);
    }

    private void collect(Child client) throws Exception {
        List<String> others = new ArrayList<>();
        client.tell("totals");
        totals.addAll(client.await("totals", others));
        for (String each : others) {
            String[] words = each.split(" ", 3);
            if (words[0].equals("failure")) {
                failures.merge(words[2], Long.parseLong(words[1]), Long::sum);
            }
        }
    }

    // What must be right.

    private void showTop() throws Exception {
        if (top.isEmpty()) {
            report.note("not asked 'rdma top', because --top names no command");
            return;
        }
        List<String> command = new ArrayList<>(top);
        command.addAll(List.of("top", "--once"));
        Map<String, Long> before = counts();
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String output = new String(process.getInputStream().readAllBytes());
        Map<String, Long> after = counts();
        report.note("%s:%n%s", String.join(" ", command.subList(command.size() - 2, command.size())), output.strip());
        Matcher row = Pattern.compile(
                        "(?m)^soft0 +1 +" + server.pid() + " +([\\d.]+) +([\\d.]+) +(\\d+) +(\\d+) +\\d+$")
                .matcher(output);
        report.check(row.find() && Long.parseLong(row.group(4)) > 100, "top shows what the server receives");
        Matcher line = Pattern.compile("(?m)^process " + server.pid() + ": .*server at 127.0.0.1:" + PORT
                        + ": (\\d+) open, (\\d+) accepted, (\\d+) refused, (\\d+) ended, (\\d+) lost")
                .matcher(output);
        boolean found = line.find();
        report.check(
                found
                        && Long.parseLong(line.group(1)) <= PROCESSES * THREADS
                        && isBetween(before.get("accepted"), line.group(2), after.get("accepted"))
                        && isBetween(before.get("ended"), line.group(4), after.get("ended"))
                        && isBetween(before.get("lost"), line.group(5), after.get("lost")),
                "top shows as many connections as the server counts: %s, then %s",
                before,
                after);
    }

    private static boolean isBetween(long least, String number, long most) {
        return Long.parseLong(number) >= least && Long.parseLong(number) <= most;
    }

    private void finish(Map<String, Long> first, Map<String, Long> last) throws Exception {
        for (Child each : churning) {
            collect(each);
            each.ask("stop", "stopped");
            each.join();
        }
        double took = report.seconds();
        server.tell("stop");
        counted.addAll(server.await("closed"));
        server.join();
        report.note("the server has ended. What it counted in its second process: %s", counted);
        report.note("What the clients counted: %s", totals);
        failures.forEach((what, count) -> report.note("%d clients failed: %s", count, what));

        long connections = totals.get("connections");
        System.out.printf(
                "%n%d connections in %.0f s, %.0f a second; one a second would be %.1f hours%n%n",
                connections, took, connections / took, connections / 3600.0);
        report.check(totals.get("values") > 0 && totals.get("wrong") == 0, "all %d values that were read had been written", totals.get("values"));
        long most = losses * Worker.KEYS * (PROCESSES * THREADS + HELD);
        report.check(
                totals.get("forgotten") <= most,
                "%d values were gone after the server was lost %d times, at most %d",
                totals.get("forgotten"),
                losses,
                most);
        report.check(totals.get("unexpected") == 0, "clients saw no exception but those of lost connections");
        checkGrowth("heap", first, last, MORE_HEAP);
        checkGrowth("segments", first, last, MORE_SEGMENTS);
        checkGrowth("registered", first, last, 0);
        checkGrowth("objects", first, last, 0);
        checkGrowth("descriptors", first, last, MORE_DESCRIPTORS);
        checkGrowth("threads", first, last, MORE_THREADS);
        checkErrors();
        checkCounts();
    }

    /** Warnings of the library, and what a client saw that was killed before it could tell. */
    private void checkErrors() throws IOException {
        List<String> lines = new ArrayList<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path each : files.filter(file -> file.toString().endsWith(".err")).toList()) {
                lines.addAll(Files.readAllLines(each));
            }
        }
        report.check(lines.isEmpty(), "the processes wrote %d lines to standard error", lines.size());
        lines.stream().limit(10).forEach(System.out::println);
    }

    private void checkGrowth(String what, Map<String, Long> first, Map<String, Long> last, long most) {
        report.check(
                last.get(what) - first.get(what) <= most,
                "%s: %,d at first, %,d at last",
                what,
                first.get(what),
                last.get(what));
    }

    private void checkCounts() throws IOException {
        long lost = killed + stopped + tooLong;
        long accepted = counted.get("accepted");
        report.check(counted.get("open") == 0, "no connection is open at the end");
        report.check(
                counted.get("lost") == lost,
                "the server lost %d connections: %d of killed clients, %d of stopped ones, %d of too long messages",
                counted.get("lost"),
                killed,
                stopped,
                tooLong);
        long ended = counted.get("ended");
        long closed = accepted - ended;
        long mostClosed = dismissed + losses * (PROCESSES * THREADS);
        report.check(
                closed >= dismissed && closed <= mostClosed,
                "%d accepted = %d ended by clients + %d lost + %d closed by the server, %d of them for a flood",
                accepted,
                ended - counted.get("lost"),
                counted.get("lost"),
                closed,
                dismissed);
        Recording recording = Recording.read(folder.resolve("server-2.jfr"));
        report.note("events of the recording: %s", recording.events());
        report.note("why connections ended, by the recording: %s", recording.reasons());
        report.check(
                recording.made() >= accepted && recording.made() <= accepted + losses * PROCESSES * THREADS,
                "the recording has %d connections made",
                recording.made());
        report.check(recording.lost() == lost, "the recording has %d connections lost", recording.lost());
        // The program never saw those that came and went just when an arena was closed.
        long unseen = recording.made() - accepted;
        report.check(
                recording.endedByPeer() >= ended - counted.get("lost")
                        && recording.endedByPeer() <= ended - counted.get("lost") + unseen,
                "the recording has %d connections ended by clients",
                recording.endedByPeer());
    }
}
