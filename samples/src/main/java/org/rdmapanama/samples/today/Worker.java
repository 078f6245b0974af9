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

/** A {@link TodayWorker} in a process of its own; closing this ends it. Threads: one. */
final class Worker implements AutoCloseable {
    private static final String END = "ended";
    private static final int SECONDS_TO_END = 10;
    private static final int SLICE_MILLIS = 100;

    private final String name;
    private final Duration limit;
    private final Process process;
    private final BufferedWriter in;
    private final BlockingQueue<String> said = new LinkedBlockingQueue<>();

    /** Starts one, which takes a moment until it says that it is ready. */
    Worker(String name, Duration limit, List<String> arguments) throws IOException {
        this.name = name;
        this.limit = limit;
        // The processor time of a thread that ends is not counted.
        List<String> command = OwnJvm.command(TodayWorker.class, List.of("-XX:-UseDynamicNumberOfCompilerThreads"));
        command.addAll(arguments);
        process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
        in = process.outputWriter(StandardCharsets.US_ASCII);
        // Reading cannot be interrupted; waiting for what was read can.
        Thread.ofPlatform().daemon().name(name).start(this::listen);
    }

    private void listen() {
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            out.lines().forEach(said::add);
        } catch (IOException | UncheckedIOException e) {
            // It was ended.
        }
        said.add(END);
    }

    /** Tells it what to do. */
    void tell(String line) {
        try {
            in.write(line);
            in.newLine();
            in.flush();
        } catch (IOException e) {
            // It has gone: what it said last tells why.
        }
    }

    /**
     * Waits until it says this word.
     *
     * @param other the other one: when that fails, this one may wait for it in vain
     * @return the rest of the line
     */
    String await(String word, Worker other) throws InterruptedException {
        return await(word, other, limit);
    }

    /** {@link #await(String, Worker)} for a time of its own. */
    String await(String word, Worker other, Duration limit) throws InterruptedException {
        long start = System.nanoTime();
        String line = null;
        while (line == null) {
            line = said.poll(SLICE_MILLIS, TimeUnit.MILLISECONDS);
            if (line == null) {
                other.checkFailed();
                if (System.nanoTime() - start > limit.toNanos()) {
                    throw new Failure("the " + name + " did not get on in " + limit.toSeconds()
                            + " s: move less with --size, or wait longer with --timeout");
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
                        ? "the " + name + " has ended all at once"
                        : "the " + name + " " + line.replaceFirst("^failed ", "failed: "));
    }

    long pid() {
        return process.pid();
    }

    @Override
    public void close() {
        process.destroyForcibly()
                .onExit()
                .orTimeout(SECONDS_TO_END, TimeUnit.SECONDS)
                .exceptionally(late -> process)
                .join();
    }
}
