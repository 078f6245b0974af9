package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** Controllers that go, and what is left of them. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LossLabTest {
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndAllCommandsWhenTheTargetGoes(boolean invalidates) throws Exception {
        try (Disk disk = Disk.ofMemory(4096);
                NvmeController controller =
                        disk.connect(Disk.options().queues(2).remoteInvalidation(invalidates));
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(1 << 20);
            List<CompletableFuture<Void>> loads = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                MemorySegment memory = region.memory().asSlice(i * 65536L, 65536);
                loads.add(Async.start(() -> {
                    while (true) {
                        namespace.write(0, memory);
                    }
                }));
            }
            Thread.sleep(100);
            int submitted = 0;
            while (queue.tryRead(namespace, 0, region, 0, 256, submitted)) {
                submitted++;
            }
            disk.target.close();
            for (CompletableFuture<Void> each : loads) {
                ExecutionException e = assertThrows(ExecutionException.class, () -> Async.get(each));
                NvmeException lost = (NvmeException) e.getCause();
                assertEquals(NvmeStatus.HOST_PATH_ERROR, lost.status());
            }
            NvmeResults results = new NvmeResults(submitted);
            int ended = 0;
            Bound bound = Bound.usual();
            while (ended < submitted) {
                bound.check("commands have not ended");
                ended += queue.await(results, Duration.ofSeconds(1));
            }
            assertEquals(submitted, ended);
            assertEquals(0, queue.pending());
            Bound.usual().await("the controller is still there", () -> !controller.isConnected());
            NvmeException e = assertThrows(NvmeException.class, () -> queue.tryFlush(namespace, 0));
            assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
        }
    }

    @Test
    void shouldCloseAllQueuePairsBeforeACommandEnds() throws Exception {
        NvmeOptions options =
                Disk.options().queues(2).commandTimeout(Duration.ofMillis(300)).keepAlive(Duration.ofSeconds(30));
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options)) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            target.fault = (command, data, response) -> RawTarget.Fault.SILENCE;
            // A caller that has this queue for itself, and is not there to close it.
            HostQueue busy = controller.lockQueue("a test");
            try {
                CompletableFuture<List<Boolean>> open = Async.start(() -> {
                    NvmeException e = assertThrows(NvmeException.class, namespace::flush);
                    assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
                    return List.of(
                            busy.connection().queuePair().isOpen(),
                            controller
                                    .adminQueue()
                                    .queue
                                    .connection()
                                    .queuePair()
                                    .isOpen());
                });
                assertEquals(List.of(false, false), Async.get(open));
            } finally {
                busy.lock.unlock();
            }
        }
    }

    @Test
    void shouldNoticeALossWithoutCommands() throws Exception {
        try (Disk disk = Disk.ofMemory(16);
                NvmeController controller = disk.connect()) {
            assertTrue(controller.isConnected());
            disk.target.close();
            Bound.usual().await("the loss is not noticed", () -> !controller.isConnected());
            assertThrows(NvmeException.class, controller::openQueue);
        }
    }

    @Test
    void shouldConnectAgainAndFindTheData() throws Exception {
        NvmeBacking backing = NvmeBacking.ofMemory(1 << 20);
        NvmeTargetOptions served = new NvmeTargetOptions(Disk.NAME).namespace(1, 512, backing);
        String guid;
        try (Disk disk = new Disk(served, backing);
                NvmeController controller = disk.connect()) {
            MemorySegment memory = controller.allocate(4096).memory();
            FillPattern.fill(memory, 4);
            NvmeNamespace namespace = controller.namespaces().getFirst();
            namespace.write(0, memory);
            guid = namespace.guid();
        }
        try (Disk disk = new Disk(served, backing);
                NvmeController controller = disk.connect()) {
            MemorySegment memory = controller.allocate(4096).memory();
            NvmeNamespace namespace = controller.namespaces().getFirst();
            namespace.read(0, memory);
            FillPattern.assertFilled(memory, 4);
            assertEquals(guid, namespace.guid());
        }
    }

    static NvmeTarget serveAgain(InetSocketAddress address, NvmeTargetOptions served) throws Exception {
        NvmeTarget[] target = new NvmeTarget[1];
        Bound.usual().await("the port stays in use", () -> {
            try {
                target[0] = NvmeTarget.serve(address, served);
                return true;
            } catch (ConnectionException e) {
                return false;
            }
        });
        return target[0];
    }

    @Test
    void shouldConnectAgainByItself() throws Exception {
        NvmeBacking backing = NvmeBacking.ofMemory(1 << 20);
        NvmeTargetOptions served =
                new NvmeTargetOptions(Disk.NAME).namespace(1, 512, backing).namespace(2, 4096, backing);
        NvmeTarget target = NvmeTarget.serve(Lab.second(Lab.port()), served);
        InetSocketAddress address = target.address();
        try (NvmeController controller =
                NvmeController.connect(address, Disk.options().reconnect(1000, Duration.ofMillis(20)))) {
            NvmeNamespace first = controller.namespaces().getFirst();
            NvmeNamespace second = controller.namespaces().getLast();
            MemorySegment memory = controller.allocate(4096).memory();
            NvmeQueue queue = controller.openQueue();
            FillPattern.fill(memory, 12);
            first.write(0, memory);
            target.close();
            Bound.usual().await("the loss is not noticed", () -> !controller.isConnected());
            NvmeException e = assertThrows(NvmeException.class, () -> first.read(0, memory));
            assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
            Thread.sleep(200);
            // The second namespace becomes another one.
            target = serveAgain(
                    address,
                    new NvmeTargetOptions(Disk.NAME).namespace(1, 512, backing).namespace(2, 512, backing));
            Bound.usual().await("it is not connected again", controller::isConnected);
            memory.fill((byte) 0);
            first.read(0, memory);
            FillPattern.assertFilled(memory, 12);
            IllegalStateException gone = assertThrows(IllegalStateException.class, () -> second.read(0, memory));
            assertTrue(gone.getMessage().contains("another one has its id"), gone::getMessage);
            controller.namespaces().getLast().read(0, memory);
            assertThrows(NvmeException.class, () -> queue.tryFlush(first, 0));
            queue.close();
            controller.openQueue().close();
        } finally {
            target.close();
        }
    }

    @Test
    void shouldGiveUpConnecting() throws Exception {
        try (Disk disk = Disk.ofMemory(16);
                NvmeController controller = disk.connect(Disk.options().reconnect(2, Duration.ofMillis(10)))) {
            disk.target.close();
            Bound.usual().await("the thread goes on", () -> threads() == 0);
            assertFalse(controller.isConnected());
        }
    }

    @Test
    void shouldEndOtherThreadsWhenItIsClosed() throws Exception {
        try (Disk disk = Disk.ofMemory(4096)) {
            NvmeController controller = disk.connect();
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(1 << 20);
            CompletableFuture<Void> load = Async.start(() -> {
                while (true) {
                    namespace.read(0, region.memory().asSlice(0, 65536));
                }
            });
            Thread.sleep(50);
            controller.close();
            controller.close();
            ExecutionException e = assertThrows(ExecutionException.class, () -> Async.get(load));
            assertTrue(
                    e.getCause() instanceof NvmeException || e.getCause() instanceof IllegalStateException,
                    () -> e.getCause().toString());
            assertFalse(controller.isConnected());
            assertThrows(IllegalStateException.class, controller::namespaces);
            Bound.usual().await("the target keeps the controller", () -> disk.target.controllers() == 0);
        }
    }

    @Test
    void shouldNotLoseDataOfInterruptedThreads() throws Exception {
        try (Disk disk = Disk.ofMemory(4096);
                NvmeController controller = disk.connect()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = controller.allocate(1 << 20).memory();
            FillPattern.fill(memory, 8);
            Thread.currentThread().interrupt();
            namespace.write(0, memory);
            assertTrue(Thread.interrupted(), "the interrupt must stay");
            Thread.currentThread().interrupt();
            namespace.flush();
            assertTrue(Thread.interrupted(), "the interrupt must stay");
            memory.fill((byte) 0);
            namespace.read(0, memory);
            FillPattern.assertFilled(memory, 8);
            assertTrue(controller.isConnected());
        }
    }

    @Test
    void shouldLeaveNoThreads() throws Exception {
        try (Disk disk = Disk.ofMemory(64)) {
            for (int i = 0; i < 30; i++) {
                try (NvmeController controller = disk.connect(Disk.options().queues(2))) {
                    controller.namespaces();
                }
            }
            Bound.usual().await("threads of queues are left: " + threads(), () -> threads() <= 1);
            assertEquals(0, disk.target.controllers());
        }
        Bound.usual().await("threads are left", () -> threads() == 0);
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("nvme-"))
                .count();
    }
}
