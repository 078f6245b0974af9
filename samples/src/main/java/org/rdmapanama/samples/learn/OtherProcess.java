package org.rdmapanama.samples.learn;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.OwnJvm;
import org.rdmapanama.samples.PacketCapture;
import org.rdmapanama.samples.Rdma;

/** A command or a program of this module in a second process, and what it prints. Closing this ends it. Threads: one. */
final class OtherProcess implements AutoCloseable {
    /** So many lines are kept for a message. */
    private static final int KEPT = 20;

    private static final int SECONDS_TO_END = 10;
    private static final int SECONDS_TO_CLOSE = 4;

    private final Duration limit;
    private final Process process;
    private final BlockingQueue<Line> lines = new LinkedBlockingQueue<>();
    private final Deque<String> skipped = new ArrayDeque<>();

    /** Whether a message has what the process printed. */
    private boolean told;

    /** Something that was printed; null at the end. */
    private record Line(String text) {}

    /**
     * Starts a command.
     *
     * @param limit how long to wait for each line, and for the end
     */
    OtherProcess(List<String> arguments, Duration limit) throws IOException {
        this(Rdma.class, List.of(), arguments, limit);
    }

    /** Starts another program of this module, with options of its JVM. */
    OtherProcess(Class<?> program, List<String> options, Duration limit) throws IOException {
        this(program, options, List.of(), limit);
    }

    private OtherProcess(Class<?> program, List<String> options, List<String> arguments, Duration limit)
            throws IOException {
        this.limit = limit;
        // The file of this process, which the variable JDK_JAVA_OPTIONS may name, is not for the packets of both.
        List<String> jvmOptions = new ArrayList<>(options);
        jvmOptions.add("-D" + PacketCapture.PROPERTY + "=");
        List<String> command = new ArrayList<>(OwnJvm.command(program, jvmOptions));
        command.addAll(arguments);
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        // Reading cannot be interrupted, but waiting for what was read can.
        Thread.ofPlatform().daemon().name("other-process").start(this::read);
    }

    private void read() {
        try (BufferedReader in = process.inputReader()) {
            in.lines().map(Line::new).forEach(lines::add);
        } catch (IOException | UncheckedIOException e) {
            // The process was ended.
        }
        lines.add(new Line(null));
    }

    /** Writes a line to its standard input. If it has ended, what it printed says why. */
    void tell(String line) {
        try {
            Writer in = process.outputWriter();
            in.write(line + System.lineSeparator());
            in.flush();
        } catch (IOException e) {
            // It has ended, which the next line that is waited for shows.
        }
    }

    /** Waits for the next line with a beginning, and skips others. */
    String next(String beginning) throws InterruptedException {
        long start = System.nanoTime();
        while (true) {
            Line line = lines.poll(limit.toNanos() - (System.nanoTime() - start), TimeUnit.NANOSECONDS);
            if (line == null) {
                throw new Failure("the second process printed nothing for " + limit.toSeconds() + " s" + text());
            }
            if (line.text == null) {
                lines.add(line);
                // It closes its output a moment before it is gone.
                process.waitFor(SECONDS_TO_END, TimeUnit.SECONDS);
                throw new Failure("the second process ended too early" + text());
            }
            if (line.text.startsWith(beginning)) {
                return line.text;
            }
            skip(line.text);
        }
    }

    /** Returns what follows the beginning in the next line that has it. */
    String nextAfter(String beginning) throws InterruptedException {
        return next(beginning).substring(beginning.length());
    }

    private void skip(String text) {
        if (!text.isBlank()) {
            skipped.add(text);
        }
        if (skipped.size() > KEPT) {
            skipped.remove();
        }
    }

    /** Waits until the process has ended, which it must do well. */
    void awaitEnd() throws InterruptedException {
        if (!process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new Failure("the second process did not end within " + limit.toSeconds() + " s" + text());
        }
        if (process.exitValue() != 0) {
            throw new Failure("the second process failed" + text());
        }
    }

    /** Adds what the process said to the reason for which this side failed: it may be the cause. */
    RuntimeException explain(RuntimeException reason) throws InterruptedException {
        if (!told && process.waitFor(SECONDS_TO_END, TimeUnit.SECONDS) && process.exitValue() != 0) {
            return new Failure(reason.getMessage() + "; the second process failed" + text(), reason);
        }
        return reason;
    }

    /** What the process printed, and how it ended if it has. */
    private String text() throws InterruptedException {
        told = true;
        String end = process.isAlive() ? "" : ", with status " + process.exitValue();
        // What a process has printed that is gone will be read soon.
        long seconds = process.isAlive() ? 0 : SECONDS_TO_END;
        Line line = lines.poll(seconds, TimeUnit.SECONDS);
        while (line != null && line.text != null) {
            skip(line.text);
            line = lines.poll(seconds, TimeUnit.SECONDS);
        }
        return end + (skipped.isEmpty() ? "" : ": " + String.join(" / ", skipped));
    }

    @Override
    public void close() {
        // Gives it time to delete its files; then it must end, also if it is stopped.
        process.destroy();
        OwnJvm.awaitEnd(process, SECONDS_TO_CLOSE);
        OwnJvm.awaitEnd(process.destroyForcibly(), SECONDS_TO_CLOSE);
    }
}
