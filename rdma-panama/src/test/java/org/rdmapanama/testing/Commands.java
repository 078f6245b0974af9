package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.rdmapanama.ffm.Program;

/** Runs other programs for tests, each with a bound. */
public final class Commands {
    private Commands() {}

    /** A main class may go through much, in an emulated lab. */
    private static final int MAIN_SECONDS = 280;

    /** How a program ended, and all that it wrote. */
    public record Result(int status, String output) {}

    /** What a program writes; it must succeed. */
    public static String run(String... command) throws IOException {
        return Program.run(command);
    }

    /** Runs a class with the class path of the tests; the prefix is put before the command of the virtual machine. */
    public static Result java(List<String> prefix, Class<?> main, String... arguments) throws IOException {
        try (Program program = Program.java(prefix, main, arguments)) {
            return new Result(program.join(MAIN_SECONDS), program.output());
        } catch (InterruptedException e) {
            throw new InterruptedIOException("while " + main + " ran");
        }
    }

    /**
     * What the kernel keeps for both devices of the lab, by kind: such as {@code pd 1 cq 1 qp 1 cm_id 0 mr 0 ctx 0}. It
     * keeps nothing for a device that is in this process: such a device refuses to end what something left behind still
     * uses, so that closing fails.
     */
    public static List<String> resources() throws IOException {
        if (!LabDevices.areNative()) {
            return List.of();
        }
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
