package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.Response;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;

/** Commands that are under way when the controller is lost, with a controller that comes back. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ResendLabTest {
    private static NvmeOptions options(int resends) {
        return Disk.options()
                .keepAlive(Duration.ZERO)
                .reconnect(1000, Duration.ofMillis(10))
                .resend(resends);
    }

    private static Map<Integer, Runnable> calls(NvmeNamespace namespace, MemorySegment memory) {
        Map<Integer, Runnable> calls = new LinkedHashMap<>();
        calls.put(Opcode.READ, () -> namespace.read(0, memory));
        calls.put(Opcode.WRITE, () -> namespace.write(0, memory));
        calls.put(Opcode.COMPARE, () -> assertTrue(namespace.compare(0, memory)));
        calls.put(Opcode.FLUSH, namespace::flush);
        calls.put(Opcode.WRITE_ZEROES, () -> namespace.writeZeroes(0, 4));
        calls.put(Opcode.DATASET_MANAGEMENT, () -> namespace.deallocate(0, 4));
        return calls;
    }

    /** Has the target end all connections when it gets commands of a code, a number of times. Counts the commands. */
    private static AtomicInteger endAt(RawTarget target, int opcode, int times) {
        AtomicInteger seen = new AtomicInteger();
        target.fault = (command, data, response) -> {
            // Get Log Page and Set Features have codes of I/O commands; they name no namespace, or all.
            if (Command.opcode(command) != opcode || Command.namespace(command) != 1) {
                return Response.BYTES;
            }
            if (seen.incrementAndGet() > times) {
                return Response.BYTES;
            }
            target.disconnect();
            return RawTarget.Fault.SILENCE;
        };
        return seen;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldSendCommandsAgain(boolean invalidates) throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller =
                        NvmeController.connect(target.address(), options(1).remoteInvalidation(invalidates))) {
            target.invalidation = RawTarget.Invalidation.AS_ASKED;
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = controller.allocate(4096).memory();
            for (Map.Entry<Integer, Runnable> each : calls(namespace, memory).entrySet()) {
                AtomicInteger seen = endAt(target, each.getKey(), 1);
                each.getValue().run();
                assertEquals(2, seen.get(), () -> Opcode.name(false, each.getKey(), 0));
            }
        }
    }

    @Test
    void shouldFailWithoutTheOption() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options(0))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = controller.allocate(4096).memory();
            for (Map.Entry<Integer, Runnable> each : calls(namespace, memory).entrySet()) {
                Bound.usual().await("it is not connected again", controller::isConnected);
                AtomicInteger seen = endAt(target, each.getKey(), 1);
                NvmeException e = assertThrows(NvmeException.class, each.getValue()::run);
                assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
                assertEquals(1, seen.get());
            }
        }
    }

    @Test
    void shouldFailAfterTooManyLosses() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options(2))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            AtomicInteger seen = endAt(target, Opcode.FLUSH, Integer.MAX_VALUE);
            NvmeException e = assertThrows(NvmeException.class, namespace::flush);
            assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
            assertEquals(3, seen.get());
        }
    }

    @Test
    void shouldNotSendCommandsOfProgramsQueuesAgain() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options(5));
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(512);
            AtomicInteger seen = endAt(target, Opcode.READ, 1);
            assertTrue(queue.tryRead(namespace, 0, region, 0, 1, 7));
            NvmeResults results = new NvmeResults(1);
            assertEquals(1, queue.await(results, Duration.ofSeconds(20)));
            assertEquals(NvmeStatus.HOST_PATH_ERROR, results.status(0));
            assertEquals(1, seen.get());
        }
    }

    @Test
    void shouldEndTheWaitWithTheAttempts() throws Exception {
        try (Disk disk = Disk.ofMemory(16);
                NvmeController controller = disk.connect(options(5).reconnect(2, Duration.ofMillis(10)))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            disk.target.close();
            NvmeException e = assertThrows(NvmeException.class, namespace::flush);
            assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldEndTheWaitWithAnInterruptOrTheEnd(boolean interrupts) throws Exception {
        try (Disk disk = Disk.ofMemory(16)) {
            NvmeController controller = disk.connect(options(5).reconnect(1000, Duration.ofSeconds(60)));
            NvmeNamespace namespace = controller.namespaces().getFirst();
            disk.target.close();
            Bound.usual().await("the loss is not noticed", () -> !controller.isConnected());
            CompletableFuture<Thread> thread = new CompletableFuture<>();
            CompletableFuture<Boolean> call = Async.start(() -> {
                thread.complete(Thread.currentThread());
                assertThrows(NvmeException.class, namespace::flush);
                return Thread.interrupted();
            });
            Thread waiting = Async.get(thread);
            if (interrupts) {
                waiting.interrupt();
                assertTrue(Async.get(call), "the interrupt must stay");
                controller.close();
            } else {
                Bound.usual().await("it does not wait", () -> waiting.getState() == Thread.State.WAITING);
                controller.close();
                assertFalse(Async.get(call));
            }
        }
    }

    @Test
    void shouldNotWriteToAnotherNamespace() throws Exception {
        NvmeBacking backing = NvmeBacking.ofMemory(1 << 16);
        NvmeTarget target = new Disk(new NvmeTargetOptions(Disk.NAME).namespace(1, 512, backing), backing).target;
        try (NvmeController controller = NvmeController.connect(target.address(), options(5))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = controller.allocate(4096).memory().fill((byte) 1);
            target.close();
            CompletableFuture<Void> call = Async.start(() -> {
                namespace.write(0, memory);
                return null;
            });
            target = LossLabTest.serveAgain(
                    controller.address(), new NvmeTargetOptions(Disk.NAME).namespace(1, 4096, backing));
            ExecutionException e = assertThrows(ExecutionException.class, () -> Async.get(call));
            assertInstanceOf(IllegalStateException.class, e.getCause());
            assertTrue(e.getCause().getMessage().contains("another one has its id"), e.getCause()::getMessage);
            assertEquals(-1, backing.memory().mismatch(MemorySegment.ofArray(new byte[1 << 16])));
        } finally {
            target.close();
        }
    }
}
