package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A C program of rdma-core that runs beside a test; closing this ends it. */
final class Tool implements AutoCloseable {
    private final List<String> command;
    private final Path output;
    private final Process process;

    Tool(String... command) throws IOException {
        this.command = List.of(command);
        output = Files.createTempFile("tool", ".txt");
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
    }

    /** Waits until it ends well. */
    void join() throws InterruptedException {
        assertTrue(process.waitFor(Lab.SECONDS, TimeUnit.SECONDS), () -> "did not end: " + this);
        assertEquals(0, process.exitValue(), this::toString);
    }

    boolean isAlive() {
        return process.isAlive();
    }

    void kill() throws InterruptedException {
        process.destroyForcibly();
        assertTrue(process.waitFor(Lab.SECONDS, TimeUnit.SECONDS), () -> "does not die: " + this);
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
                .orTimeout(Lab.SECONDS, TimeUnit.SECONDS)
                .join();
        Files.deleteIfExists(output);
    }

    @Override
    public String toString() {
        return String.join(" ", command) + "\n" + output();
    }
}
