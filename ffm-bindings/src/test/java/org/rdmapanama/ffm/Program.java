package org.rdmapanama.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.testing.Bound;

/** Another program that runs beside a test; closing this ends it. */
public final class Program implements AutoCloseable {
    /** Less than the tests' own limits, so that a failure shows what the program wrote. */
    private static final int LIMIT_SECONDS = Bound.patient(100);

    /**
     * For the processes that end soon. They use the same memory again: a page that is touched for the first time is expensive
     * in a kernel as a process.
     */
    private static final String SMALL_YOUNG_GENERATION = "-Xmn4m";

    private static final String ARCHIVE_PATH = "tests.archive.path";
    private static final String FIRST_PORT = "tests.firstPort";
    private static final int OWN_PORTS = 21_000;
    private static final int PORTS_OF_OTHERS = 25_000;
    private static final int PORTS_EACH = 500;
    private static final int RANGES = 12;

    /** The first UDP port at which soft0 of another process tries to receive. */
    private static final int SOFT_PORT_OF_OTHERS = 4801;

    /** How many have been started. */
    private static final AtomicInteger STARTED = new AtomicInteger();

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

    /** Starts a program that says at once what it does by itself. */
    public static Program startPlain(List<String> command) throws IOException {
        return new Program(command);
    }

    /** Starts a class with the class path of the tests; the prefix is put before the command of the virtual machine. */
    public static Program java(List<String> prefix, Class<?> main, String... arguments) throws IOException {
        return new Program(javaCommand(prefix, List.of(SMALL_YOUNG_GENERATION), main, arguments));
    }

    /** The same, with options of the virtual machine. */
    public static Program javaWith(List<String> options, Class<?> main, String... arguments) throws IOException {
        List<String> all = new ArrayList<>(List.of(SMALL_YOUNG_GENERATION));
        all.addAll(options);
        return new Program(javaCommand(List.of(), all, main, arguments));
    }

    /** The first of the ports for tests of this process: a process that a test started has others than the test. */
    public static int firstPort() {
        return Integer.getInteger(FIRST_PORT, OWN_PORTS);
    }

    /** The options by which another virtual machine has those of these properties that this one has. */
    public static List<String> sameProperties(String... names) {
        return Arrays.stream(names)
                .filter(name -> System.getProperty(name) != null)
                .map(name -> "-D" + name + "=" + System.getProperty(name))
                .toList();
    }

    /** The command line of a virtual machine that runs a class, with more options after those that all have. */
    public static List<String> javaCommand(
            List<String> prefix, List<String> options, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(prefix);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        String archive = System.getProperty("tests.archive");
        if (archive != null) {
            // Says nothing if the archive does not fit: the virtual machine then starts more slowly, and that is all.
            // It maps the
            // archive at the address for which that was made: elsewhere it would have to change each page.
            command.addAll(List.of(
                    "-XX:AOTCache=" + archive,
                    "-Xlog:aot=off",
                    "-Xlog:cds=off",
                    "-XX:+UnlockDiagnosticVMOptions",
                    "-XX:ArchiveRelocationMode=0"));
        }
        if ("soft0".equals(System.getenv("RDMA_DEVICE"))) {
            // Not the usual one: the tests of this process, whose device is closed in between, find that free.
            command.add("-Dorg.rdmapanama.soft.port=" + SOFT_PORT_OF_OTHERS);
        }
        command.addAll(List.of(
                "-D" + FIRST_PORT + "=" + (PORTS_OF_OTHERS + STARTED.getAndIncrement() % RANGES * PORTS_EACH),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "--enable-native-access=ALL-UNNAMED"));
        command.addAll(sameProperties(Bound.PATIENCE));
        command.addAll(options);
        command.addAll(List.of("-cp", classPath(), main.getName()));
        command.addAll(Arrays.asList(arguments));
        return command;
    }

    /** Of the tests, or a longer one that has an archive of classes. */
    private static String classPath() {
        return System.getProperty(ARCHIVE_PATH, System.getProperty("java.class.path"));
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

    /** Sends a signal, such as INT. After STOP it waits until no thread of the program runs any more. */
    public void signal(String name) throws IOException, InterruptedException {
        run("kill", "-" + name, Long.toString(pid()));
        if (name.equals("STOP")) {
            // The threads stop when one of them has got the signal, for which it needs a processor.
            Bound.ofSeconds(LIMIT_SECONDS).await(() -> "does not stop: " + this, this::isStopped);
        }
    }

    private boolean isStopped() throws IOException {
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc", Long.toString(pid()), "task"))) {
            for (Path each : threads) {
                if (!isStopped(each)) {
                    return false;
                }
            }
            return true;
        }
    }

    private static boolean isStopped(Path thread) throws IOException {
        try {
            // Such as: 17 (name) T 1. The name may be anything.
            String stat = Files.readString(thread.resolve("stat"));
            return stat.startsWith(") T ", stat.lastIndexOf(')'));
        } catch (NoSuchFileException e) {
            // The thread has ended, or ends.
            return false;
        }
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
        words.remove(classPath());
        return String.join(" ", words) + "\n" + output();
    }
}
