package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
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

    /** Whatever was tried first: afterwards the process has the devices, and the connection manager, of the machine. */
    @Test
    void shouldRememberNothingOfAFirstUseWithoutDescriptors() throws Exception {
        // Where no device is named, so that it may be chosen.
        List<String> prefix = List.of("bash", "-c", "unset RDMA_DEVICE; ulimit -n 200 && exec \"$0\" \"$@\"");
        try (Program program = Program.java(prefix, FewDescriptors.class, "first")) {
            program.assertSucceeds();
            String output = program.output();
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
    }

    /** As it is where the drivers are not installed, or could not be loaded when they were to. */
    @Test
    void shouldNotTakeAnotherDeviceWhereTheKernelsHaveNoDriver() throws Exception {
        Lab.assumeInLab("there are none");
        List<String> prefix = List.of(
                "unshare", "--mount", "bash", "-c", "mount -t tmpfs none /etc/libibverbs.d && exec \"$0\" \"$@\"");
        try (Program program = Program.java(prefix, FewDescriptors.class, "list")) {
            program.assertSucceeds();
            String output = program.output();
            for (String each : List.of("no devices: ", "no channel: ")) {
                assertTrue(
                        output.contains(each + "ibv_get_device_list failed: ENODEV") && output.contains("uverbs0"),
                        output);
            }
        }
    }

    /** A server rejects at once what it cannot accept; a caller that holds the request as well. */
    @Test
    void shouldAnswerEveryRequest() throws Exception {
        List<String> before = Lab.resources();
        try (Program program = Program.java(List.of(), FewDescriptors.class, "connect", Integer.toString(PORT))) {
            program.assertSucceeds();
            assertTrue(program.output().contains("connecting and accepting needs"), program::toString);
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldSayWhatIsMissingAndLeakNothing() throws Exception {
        List<String> before = Lab.resources();
        try (Program program = Program.java(List.of(), FewDescriptors.class, "open", Integer.toString(PORT))) {
            program.assertSucceeds();
            assertEquals(Lab.isInLab(), program.output().contains("an event channel needs 1\n"), program::toString);
        }
        Lab.assertNothingLeft(before);
    }
}
