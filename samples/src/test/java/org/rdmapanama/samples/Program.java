package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Another program that runs beside a test; closing this ends it. */
final class Program implements AutoCloseable {
    private static final int LIMIT_SECONDS = 120;

    private final List<String> command;
    private final Path output;
    private final Process process;

    private Program(List<String> command) throws IOException {
        this.command = command;
        output = Files.createTempFile("program", ".txt");
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
    }

    static Program start(String... command) throws IOException {
        return new Program(List.of(command));
    }

    /** Starts bin/rdma's main class in a JVM of its own. */
    static Program rdma(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Rdma.class.getName()));
        command.addAll(Arrays.asList(arguments));
        return new Program(command);
    }

    /** Waits until a text was printed. */
    void await(String text) throws IOException, InterruptedException {
        for (int tries = 0; !output().contains(text); tries++) {
            assertTrue(process.isAlive(), () -> "ended without saying '" + text + "': " + this);
            assertTrue(tries < LIMIT_SECONDS * 50, () -> "never said '" + text + "': " + this);
            Thread.sleep(20);
        }
    }

    /** Waits until it ends; its status. */
    int join() throws InterruptedException {
        assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), () -> "did not end: " + this);
        return process.exitValue();
    }

    /** Sends a signal, such as INT. */
    void signal(String name) throws IOException, InterruptedException {
        try (Program kill = start("sh", "-c", "kill -" + name + " " + process.pid())) {
            assertTrue(kill.join() == 0, kill::toString);
        }
    }

    String output() {
        try {
            return Files.readString(output);
        } catch (IOException e) {
            return e.toString();
        }
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly()
                .onExit()
                .orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS)
                .join();
        Files.deleteIfExists(output);
    }

    @Override
    public String toString() {
        return command.getFirst() + " ... " + command.getLast() + "\n" + output();
    }
}
