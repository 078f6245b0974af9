package org.rdmapanama.samples.today;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.OwnJvm;

/** A {@link TodayWorker} in a separate process; closing this ends the process. Threads: one. */
final class Worker implements AutoCloseable {
    private static final String END = "ended";
    private static final int SECONDS_TO_END = 10;
    private static final int SLICE_MILLIS = 100;

    private final String name;
    private final Duration limit;
    private final Process process;
    private final BufferedWriter in;
    private final BlockingQueue<String> said = new LinkedBlockingQueue<>();

    /** Starts the process, which takes a moment to become ready. */
    Worker(String name, Duration limit, List<String> arguments) throws IOException {
        this.name = name;
        this.limit = limit;
        // CpuTime does not count the processor time of threads that have ended.
        List<String> command = OwnJvm.command(TodayWorker.class, List.of("-XX:-UseDynamicNumberOfCompilerThreads"));
        command.addAll(arguments);
        process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
        in = process.outputWriter(StandardCharsets.US_ASCII);
        // Reading cannot be interrupted, but waiting for what was read can.
        Thread.ofPlatform().daemon().name(name).start(this::listen);
    }

    private void listen() {
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            out.lines().forEach(said::add);
        } catch (IOException | UncheckedIOException e) {
            // The process was ended.
        }
        said.add(END);
    }

    /** Sends a command to the process. */
    void tell(String line) {
        try {
            in.write(line);
            in.newLine();
            in.flush();
        } catch (IOException e) {
            // The process has ended; its last words say why.
        }
    }

    /**
     * Waits until the process says the given word.
     *
     * @param other the other process, whose failure may be the reason that this one does not answer
     * @return the rest of the line
     */
    String await(String word, Worker other) throws InterruptedException {
        return await(word, other, limit);
    }

    /** {@link #await(String, Worker)} with a separate time limit. */
    String await(String word, Worker other, Duration limit) throws InterruptedException {
        long start = System.nanoTime();
        String line = null;
        while (line == null) {
            line = said.poll(SLICE_MILLIS, TimeUnit.MILLISECONDS);
            if (line == null) {
                other.checkFailed();
                if (System.nanoTime() - start > limit.toNanos()) {
                    throw new Failure("the " + name + " made no progress for " + limit.toSeconds()
                            + " s: move less data with --size, or give a longer --timeout");
                }
            }
        }
        if (line.equals(word) || line.startsWith(word + " ")) {
            return line.substring(word.length()).strip();
        }
        throw failure(line);
    }

    private void checkFailed() {
        String next = said.peek();
        if (next != null && (next.equals(END) || next.startsWith("failed "))) {
            throw failure(next);
        }
    }

    private Failure failure(String line) {
        return new Failure(
                line.equals(END)
                        ? "the " + name + " ended unexpectedly"
                        : "the " + name + " " + line.replaceFirst("^failed ", "failed: "));
    }

    long pid() {
        return process.pid();
    }

    @Override
    public void close() {
        OwnJvm.awaitEnd(process.destroyForcibly(), SECONDS_TO_END);
    }
}
