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

/** A short soak, in a process of its own, and what it must find out about a loop that is not as it should be. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoakLabTest {
    /** Enough that a leak of a few bytes for each operation is more than what the process may grow by. */
    private static final String OPERATIONS = "300000";

    /** Until the second compiler is through: code that it gives up makes the objects that it had left out. */
    private static final String WARM_UP = "100000";

    private byte[] garbage;

    /** Runs it here. */
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

    @Test
    void shouldFindNativeMemoryThatStays() {
        try (Arena leak = Arena.ofShared()) {
            String message =
                    fail(new Soak(() -> {}, () -> leak.allocate(1 << 20, 8).fill((byte) 1)));
            assertTrue(message.contains("the process has grown by "), message);
        }
    }
}
