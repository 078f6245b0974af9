package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsException;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.Response;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;

/** Targets that answer what they must not, or not at all: the host says so within its limits. */
@Tag("lab")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileTargetLabTest {
    private static final int ROUNDS = Integer.getInteger("hostile.answers", 150);

    private static NvmeOptions options() {
        return Disk.options().commandTimeout(Duration.ofMillis(500)).keepAlive(Duration.ofSeconds(1));
    }

    @Test
    void shouldWorkWithoutFaults() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options())) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            assertEquals(RawTarget.BLOCKS, namespace.blockCount());
            namespace.write(0, controller.allocate(4096).memory());
            namespace.flush();
            assertTrue(controller.isConnected());
        }
    }

    /** A fault that comes with I/O commands only. */
    private static RawTarget.Fault ofIo(RawTarget.Fault fault) {
        return (command, data, response) -> {
            int opcode = Command.opcode(command);
            // Of admin commands none has these codes and no Fabrics type.
            return opcode == Opcode.WRITE || opcode == Opcode.FLUSH
                    ? fault.answer(command, data, response)
                    : Response.BYTES;
        };
    }

    private static NvmeException lose(RawTarget.Fault fault) throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options())) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = controller.allocate(4096).memory();
            target.fault = ofIo(fault);
            long start = System.nanoTime();
            NvmeException e = assertThrows(NvmeException.class, () -> {
                for (int i = 0; i < 200; i++) {
                    namespace.write(0, memory);
                }
            });
            assertTrue(System.nanoTime() - start < 5_000_000_000L);
            assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
            // All queues are lost with one.
            Bound.usual().await("the controller is still there", () -> !controller.isConnected());
            assertThrows(NvmeException.class, namespace::flush);
            assertThrows(NvmeException.class, controller::namespaces);
            return e;
        }
    }

    @Test
    void shouldNotWaitForEver() throws Exception {
        NvmeException e = lose((command, data, response) -> RawTarget.Fault.SILENCE);
        assertTrue(e.getMessage().contains("has not answered command"), e::getMessage);
        assertTrue(e.getMessage().contains("Write"), e::getMessage);
    }

    @Test
    void shouldCloseThoughNobodyAnswers() throws Exception {
        try (RawTarget target = new RawTarget()) {
            long start;
            try (NvmeController controller = NvmeController.connect(target.address(), Disk.options());
                    NvmeQueue queue = controller.openQueue()) {
                assertEquals(0, queue.pending());
                target.fault = (command, data, response) -> RawTarget.Fault.SILENCE;
                start = System.nanoTime();
            }
            long took = System.nanoTime() - start;
            assertTrue(took < 8_000_000_000L, () -> "closing took " + took + " ns");
        }
    }

    @Test
    void shouldRefuseResponsesOfWrongSize() throws Exception {
        NvmeException shorter = lose((command, data, response) -> Response.BYTES - 1);
        assertTrue(shorter.getMessage().contains("a response of 15 bytes instead of 16"), shorter::getMessage);
        // The device of the host refuses what does not fit, and its connection fails.
        lose((command, data, response) -> Response.BYTES + 1);
    }

    @Test
    void shouldRefuseResponsesToNothing() throws Exception {
        NvmeException e = lose((command, data, response) -> {
            Fields.set16(response, 12, Response.id(response) + 1);
            return Response.BYTES;
        });
        assertTrue(e.getMessage().contains("which is not under way"), e::getMessage);
    }

    @Test
    void shouldNoticeThatTheQueueIsNotTaken() throws Exception {
        NvmeException e = lose((command, data, response) -> {
            Fields.set16(response, 8, 0xffff);
            return Response.BYTES;
        });
        assertTrue(e.getMessage().contains("did not say that it has taken their entries"), e::getMessage);
    }

    @Test
    void shouldNoticeThatTheAdminQueueIsNotTaken() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options())) {
            target.fault = (command, data, response) -> {
                Fields.set16(response, 8, 0xffff);
                return Response.BYTES;
            };
            CompletableFuture<Void> asking = Async.start(() -> {
                while (true) {
                    controller.namespaces();
                }
            });
            ExecutionException e = assertThrows(ExecutionException.class, () -> asking.get(5, TimeUnit.SECONDS));
            assertTrue(
                    e.getCause().getMessage().contains("did not say that it has taken their entries"),
                    e.getCause()::getMessage);
        }
    }

    @Test
    void shouldKeepControllersThatAnswerWithErrors() throws Exception {
        AtomicInteger events = new AtomicInteger();
        AtomicInteger errors = new AtomicInteger();
        try (RawTarget target = new RawTarget()) {
            target.events.set(2);
            target.fault = (command, data, response) -> {
                int opcode = Command.opcode(command);
                boolean isPage = opcode == Opcode.GET_LOG_PAGE && data.byteSize() > 0;
                if (isPage || opcode == Opcode.KEEP_ALIVE) {
                    errors.incrementAndGet();
                    Fields.set16(response, 14, NvmeStatus.INVALID_OPCODE.field());
                }
                return Response.BYTES;
            };
            NvmeOptions options =
                    options().keepAlive(Duration.ofMillis(200)).onEvent(event -> events.incrementAndGet());
            try (NvmeController controller = NvmeController.connect(target.address(), options)) {
                Bound.usual().await("no answers with errors: " + errors, () -> events.get() == 2 && errors.get() >= 5);
                assertTrue(controller.isConnected());
                assertFalse(controller.namespaces().isEmpty());
            }
        }
    }

    @Test
    void shouldEndAllCommandsOfACallThatFails() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller =
                        NvmeController.connect(target.address(), options().queues(1))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = controller.allocate(1 << 20).memory();
            HostQueue queue = controller.lockQueue("a test");
            queue.lock.unlock();
            AtomicBoolean failed = new AtomicBoolean();
            target.fault = ofIo((command, data, response) -> {
                // While the host sends several commands or waits for them, it cannot any more.
                if (!failed.getAndSet(true)) {
                    queue.connection().queuePair().close();
                    queue.connection().sendQueue().close();
                }
                return RawTarget.Fault.SILENCE;
            });
            NvmeException e = assertThrows(NvmeException.class, () -> namespace.write(0, memory));
            assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
            assertEquals(0, queue.underWay());
        }
    }

    @Test
    void shouldLoseAQueueThatCannotSend() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller =
                        NvmeController.connect(target.address(), options().queues(1))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = controller.allocate(4096).memory();
            HostQueue queue = controller.lockQueue("a test");
            queue.connection().queuePair().close();
            queue.lock.unlock();
            NvmeException e = assertThrows(NvmeException.class, () -> namespace.write(0, memory));
            assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
            assertInstanceOf(IllegalStateException.class, e.getCause());
            assertEquals(0, queue.pending());
            Bound.usual().await("the controller is still there", () -> !controller.isConnected());
        }
    }

    @Test
    void shouldCloseWhatAFailedAttemptHasOpened() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(
                        target.address(),
                        options().keepAlive(Duration.ofMillis(200)).reconnect(2, Duration.ofMillis(10)))) {
            assertFalse(controller.namespaces().isEmpty());
            AtomicInteger attempts = new AtomicInteger();
            target.fault = (command, data, response) -> {
                int opcode = Command.opcode(command);
                boolean isNamespace =
                        opcode == Opcode.IDENTIFY && data.byteSize() > 0 && Command.dword(command, 10) == 0;
                if (isNamespace) {
                    attempts.incrementAndGet();
                }
                return isNamespace || opcode == Opcode.KEEP_ALIVE ? RawTarget.Fault.SILENCE : Response.BYTES;
            };
            Bound.usual().await("it does not connect again", () -> attempts.get() == 2);
            Bound.usual().await("connections are left", () -> target.connections() == 0);
        }
    }

    @Test
    void shouldCloseWhileItConnectsAgain() throws Exception {
        try (RawTarget target = new RawTarget()) {
            NvmeController controller =
                    NvmeController.connect(target.address(), Disk.options().reconnect(100, Duration.ofMillis(10)));
            AtomicInteger asked = new AtomicInteger();
            target.fault = (command, data, response) -> {
                if (Command.opcode(command) != Opcode.IDENTIFY) {
                    return Response.BYTES;
                }
                asked.incrementAndGet();
                return RawTarget.Fault.SILENCE;
            };
            target.disconnect();
            Bound.usual().await("it does not connect again", () -> asked.get() > 0);
            long start = System.nanoTime();
            controller.close();
            long took = System.nanoTime() - start;
            assertTrue(took < 5_000_000_000L, () -> "closing took " + took + " ns");
        }
    }

    @Test
    void shouldSurviveRandomAnswers() throws Exception {
        long seed = Long.getLong("hostile.seed", 21);
        int connected = 0;
        int failed = 0;
        try (RawTarget target = new RawTarget()) {
            for (int round = 0; round < ROUNDS; round++) {
                Random random = new Random(seed + round);
                AtomicInteger answers = new AtomicInteger();
                int wrong = random.nextInt(20);
                target.fault = (command, data, response) -> {
                    int number = answers.getAndIncrement();
                    return number < wrong || random.nextBoolean() ? Response.BYTES : change(random, data, response);
                };
                long start = System.nanoTime();
                try (NvmeController controller =
                        NvmeController.connect(target.address(), options().connectTimeout(Duration.ofSeconds(2)))) {
                    connected++;
                    MemorySegment memory = controller.allocate(16384).memory();
                    for (NvmeNamespace each : controller.namespaces()) {
                        assertTrue(each.blockSize() >= 512 && each.byteSize() > 0);
                        MemorySegment block = memory.asSlice(0, Math.min(each.blockSize(), memory.byteSize()));
                        if (block.byteSize() == each.blockSize()) {
                            each.write(0, block);
                            each.read(0, block);
                            each.compare(0, block);
                            each.deallocate(0, 1);
                        }
                    }
                } catch (NvmeException | IllegalStateException | VerbsException expected) {
                    failed++;
                }
                int which = round;
                assertTrue(System.nanoTime() - start < 20_000_000_000L, () -> "seed " + seed + ", round " + which);
            }
            target.fault = RawTarget.Fault.NONE;
            try (NvmeController controller = NvmeController.connect(target.address(), options())) {
                assertFalse(controller.namespaces().isEmpty());
            }
        }
        System.out.println(connected + " of " + ROUNDS + " rounds connected, and " + failed + " failed");
    }

    private static int change(Random random, MemorySegment data, MemorySegment response) {
        switch (random.nextInt(8)) {
            case 0 -> {
                return random.nextInt(4) == 0 ? RawTarget.Fault.SILENCE : 1 + random.nextInt(40);
            }
            case 1 -> Fields.set16(response, 12, random.nextInt(0x10000));
            case 2 -> Fields.set16(response, 8, random.nextInt(0x10000));
            case 3 -> Fields.set16(response, 14, random.nextInt(0x10000));
            case 4 -> Fields.set64(response, 0, random.nextLong());
            case 5 -> Fields.set8(response, random.nextInt(16), random.nextInt(256));
            default -> {
                for (int i = 0; i < 64 && data.byteSize() > 0; i++) {
                    int at = random.nextBoolean() ? random.nextInt(160) : random.nextInt((int) data.byteSize());
                    Fields.set8(data, at, random.nextInt(256));
                }
            }
        }
        return Response.BYTES;
    }
}
