package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.ProviderException;
import org.rdmapanama.soft.wire.Memory;

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
            assertEquals(-Verbs.EBUSY, context.deallocateProtectionDomain(domain));
            assertEquals(0, context.deregisterMemory(region));
            long channel = context.createCompletionChannel();
            long queue = context.createCompletionQueue(4, 0, channel, 0);
            assertEquals(-Verbs.EBUSY, context.destroyCompletionChannel(channel));
            assertEquals(0, context.destroyCompletionQueue(queue));
            assertEquals(0, context.destroyCompletionChannel(channel));
            assertEquals(0, context.deallocateProtectionDomain(domain));
        } finally {
            assertEquals(0, context.close());
        }
    }
}
