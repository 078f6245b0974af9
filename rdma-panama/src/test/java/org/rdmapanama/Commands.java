package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs other programs for tests, each with a bound. */
final class Commands {
    private static final int LIMIT_SECONDS = 180;

    private Commands() {}

    /** How a program ended, and all that it wrote. */
    record Result(int status, String output) {}

    static Result tryTo(String... command) throws IOException {
        Path output = Files.createTempFile("command", ".txt");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            if (!ended) {
                process.destroyForcibly().waitFor();
            }
            String text = Files.readString(output, StandardCharsets.UTF_8);
            assertTrue(ended, () -> String.join(" ", command) + " did not end: " + text);
            return new Result(process.exitValue(), text);
        } catch (InterruptedException e) {
            throw new InterruptedIOException("while " + String.join(" ", command) + " ran");
        } finally {
            Files.delete(output);
        }
    }

    /** What a program writes; it must succeed. */
    static String run(String... command) throws IOException {
        Result result = tryTo(command);
        assertTrue(result.status == 0, () -> String.join(" ", command) + " failed: " + result.output);
        return result.output;
    }

    /** Runs a class with the class path of the tests; the prefix is put before the command of the virtual machine. */
    static Result java(List<String> prefix, Class<?> main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(Arrays.asList(arguments));
        return tryTo(command.toArray(String[]::new));
    }

    /** What the kernel keeps for both devices of the lab, by kind: such as {@code pd 1 cq 1 qp 1 cm_id 0 mr 0 ctx 0}. */
    static List<String> resources() throws IOException {
        String all = run("rdma", "resource", "show");
        return List.of(
                resourcesOf(LabDevices.first().name(), all),
                resourcesOf(LabDevices.second().name(), all));
    }

    private static String resourcesOf(String device, String all) {
        Matcher line =
                Pattern.compile("(?m)^\\d+: " + Pattern.quote(device) + ": .*$").matcher(all);
        assertTrue(line.find(), () -> "rdma resource show does not know " + device + ": " + all);
        return line.group();
    }
}
