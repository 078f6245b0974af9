package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.LabDevices;

/** Memory that the device may still use is kept, whatever is dropped, closed or fails, and no other memory is. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class KeptMemoryLabTest {
    private static final long POOL = 40 << 20;

    private final CollectedMemory memory = new CollectedMemory();
    private final RecordingProvider provider = RecordingProvider.of(LabDevices.first());

    private ProtectionDomain domain(VerbsArena arena) {
        return Context.open(arena, LabDevices.first(), () -> provider).allocateProtectionDomain();
    }

    @Test
    void shouldKeepWhatIsRegistered() throws Exception {
        keepAndClose();
        memory.assertFreed();
    }

    /** Variables may count as references until their method returns. */
    private void keepAndClose() throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            MemoryRegion region = domain(arena).register(memory.allocate(4096));
            memory.assertKept();
            region.close();
        }
    }

    @Test
    void shouldKeepWhatAnArenaHasRegisteredThatNobodyRefersTo() throws Exception {
        domain(VerbsArena.ofShared()).register(memory.allocate(4096));
        memory.assertKept();
    }

    @Test
    void shouldFreeTheOldMemoryOfARegion() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            MemoryRegion region = domain(arena).register(memory.allocate(4096));
            try {
                region.reregister(new Reregistration().memory(arena.allocate(4096)));
            } catch (UnsupportedVerbException e) {
                // Where the driver lacks the verb, nobody knows which memory the region is of.
                memory.assertKept();
                return;
            }
            memory.assertFreed();
        }
    }

    @Test
    void shouldKeepWhatWasNotDeregisteredBeforeItsDeviceWasClosed() throws Exception {
        closeContextAlone();
        memory.assertKept();
    }

    /** Leaves nothing that refers to the arena. */
    private void closeContextAlone() {
        MemoryRegion region = domain(VerbsArena.ofShared()).register(memory.allocate(4096));
        refuse(region);
        assertThrows(VerbsException.class, region.context()::close);
    }

    @Test
    void shouldKeepWhatWasNotDeregisteredBeforeItsArenaWasClosed() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        MemorySegment own = arena.allocate(4096);
        refuse(domain(arena).register(memory.allocate(4096)));
        assertThrows(VerbsException.class, arena::close);
        arena.close();
        assertTrue(own.scope().isAlive());
        memory.assertKept();
    }

    @Test
    void shouldKeepWhatIsRegisteredOnADeviceThatCannotBeClosed() throws Exception {
        failToCloseADevice();
        memory.assertKept();
        assertEquals(0, provider.close());
    }

    /** Leaves nothing that refers to the arena. */
    private void failToCloseADevice() {
        VerbsArena arena = VerbsArena.ofShared();
        refuse(domain(arena).register(memory.allocate(4096)));
        provider.failOnce("close_device", Errno.EBUSY);
        VerbsException failure = assertThrows(VerbsException.class, arena::close);
        assertEquals("ibv_dereg_mr", failure.verb());
        assertEquals(
                "ibv_close_device",
                ((VerbsException) failure.getSuppressed()[failure.getSuppressed().length - 1]).verb());
        assertTrue(arena.scope().isAlive());
    }

    @Test
    void shouldCloseAgainADeviceThatCouldNotBeClosed() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        refuse(domain(arena).register(memory.allocate(4096)));
        provider.failOnce("close_device", Errno.EBUSY);
        assertThrows(VerbsException.class, arena::close);
        arena.close();
        assertFalse(arena.scope().isAlive());
        assertEquals(List.of("dereg_mr", "close_device", "dereg_mr", "dealloc_pd", "close_device"), provider.verbs());
        memory.assertFreed();
    }

    @Test
    void shouldKeepWhatIsRegisteredButHasNoRegion() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        MemorySegment own = arena.allocate(4096);
        ProtectionDomain domain = domain(arena);
        provider.failOnce("dereg_mr", Errno.EBUSY);
        Throwable[] suppressed = failToMakeARegion(domain, memory.allocate(4096));
        assertEquals("ibv_dereg_mr", ((VerbsException) suppressed[0]).verb());
        try {
            arena.close();
        } catch (VerbsException e) {
            // Some drivers do not end a protection domain that is in use.
            assertEquals("ibv_dealloc_pd", e.verb());
        }
        assertTrue(own.scope().isAlive());
        memory.assertKept();
    }

    @Test
    void shouldNotKeepWhatHasNoRegionAndWasDeregistered() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            assertEquals(0, failToMakeARegion(domain(arena), memory.allocate(4096)).length);
            assertEquals(List.of("dereg_mr"), provider.verbs());
        }
        memory.assertFreed();
    }

    /** What is suppressed by the failure. */
    private static Throwable[] failToMakeARegion(ProtectionDomain domain, MemorySegment registered) {
        OutOfMemoryError full = new OutOfMemoryError("no room for another object");
        OutOfMemoryError thrown = assertThrows(
                OutOfMemoryError.class,
                () -> domain.register("ibv_reg_mr", registered, registered.address(), Set.of(), mr -> {
                    throw full;
                }));
        assertEquals(full, thrown);
        return thrown.getSuppressed();
    }

    @Test
    void shouldSayThatADeviceWithoutAContextCouldNotBeClosed() {
        OutOfMemoryError full = new OutOfMemoryError("no room for another object");
        boolean[] thrown = {false};
        RecordingProvider failing = new RecordingProvider(provider) {
            @Override
            public long address() {
                if (lives() != null && !thrown[0]) {
                    thrown[0] = true;
                    throw full;
                }
                return super.address();
            }
        };
        failing.failOnce("close_device", Errno.EBUSY);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            assertEquals(
                    full,
                    assertThrows(OutOfMemoryError.class, () -> Context.open(arena, LabDevices.first(), () -> failing)));
            assertEquals("ibv_close_device", ((VerbsException) full.getSuppressed()[0]).verb());
        }
        assertEquals(List.of("close_device"), failing.verbs(), "it belongs to nobody who could try again");
        assertEquals(0, provider.close());
    }

    /** Whether something is at an address; the C library gives as much as a pool has back to the system. */
    private static boolean isMapped(long address) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.map(line -> line.split("[- ]", 3))
                    .anyMatch(range -> Long.parseUnsignedLong(range[0], 16) <= address
                            && address < Long.parseUnsignedLong(range[1], 16));
        }
    }

    @Test
    void shouldFreeTheMemoryOfAPoolThatCannotBeRegistered() throws Exception {
        Set<Long> addresses = new HashSet<>();
        RecordingProvider failing = new RecordingProvider(provider) {
            @Override
            public long registerMemory(long domain, long address, long length, long iova, int access) {
                addresses.add(address);
                return -Errno.ENOMEM;
            }
        };
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain =
                    Context.open(arena, LabDevices.first(), () -> failing).allocateProtectionDomain();
            int attempts = 4;
            for (int i = 0; i < attempts; i++) {
                assertThrows(VerbsException.class, () -> RegisteredPool.create(domain, POOL));
            }
            int kept = 0;
            for (long address : addresses) {
                kept += isMapped(address) ? 1 : 0;
            }
            assertTrue(kept < attempts, "each attempt has memory of its own");
        }
    }

    @Test
    void shouldKeepTheMemoryOfAPool() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        RegisteredPool pool = RegisteredPool.create(domain(arena), POOL);
        long address = pool.region().memory().address();
        refuse(pool.region());
        assertThrows(VerbsException.class, arena::close);
        arena.close();
        assertTrue(isMapped(address), "the device may still use this memory");
    }

    private void refuse(MemoryRegion region) {
        provider.failOnce(new RecordingProvider.Call("dereg_mr", region.address), Errno.EBUSY);
    }
}
