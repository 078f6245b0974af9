package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The case of rdma-core's own suite in test_fork.py, class ForkAPITest; and how this process stands next to C. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuiteForkLabTest {
    @Test
    @Shows({"ibv_fork_init", "ibv_is_fork_initialized"})
    void test_is_fork_initialized() {
        try {
            ForkSupport.initialize();
            assertTrue(EnumSet.of(ForkStatus.ENABLED, ForkStatus.UNNEEDED).contains(ForkSupport.status()));
            ForkSupport.initialize();
        } catch (VerbsException registeredBefore) {
            assertEquals("EINVAL", registeredBefore.errnoName());
            assertTrue(registeredBefore.getMessage().contains("RDMAV_FORK_SAFE"), registeredBefore::getMessage);
            assertNotEquals(ForkStatus.ENABLED, ForkSupport.status());
        }
    }

    @Test
    void shouldNotNeedPreparationOnNewKernels() throws Exception {
        String inC =
                CStructs.run("int main(void) { printf(\"%d\", ibv_is_fork_initialized()); return 0; }", "-libverbs");
        if (inC.equals(Integer.toString(ForkStatus.UNNEEDED.code()))) {
            assertEquals(ForkStatus.UNNEEDED, ForkSupport.status());
            try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
                assertTrue(pair.a.region.isOpen());
                ForkSupport.initialize();
            }
        } else {
            assertNotEquals(ForkStatus.UNNEEDED, ForkSupport.status());
        }
        LabDevices.assumeSoftRoce("the lab's kernel is newer than 5.12");
        assertEquals(ForkStatus.UNNEEDED, ForkSupport.status());
    }

    @Test
    void shouldKeepRegisteredMemoryWhenAProcessIsStarted() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            Commands.run("true");
            ConnectedPair.fillWithPattern(pair.a.memory, 7);
            pair.a.post(pair.writeToB(1, 0, 4096));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
            assertEquals(
                    -1,
                    pair.a.memory.asSlice(0, 4096).mismatch(pair.b.memory.asSlice(0, 4096)),
                    "the device wrote to pages that this process has");
        }
    }
}
