package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.Response;
import org.rdmapanama.testing.Bound;

/** Commands that take too long. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AbortLabTest {
    @TempDir
    Path folder;

    /** What the code of Abort is on an I/O queue, no test here sends. */
    private static boolean isAbort(MemorySegment command) {
        return Command.opcode(command) == Opcode.ABORT;
    }

    private static NvmeOptions options(int abortMillis) {
        return Disk.options()
                .keepAlive(Duration.ZERO)
                .commandTimeout(Duration.ofMillis(300))
                .abortTimeout(Duration.ofMillis(abortMillis));
    }

    private NvmeResults await(NvmeQueue queue, int count) throws InterruptedException {
        NvmeResults results = new NvmeResults(count);
        assertTrue(queue.await(results, Duration.ofSeconds(20)) > 0, "no command has ended");
        return results;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAbortWhatTheTargetHasNotBegun(boolean invalidates) throws Exception {
        Path path = folder.resolve("disk.img");
        Files.write(path, new byte[64 * Disk.BLOCK]);
        GatedFile gated = new GatedFile(FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE));
        try (NvmeBacking backing = NvmeBacking.ofChannel(gated, 64L * Disk.BLOCK, false);
                Disk disk = new Disk(backing, Disk.BLOCK);
                NvmeController controller = disk.connect(
                        options(20_000).commandTimeout(Duration.ofSeconds(3)).remoteInvalidation(invalidates));
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(4096);
            region.memory().fill((byte) 1);
            assertTrue(queue.tryRead(namespace, 0, region, 0, 1, 100));
            assertTrue(gated.entered.await(20, TimeUnit.SECONDS));
            assertTrue(queue.tryRead(namespace, 0, region, 512, 1, 101));
            assertTrue(queue.tryRead(namespace, 0, region, 1024, 1, 102));
            TargetQueue served = disk.target.controller(controller.id()).queue(queue.number());
            // The first command has begun, and its Abort is answered at once.
            Bound.usual().await("the target gets no Aborts", () -> served.abortsToDecide() == 2);
            assertEquals(3, queue.pending());
            gated.open.countDown();
            List<String> ended = new ArrayList<>();
            while (ended.size() < 3) {
                NvmeResults results = await(queue, 3);
                for (int i = 0; i < results.count(); i++) {
                    ended.add(results.cookie(i) + " " + results.status(i));
                }
            }
            ended.sort(null);
            assertEquals(
                    List.of("100 " + NvmeStatus.SUCCESS, "101 " + NvmeStatus.ABORTED, "102 " + NvmeStatus.ABORTED),
                    ended);
            assertEquals(0, region.memory().get(ValueLayout.JAVA_BYTE, 0));
            assertEquals(1, region.memory().get(ValueLayout.JAVA_BYTE, 512));
            assertTrue(controller.isConnected());
            // The queue goes on.
            assertEquals(0, queue.pending());
            assertTrue(queue.tryRead(namespace, 0, region, 512, 1, 103));
            assertEquals(NvmeStatus.SUCCESS, await(queue, 1).status(0));
            namespace.read(0, region.memory().asSlice(0, 512));
        }
    }

    @Test
    void shouldGiveUpATargetThatIsSilentAfterTheAbort() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options(400))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = controller.allocate(512).memory();
            List<Integer> aborted = new CopyOnWriteArrayList<>();
            AtomicInteger command = new AtomicInteger();
            target.fault = (entry, data, response) -> {
                if (isAbort(entry)) {
                    aborted.add(Command.dword(entry, 10));
                    return Response.BYTES;
                }
                command.set(1 | Command.id(entry) << 16);
                return RawTarget.Fault.SILENCE;
            };
            long start = System.nanoTime();
            NvmeException e = assertThrows(NvmeException.class, () -> namespace.write(0, memory));
            assertTrue(System.nanoTime() - start >= 700_000_000L, "both bounds are to be waited for");
            assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
            assertTrue(e.getMessage().contains("PT0.3S, nor in PT0.4S after it was to be aborted"), e::getMessage);
            assertEquals(List.of(command.get()), aborted);
            assertFalse(controller.isConnected());
        }
    }

    @Test
    void shouldTakeAnAnswerThatComesAfterTheAbort() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options(20_000))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = controller.allocate(512).memory();
            AtomicInteger aborts = new AtomicInteger();
            target.fault = (entry, data, response) -> {
                if (isAbort(entry)) {
                    aborts.incrementAndGet();
                    target.late = true;
                    return Response.BYTES;
                }
                return Command.opcode(entry) == Opcode.WRITE ? RawTarget.Fault.LATER : Response.BYTES;
            };
            namespace.write(0, memory);
            assertEquals(1, aborts.get());
            target.fault = RawTarget.Fault.NONE;
            for (int i = 0; i < 200; i++) {
                namespace.write(0, memory);
            }
            assertTrue(controller.isConnected());
        }
    }

    @Test
    void shouldNotUseASlotAgainBeforeItsAbortIsAnswered() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(
                        target.address(), options(20_000).queueSize(2).commandTimeout(Duration.ofSeconds(3)));
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            target.fault = (entry, data, response) -> {
                if (isAbort(entry)) {
                    target.late = true;
                    return RawTarget.Fault.SILENCE;
                }
                return Command.opcode(entry) == Opcode.FLUSH ? RawTarget.Fault.LATER : Response.BYTES;
            };
            assertTrue(queue.tryFlush(namespace, 5));
            NvmeResults results = await(queue, 1);
            assertEquals(NvmeStatus.SUCCESS, results.status(0));
            assertEquals(0, queue.pending());
            // Its only slot.
            assertFalse(queue.tryFlush(namespace, 6));
            // No answer to an Abort is none to a command of the Admin queue.
            Bound.usual().await("the controller is still there", () -> !controller.isConnected());
        }
    }

    @Test
    void shouldSendNoMoreAbortsThanTheTargetAllows() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options(20_000));
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            AtomicInteger aborts = new AtomicInteger();
            target.fault = (entry, data, response) -> {
                if (isAbort(entry)) {
                    aborts.incrementAndGet();
                }
                return RawTarget.Fault.SILENCE;
            };
            for (int i = 0; i < 10; i++) {
                assertTrue(queue.tryFlush(namespace, i));
            }
            Bound.usual().await("the controller is still there", () -> !controller.isConnected());
            assertEquals(IdentifyPages.ABORTS + 1, aborts.get());
        }
    }

    @Test
    void shouldGiveUpAtOnceWithoutAbort() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options(0))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            AtomicInteger aborts = new AtomicInteger();
            target.fault = (entry, data, response) -> {
                if (isAbort(entry)) {
                    aborts.incrementAndGet();
                }
                return RawTarget.Fault.SILENCE;
            };
            NvmeException e = assertThrows(NvmeException.class, namespace::flush);
            assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
            assertFalse(e.getMessage().contains("aborted"), e::getMessage);
            assertEquals(0, aborts.get());
        }
    }
}
