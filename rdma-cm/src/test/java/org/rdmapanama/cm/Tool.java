package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A C program that runs beside a test; closing this ends it. */
final class Tool implements AutoCloseable {
    private static final int LIMIT_SECONDS = 40;

    private final List<String> command;
    private final Path output;
    private final Process process;

    private Tool(List<String> command) throws IOException {
        this.command = command;
        output = Files.createTempFile("tool", ".txt");
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
    }

    static Tool start(String... words) throws IOException {
        // It says at once what it does, though not to a terminal.
        List<String> command = new ArrayList<>(List.of("stdbuf", "-oL"));
        command.addAll(List.of(words));
        return new Tool(command);
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

    void assertSucceeds() throws InterruptedException {
        assertEquals(0, join(), this::toString);
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
        return String.join(" ", command) + "\n" + output();
    }
}
