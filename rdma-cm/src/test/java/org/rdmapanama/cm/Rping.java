package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** A peer in a process of its own: the C program rping, to be stopped and killed. */
final class Rping implements AutoCloseable {
    private static final long LIMIT_NANOS = 20_000_000_000L;

    private final Process process;

    private Rping(String... arguments) throws IOException {
        String[] command = new String[arguments.length + 1];
        command[0] = "rping";
        System.arraycopy(arguments, 0, command, 1, arguments.length);
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(Redirect.DISCARD)
                .start();
    }

    /** One that listens on rxe1 already. */
    static Rping server(int port) throws IOException, InterruptedException {
        Rping server = new Rping("-s", "-a", "10.77.0.2", "-p", Integer.toString(port));
        String own = " pid " + server.process.pid() + " ";
        long start = System.nanoTime();
        while (run("rdma", "resource", "show", "cm_id")
                .lines()
                .noneMatch(line -> line.contains(own) && line.contains("LISTEN"))) {
            if (System.nanoTime() - start > LIMIT_NANOS || !server.process.isAlive()) {
                server.close();
                fail("rping does not listen");
            }
            Thread.sleep(50);
        }
        return server;
    }

    /** One that connects from rxe0 to rxe1. */
    static Rping client(int port) throws IOException {
        return new Rping("-c", "-a", "10.77.0.2", "-I", "10.77.0.1", "-p", Integer.toString(port), "-C", "1000000");
    }

    /** It does nothing any more, but is there. */
    void stop() throws IOException {
        run("kill", "-STOP", Long.toString(process.pid()));
    }

    /** SIGKILL: it has no time for anything. */
    void kill() {
        process.destroyForcibly();
        assertTrue(ends(process), "rping does not die");
    }

    private static boolean ends(Process process) {
        try {
            return process.waitFor(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError("a test was interrupted that ran a command", e);
        }
    }

    @Override
    public void close() {
        kill();
    }

    /** Runs a command; its output. */
    static String run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(ends(process), () -> String.join(" ", command));
        assertEquals(0, process.exitValue(), () -> String.join(" ", command) + ": " + output);
        return output;
    }
}
