package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;

/** Namespaces that come and go, and the events that tell hosts. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EventsLabTest {
    private static List<Integer> ids(NvmeController controller) {
        return controller.namespaces().stream().map(NvmeNamespace::id).toList();
    }

    @Test
    void shouldTellOfEachChange() throws Exception {
        List<NvmeEvent> events = new CopyOnWriteArrayList<>();
        try (Disk disk = Disk.ofMemory(64);
                NvmeController controller = disk.connect(Disk.options().onEvent(events::add));
                NvmeController other = disk.connect()) {
            NvmeNamespace first = controller.namespaces().getFirst();
            for (int round = 1; round <= 3; round++) {
                int seen = events.size();
                disk.target.addNamespace(7, 4096, NvmeBacking.ofMemory(1 << 20));
                Bound.usual().await("there is no event of an addition", () -> events.size() > seen);
                assertTrue(events.getLast().isNamespacesChanged());
                assertEquals(List.of(1, 7), ids(controller));
                NvmeNamespace added = controller.namespaces().getLast();
                MemorySegment memory = controller.allocate(8192).memory();
                FillPattern.fill(memory, round);
                added.write(3, memory);
                memory.fill((byte) 0);
                added.read(3, memory);
                FillPattern.assertFilled(memory, round);
                int before = events.size();
                assertTrue(disk.target.removeNamespace(7));
                assertFalse(disk.target.removeNamespace(7));
                Bound.usual().await("there is no event of a removal", () -> events.size() > before);
                assertEquals(List.of(1), ids(controller));
                NvmeException e = assertThrows(NvmeException.class, () -> added.read(0, memory));
                assertEquals(NvmeStatus.INVALID_NAMESPACE, e.status());
                first.read(0, memory);
            }
            assertEquals(List.of(1), ids(other));
            assertThrows(
                    IllegalArgumentException.class, () -> disk.target.addNamespace(1, 512, NvmeBacking.ofMemory(512)));
        }
    }

    @Test
    void shouldBearListenersThatFail() throws Exception {
        List<NvmeEvent> events = new CopyOnWriteArrayList<>();
        try (Disk disk = Disk.ofMemory(64);
                NvmeController controller = disk.connect(Disk.options().onEvent(event -> {
                    events.add(event);
                    throw new IllegalStateException("on purpose");
                }))) {
            for (int id = 2; id < 5; id++) {
                int seen = events.size();
                disk.target.addNamespace(id, 512, NvmeBacking.ofMemory(512));
                Bound.usual().await("there is no event", () -> events.size() > seen);
            }
            assertTrue(controller.isConnected());
            assertEquals(List.of(1, 2, 3, 4), ids(controller));
        }
    }
}
