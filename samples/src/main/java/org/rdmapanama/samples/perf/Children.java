package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.rdmapanama.samples.Failure;

/** Processes that run for a comparison. Closing this ends those that still run, even after Ctrl-C. */
final class Children implements AutoCloseable {
    private static final long RETRY_MILLIS = 20;

    /** The state of a listening socket in /proc/net/tcp. */
    private static final String LISTENING = "0A";

    private static final int LOCAL_ADDRESS = 1;
    private static final int STATE = 3;

    private final long start = System.nanoTime();
    private final Duration limit;
    private final List<Child> children = new ArrayList<>();

    private record Child(List<String> command, Process process, Path output) {
        String text() throws IOException {
            return Files.readString(output);
        }

        String name() {
            return Path.of(command.getFirst()).getFileName().toString();
        }
    }

    /** Creates an empty set of processes, which may run for at most the limit in total. */
    Children(Duration limit) {
        this.limit = limit;
    }

    /** Whether a program is on the PATH. */
    static boolean isInstalled(String program) {
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }

    /** Starts a program. */
    void start(List<String> command) throws IOException {
        Path output = Files.createTempFile("rdma-perf", ".txt");
        try {
            children.add(new Child(
                    command,
                    new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(output.toFile())
                            .start(),
                    output));
        } catch (IOException e) {
            Files.delete(output);
            throw new Failure("cannot start " + command.getFirst() + ": " + e.getMessage(), e);
        }
    }

    /** Starts a program, waits until it and all others have ended successfully, and returns what it printed. */
    String run(List<String> command) throws IOException, InterruptedException {
        start(command);
        for (Child child : children.reversed()) {
            if (!child.process().waitFor(left(), TimeUnit.NANOSECONDS)) {
                throw new Failure(
                        child.name() + " did not end within " + limit.toSeconds() + " s; it printed: " + child.text());
            }
            if (child.process().exitValue() != 0) {
                throw failed(child);
            }
        }
        return children.getLast().text();
    }

    /** Throws an exception if one of the programs has ended. */
    void checkRunning() throws IOException {
        for (Child child : children) {
            if (!child.process().isAlive()) {
                throw failed(child);
            }
        }
    }

    /** Waits until a started program listens on a TCP port. */
    void awaitListening(int port) throws IOException, InterruptedException {
        while (!isListening(port)) {
            checkRunning();
            if (left() == 0) {
                throw new Failure("no program is listening on TCP port " + port);
            }
            Thread.sleep(RETRY_MILLIS);
        }
    }

    private static Failure failed(Child child) throws IOException {
        return new Failure(
                child.name() + " ended with status " + child.process().exitValue() + "; it printed: " + child.text());
    }

    private long left() {
        return Math.max(0, limit.toNanos() - (System.nanoTime() - start));
    }

    /**
     * Whether a program listens on the port. Looks it up in /proc, because connecting would use up the server's client.
     */
    static boolean isListening(int port) throws IOException {
        String ending = String.format(Locale.ROOT, ":%04X", port);
        for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
            Path file = Path.of(table);
            if (!Files.exists(file)) {
                continue;
            }
            for (String line : Files.readAllLines(file)) {
                String[] words = line.strip().split("\\s+", -1);
                if (words.length > STATE && words[LOCAL_ADDRESS].endsWith(ending) && words[STATE].equals(LISTENING)) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public void close() throws IOException {
        for (Child child : children) {
            child.process().destroyForcibly();
        }
        for (Child child : children) {
            child.process().onExit().join();
            Files.deleteIfExists(child.output());
        }
    }
}
