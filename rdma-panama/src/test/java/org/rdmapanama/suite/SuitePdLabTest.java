package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.Insides;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.LabDevices;

/** The cases of rdma-core's test_pd.py, its class PDTest, by their names there. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SuitePdLabTest {
    private VerbsArena arena;
    private RecordingProvider recording;
    private Context context;
    private List<String> resourcesBefore;

    @BeforeEach
    void open() throws IOException {
        resourcesBefore = Commands.resources();
        // JUnit prepares in another thread than it tests in.
        arena = VerbsArena.ofShared();
        recording = RecordingProvider.of(LabDevices.first());
        context = Insides.open(arena, LabDevices.first(), () -> recording);
    }

    @AfterEach
    void shouldLeakNothing() throws IOException {
        arena.close();
        assertEquals(resourcesBefore, Commands.resources(), "what the kernel keeps for the devices");
    }

    private long deallocations() {
        return Collections.frequency(recording.verbs(), "dealloc_pd");
    }

    @Test
    @Shows("ibv_alloc_pd")
    void test_alloc_pd() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        assertTrue(domain.isOpen());
        assertEquals(context, domain.context());
        domain.register(arena.allocate(64)).close();
    }

    @Test
    @Shows("ibv_dealloc_pd")
    void test_dealloc_pd() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        domain.close();
        assertFalse(domain.isOpen());
        assertEquals(1, deallocations());
    }

    @Test
    void test_multiple_pd_creation() {
        int count = 1 + new Random(7).nextInt(200);
        Set<Integer> handles = new HashSet<>();
        for (int i = 0; i < count; i++) {
            ProtectionDomain domain = context.allocateProtectionDomain();
            ProtectionDomain besides = context.allocateProtectionDomain();
            handles.add(domain.handle());
            assertTrue(domain.handle() != besides.handle());
            domain.close();
            besides.close();
        }
        assertFalse(handles.isEmpty());
        assertEquals(2L * count, deallocations());
    }

    @Test
    void test_destroy_pd_twice() {
        ProtectionDomain domain = context.allocateProtectionDomain();
        domain.close();
        domain.close();
        assertEquals(1, deallocations());
    }
}
