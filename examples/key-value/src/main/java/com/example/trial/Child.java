package com.example.trial;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Another Java process of the trial, which obeys words on its standard input and answers with lines. */
final class Child implements AutoCloseable {
    private static final long LIMIT_SECONDS = 60;

    private final String name;
    private final Process process;
    private final BufferedWriter input;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final Path errors;

    /** Starts a class with the class path of this process. What it writes to standard error goes to a file in the folder. */
    Child(Path folder, String name, List<String> options, Class<?> main, Object... arguments) throws IOException {
        this.name = name;
        errors = folder.resolve(name + ".err");
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("--enable-native-access=ALL-UNNAMED");
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        for (Object each : arguments) {
            command.add(each.toString());
        }
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.appendTo(new File(errors.toString())));
        builder.environment().put("RDMA_DEVICE", "soft0");
        process = builder.start();
        input = process.outputWriter();
        BufferedReader output = process.inputReader();
        Thread.ofPlatform().daemon().start(() -> output.lines().forEach(lines::add));
    }

    long pid() {
        return process.pid();
    }

    void tell(String word) throws IOException {
        input.write(word);
        input.newLine();
        input.flush();
    }

    /** Waits for a line that begins with a word, and returns the rest of it. Lines before it go to the list, unless it is null. */
    String await(String word, List<String> others) throws InterruptedException, IOException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (System.nanoTime() < end) {
            String line = lines.poll(100, TimeUnit.MILLISECONDS);
            if (line != null && line.startsWith(word)) {
                return line.substring(word.length()).strip();
            }
            if (line != null && others != null) {
                others.add(line);
            }
            if (line == null && !process.isAlive() && lines.isEmpty()) {
                throw new IOException(name + " ended, and did not say '" + word + "': see " + errors);
            }
        }
        throw new IOException(name + " did not say '" + word + "' within " + LIMIT_SECONDS + " s: see " + errors);
    }

    String await(String word) throws InterruptedException, IOException {
        return await(word, null);
    }

    String ask(String word, String answer) throws InterruptedException, IOException {
        tell(word);
        return await(answer);
    }

    void signal(String signal) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + signal, Long.toString(pid())).inheritIO().start().waitFor();
    }

    /** By SIGKILL. */
    void kill() {
        process.destroyForcibly().onExit().join();
    }

    void join() throws InterruptedException, IOException {
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new IOException(name + " does not end");
        }
    }

    /** What it wrote to standard error. */
    String errors() throws IOException {
        return Files.exists(errors) ? Files.readString(errors) : "";
    }

    @Override
    public void close() {
        kill();
    }
}
