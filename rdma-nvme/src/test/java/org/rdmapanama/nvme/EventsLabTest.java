package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.testing.Async;
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
    void shouldRefuseObjectsOfAnotherNamespace() throws Exception {
        try (Disk disk = Disk.ofMemory(64);
                NvmeController controller = disk.connect()) {
            MemorySegment memory = controller.allocate(4096).memory();
            disk.target.addNamespace(7, 4096, NvmeBacking.ofMemory(1 << 20));
            NvmeNamespace small = controller.namespaces().getLast();
            disk.target.removeNamespace(7);
            disk.target.addNamespace(7, 4096, NvmeBacking.ofMemory(1 << 21));
            NvmeNamespace large = controller.namespaces().getLast();
            assertEquals(2 * small.blockCount(), large.blockCount());
            small.read(0, memory);
            disk.target.removeNamespace(7);
            disk.target.addNamespace(7, 512, NvmeBacking.ofMemory(1 << 21));
            controller.namespaces().getLast().read(0, memory);
            assertThrows(IllegalStateException.class, () -> large.write(0, memory));
            assertThrows(IllegalStateException.class, () -> small.write(0, memory));
        }
    }

    @Test
    void shouldKeepTheListOfChangesUntilItIsRead() throws Exception {
        try (Disk disk = Disk.ofMemory(64);
                VerbsArena arena = VerbsArena.ofShared();
                RawHost admin = new RawHost(arena, disk.address(), 0, 0)) {
            admin.start(0);
            disk.target.addNamespace(7, 512, NvmeBacking.ofMemory(512));
            assertEquals(NvmeStatus.INVALID_FIELD, readChanges(admin, 4096, 2));
            assertEquals(NvmeStatus.SUCCESS, readChanges(admin, 8, 0));
            assertEquals(NvmeStatus.SUCCESS, readChanges(admin, 4096, 0));
            assertEquals(7, Fields.get32(admin.data.memory(), 0));
            assertEquals(NvmeStatus.SUCCESS, readChanges(admin, 4096, 0));
            assertEquals(0, Fields.get32(admin.data.memory(), 0));
        }
    }

    private static NvmeStatus readChanges(RawHost admin, int length, int offset) throws InterruptedException {
        Command.begin(admin.capsule, Opcode.GET_LOG_PAGE, 1, -1);
        Command.keyed(admin.capsule, admin.data.address(), length, admin.data.rkey(), Command.KEYED);
        Command.dword(admin.capsule, 10, 4 | (length / 4 - 1) << 16);
        Command.dword(admin.capsule, 12, offset);
        return admin.execute(Command.BYTES);
    }

    @Test
    void shouldLeaveTheMemoryOfARemovedNamespaceAlone() throws Exception {
        try (Disk disk = Disk.ofMemory(64);
                NvmeController controller = disk.connect(Disk.options().queues(2))) {
            for (int round = 0; round < 5; round++) {
                MemorySegment blocks = Arena.ofAuto().allocate(1 << 20, 4096);
                disk.target.addNamespace(7, 4096, NvmeBacking.ofMemory(blocks));
                NvmeNamespace added = controller.namespaces().getLast();
                MemorySegment memory = controller.allocate(1 << 20).memory();
                AtomicInteger writes = new AtomicInteger();
                CompletableFuture<Void> writing = Async.start(() -> {
                    while (true) {
                        memory.fill((byte) writes.incrementAndGet());
                        added.write(0, memory);
                    }
                });
                Bound.usual().await("nothing is written", () -> writes.get() > 3);
                assertTrue(disk.target.removeNamespace(7));
                MemorySegment then = Arena.ofAuto().allocate(1 << 20).copyFrom(blocks);
                ExecutionException e = assertThrows(ExecutionException.class, () -> Async.get(writing));
                assertEquals(NvmeStatus.INVALID_NAMESPACE, ((NvmeException) e.getCause()).status());
                assertEquals(-1, then.mismatch(blocks));
            }
            assertTrue(controller.isConnected());
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
