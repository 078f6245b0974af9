package org.rdmapanama.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Another program that runs beside a test; closing this ends it. */
public final class Program implements AutoCloseable {
    /** Less than the tests' own limits, so that a failure shows what the program wrote. */
    private static final int LIMIT_SECONDS = 100;

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

    /** Starts a C program. It says at once what it does, though not to a terminal. */
    public static Program start(String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of("stdbuf", "-oL"));
        command.addAll(Arrays.asList(words));
        return new Program(command);
    }

    /** Starts a class with the class path of the tests; the prefix is put before the command of the virtual machine. */
    public static Program java(List<String> prefix, Class<?> main, String... arguments) throws IOException {
        return new Program(javaCommand(prefix, main, arguments));
    }

    /** The same, with options of the virtual machine. */
    public static Program javaWith(List<String> options, Class<?> main, String... arguments) throws IOException {
        List<String> command = javaCommand(List.of(), main, arguments);
        command.addAll(1, options);
        return new Program(command);
    }

    /** What that starts. */
    public static List<String> javaCommand(List<String> prefix, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(prefix);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        String archive = System.getProperty("tests.archive");
        if (archive != null) {
            // Says nothing if the archive does not fit: the virtual machine then starts more slowly, and that is all.
            command.addAll(List.of("-XX:AOTCache=" + archive, "-Xlog:aot=off", "-Xlog:cds=off"));
        }
        command.addAll(List.of(
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(Arrays.asList(arguments));
        return command;
    }

    /** What a program writes; it must succeed. */
    public static String run(String... command) throws IOException {
        // It need not say at once what it does.
        try (Program program = new Program(List.of(command))) {
            program.assertSucceeds();
            return program.output();
        } catch (InterruptedException e) {
            throw new InterruptedIOException("while " + String.join(" ", command) + " ran");
        }
    }

    /** Waits until a text was printed. */
    public void await(String text) throws InterruptedException {
        for (int tries = 0; !output().contains(text); tries++) {
            assertTrue(process.isAlive(), () -> "ended without saying '" + text + "': " + this);
            assertTrue(tries < LIMIT_SECONDS * 50, () -> "never said '" + text + "': " + this);
            Thread.sleep(20);
        }
    }

    /** Waits until it ends; its status. */
    public int join() throws InterruptedException {
        return join(LIMIT_SECONDS);
    }

    /** Waits until it ends, for so many seconds at most; its status. */
    public int join(int seconds) throws InterruptedException {
        assertTrue(process.waitFor(seconds, TimeUnit.SECONDS), () -> "did not end: " + this);
        return process.exitValue();
    }

    /** Waits until it ends, which it must do well. */
    public void assertSucceeds() throws InterruptedException {
        assertEquals(0, join(), this::toString);
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    public long pid() {
        return process.pid();
    }

    /** Sends a signal, such as INT. */
    public void signal(String name) throws IOException {
        run("kill", "-" + name, Long.toString(pid()));
    }

    /** Ends it by SIGKILL: it has no time for anything. */
    public void kill() {
        process.destroyForcibly()
                .onExit()
                .orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS)
                .join();
    }

    /** What it has written so far, to its output and its errors. */
    public String output() {
        try {
            return Files.readString(output);
        } catch (IOException e) {
            return e.toString();
        }
    }

    @Override
    public void close() throws IOException {
        kill();
        Files.deleteIfExists(output);
    }

    /** Its command, without a class path, and what it wrote. */
    @Override
    public String toString() {
        List<String> words = new ArrayList<>(command);
        words.remove(System.getProperty("java.class.path"));
        return String.join(" ", words) + "\n" + output();
    }
}
