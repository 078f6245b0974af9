package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.LabDevices;

/** Whatever is called while the process has not enough of something: it says so, leaves nothing, and works afterwards. */
@Tag("lab")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ScarcityLabTest {
    private static void assertNoFaults(List<String> limit, String scarce, String... failing) throws IOException {
        List<String> resources = Commands.resources();
        Commands.Result result = Commands.java(limit, Scarcity.class, scarce);
        assertEquals(0, result.status(), result::output);
        assertFalse(result.output().contains("FAULT"), result::output);
        assertTrue(result.output().contains("done"), result::output);
        for (String call : failing) {
            assertTrue(result.output().contains(call + " with 0 left: "), result::output);
        }
        assertEquals(resources, Commands.resources(), "what the kernel keeps for the devices");
    }

    @Test
    void shouldBearThatThereAreNoDescriptors() throws Exception {
        String[] failing = LabDevices.areNative()
                ? new String[] {"Context.open", "Context.createCompletionChannel"}
                : new String[] {"Context.open"};
        assertNoFaults(List.of("prlimit", "--nofile=256:256"), "DESCRIPTORS", failing);
    }

    @Test
    void shouldBearThatNoMoreMemoryMayBeLocked() throws Exception {
        LabDevices.assumeSoftRoce("lowering the limit needs root, and devices of this process lock nothing");
        // CAP_IPC_LOCK, which root has, lifts the limit.
        assertNoFaults(
                List.of("prlimit", "--memlock=524288:524288", "setpriv", "--bounding-set", "-ipc_lock"),
                "LOCKED_PAGES",
                "ProtectionDomain.register",
                "RegisteredPool.create");
    }
}
