package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.ProviderException;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.provider.SoftProvider;

/** How the device is found, and that it ends nothing that something else uses. */
class SoftProviderTest {
    private static final SoftProvider PROVIDER = new SoftProvider();

    @Test
    void shouldBeListedBehindAllOthers() {
        DeviceList devices = DeviceList.query();
        assertEquals("soft0", devices.getLast().name());
        assertEquals(-1, devices.getLast().index());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, "soft0");
            assertEquals("soft", context.driverName());
            assertEquals(devices.getLast().guid(), context.queryDevice().nodeGuid());
        }
    }

    /** A program whose main thread is interrupted before it opens the device, and before anything is logged. */
    static final class Interrupted {
        private Interrupted() {}

        public static void main(String[] arguments) {
            Thread.currentThread().interrupt();
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = Context.open(arena, "soft0");
                System.out.println(context.deviceName() + ", still interrupted: " + Thread.interrupted());
            }
        }
    }

    @Test
    void shouldBeOpenedByAnInterruptedThread() throws Exception {
        try (Program program = Program.java(List.of("env"), Interrupted.class)) {
            program.assertSucceeds();
            assertTrue(program.output().contains("soft0, still interrupted: true"), program::output);
            assertFalse(program.output().contains("Exception"), program::output);
        }
    }

    @Test
    void shouldBeFoundByAddressAsLongAsItIsOpen() {
        ProviderContext context = PROVIDER.open(PROVIDER.devices().getFirst());
        assertEquals(context, PROVIDER.at(context.address()));
        long address = context.address();
        assertEquals(0, context.close());
        assertThrows(ProviderException.class, () -> PROVIDER.at(address));
    }

    /** By this, tests notice what is left behind. */
    @Test
    void shouldEndNothingThatIsInUse() {
        ProviderContext context = PROVIDER.open(PROVIDER.devices().getFirst());
        try (Arena arena = Arena.ofConfined()) {
            long domain = context.allocateProtectionDomain();
            long memory = arena.allocate(64).address();
            long region = context.registerMemory(domain, memory, 64, memory, rdma_h.IBV_ACCESS_LOCAL_WRITE());
            assertTrue(Memory.getInt(region + ibv_mr.lkey$offset()) != 0);
            assertEquals(-Errno.EBUSY, context.deallocateProtectionDomain(domain));
            assertEquals(0, context.deregisterMemory(region));
            long channel = context.createCompletionChannel();
            long queue = context.createCompletionQueue(4, 0, channel, 0);
            assertEquals(-Errno.EBUSY, context.destroyCompletionChannel(channel));
            assertEquals(0, context.destroyCompletionQueue(queue));
            assertEquals(0, context.destroyCompletionChannel(channel));
            assertEquals(0, context.deallocateProtectionDomain(domain));
        } finally {
            assertEquals(0, context.close());
        }
    }
}
