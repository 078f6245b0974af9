package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.ForkSupport;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.internal.libibverbs.NativeProvider;
import org.rdmapanama.memory.ForkStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.CStructs;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;

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

    /** A process of its own, in which nothing was registered yet. */
    static final class Child {
        private Child() {}

        public static void main(String[] arguments) {
            System.out.println("first " + NativeProvider.initializeFork());
            ForkSupport.initialize();
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                MemoryRegion region = Context.open(arena, LabDevices.first())
                        .allocateProtectionDomain()
                        .register(arena.allocate(8192, 4096));
                System.out.println("registered " + region.isOpen());
                ForkSupport.initialize();
            }
            System.out.println("status " + ForkSupport.status());
        }
    }

    @Test
    @Shows({"ibv_fork_init", "ibv_is_fork_initialized"})
    void shouldPrepareBeforeTheFirstRegistration() throws Exception {
        Commands.Result result = Commands.java(List.of(), Child.class);
        assertEquals(0, result.status(), result::output);
        assertTrue(result.output().contains("first 0"), result::output);
        assertTrue(result.output().contains("registered true"), result::output);
        assertFalse(result.output().contains("status " + ForkStatus.DISABLED), result::output);
    }

    @Test
    void shouldKeepRegisteredMemoryWhenAProcessIsStarted() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            Commands.run("true");
            FillPattern.fill(pair.a.memory, 7);
            pair.a.post(pair.writeToB(1, 0, 4096));
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
            assertEquals(
                    -1,
                    pair.a.memory.asSlice(0, 4096).mismatch(pair.b.memory.asSlice(0, 4096)),
                    "the device wrote to pages that this process has");
        }
    }
}
