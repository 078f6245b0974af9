package org.rdmapanama.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Program;
import picocli.CommandLine;

/** A short soak in a separate process, and the faults that it must detect in a loop. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoakLabTest {
    /** So many that a leak of a few bytes per operation exceeds the permitted growth. */
    private static final String OPERATIONS = "300000";

    /** Until the C2 compiler is done: code that it deoptimizes allocates the objects that it had eliminated. */
    private static final String WARM_UP = "100000";

    private byte[] garbage;

    /** Runs the soak in this process. */
    private static String fail(Soak soak) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine command = soak.commandLine();
        command.setOut(new PrintWriter(out));
        command.setErr(new PrintWriter(err));
        int status = command.execute("--operations", "20000", "--warmup", WARM_UP, "--interval", "1");
        assertEquals(1, status, () -> out.toString() + err);
        assertEquals(1, err.toString().lines().count(), err::toString);
        return err.toString();
    }

    @Test
    void shouldNeitherAllocateNorGrow() throws Exception {
        try (Program soak = Program.java(List.of(), Soak.class, "--operations", OPERATIONS, "--warmup", "50000")) {
            soak.assertSucceeds();
            assertTrue(soak.output().contains(": no byte allocated, "), soak::toString);
        }
    }

    @Test
    void shouldFindOneAllocation() {
        Soak soak = new Soak(() -> garbage = new byte[16], () -> {});
        assertTrue(fail(soak).contains("posting and polling allocated "), () -> "of " + garbage.length + " bytes");
    }

    /** In a process of its own: in that of the tests, what others before it had may be freed meanwhile. */
    @Test
    void shouldFindNativeMemoryThatStays() throws Exception {
        try (Program leaking = Program.java(List.of(), Leaking.class)) {
            leaking.assertSucceeds();
            assertTrue(leaking.output().contains("the process grew by "), leaking::toString);
        }
    }

    /** Prints what a soak says that keeps memory. */
    static final class Leaking {
        private Leaking() {}

        public static void main(String[] arguments) {
            try (Arena leak = Arena.ofShared()) {
                System.out.print(fail(
                        new Soak(() -> {}, () -> leak.allocate(1 << 20, 8).fill((byte) 1))));
            }
        }
    }
}
