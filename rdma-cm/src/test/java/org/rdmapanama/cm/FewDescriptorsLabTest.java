package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Lab;

/** Processes in which no file can be opened, or only a few more: what fails says so, loses nothing, and works later. */
@Tag("lab")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FewDescriptorsLabTest {
    private static final int PORT = 7561;

    /** How each process is started, by what it tries. */
    private static final Map<String, List<String>> PREFIXES = Map.of(
            // Where no device is named, so that it may be chosen.
            "first", List.of("bash", "-c", "unset RDMA_DEVICE; ulimit -n 200 && exec \"$0\" \"$@\""),
            "list",
                    List.of(
                            "unshare",
                            "--mount",
                            "bash",
                            "-c",
                            "mount -t tmpfs none /etc/libibverbs.d && exec \"$0\" \"$@\""),
            "connect", List.of(),
            "open", List.of());

    private static final Map<String, Program> RUNNING = new LinkedHashMap<>();
    private static List<String> before;

    /**
     * In the lab those that take long run at the same time, because each keeps one of its two slow processors busy. On
     * soft0 all run one after the other, because one process at a time can have the port of its packets.
     */
    @BeforeAll
    static void startTheLongOnes() throws Exception {
        before = Lab.resources();
        if (Lab.isInLab()) {
            start("connect");
            start("open");
        }
    }

    private static Program start(String what) throws IOException {
        if (!RUNNING.containsKey(what)) {
            int port = what.equals("open") ? PORT : PORT + 1;
            RUNNING.put(what, Program.java(PREFIXES.get(what), FewDescriptors.class, what, Integer.toString(port)));
        }
        return RUNNING.get(what);
    }

    @AfterAll
    static void endAll() throws IOException {
        for (Program program : RUNNING.values()) {
            program.close();
        }
        RUNNING.clear();
    }

    /** What a process writes, which ends well. */
    private static String outputOf(String what) throws Exception {
        Program program = start(what);
        program.assertSucceeds();
        return program.output();
    }

    /** What the others use is theirs as long as they run. */
    private static void assertNothingLeft() throws Exception {
        for (Program program : RUNNING.values()) {
            program.join();
        }
        Lab.assertNothingLeft(before);
    }

    /** Whatever was tried first: afterwards the process has the devices, and the connection manager, of the machine. */
    @Test
    void shouldRememberNothingOfAFirstUseWithoutDescriptors() throws Exception {
        String output = outputOf("first");
        if (Lab.isInLab()) {
            assertTrue(output.contains("devices [rxe0, rxe1, siw0, siw1, soft0]"), output);
            assertTrue(output.matches("(?s).*channel event channel \\d+\\n.*"), output);
            assertTrue(output.contains("of the connection manager [rxe0, rxe1, siw0, siw1]"), output);
            assertTrue(output.contains("opened rxe0"), output);
        } else {
            assertTrue(output.contains("devices [soft0]"), output);
            assertTrue(output.contains("opened soft0"), output);
        }
    }

    /** As it is where the drivers are not installed, or could not be loaded when they were to. */
    @Test
    void shouldNotTakeAnotherDeviceWhereTheKernelsHaveNoDriver() throws Exception {
        Lab.assumeInLab("there are none");
        String output = outputOf("list");
        for (String each : List.of("no devices: ", "no channel: ")) {
            assertTrue(
                    output.contains(each + "ibv_get_device_list failed: ENODEV") && output.contains("uverbs0"), output);
        }
    }

    /** A server rejects at once what it cannot accept; a caller that holds the request as well. */
    @Test
    void shouldAnswerEveryRequest() throws Exception {
        String output = outputOf("connect");
        assertTrue(output.contains("connecting and accepting needs"), output);
        assertNothingLeft();
    }

    @Test
    void shouldSayWhatIsMissingAndLeakNothing() throws Exception {
        String output = outputOf("open");
        assertEquals(Lab.isInLab(), output.contains("an event channel needs 1\n"), output);
        assertNothingLeft();
    }
}
