package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;

/** Queues of programs, with many commands under way. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class QueueLabTest {
    private static final int BLOCKS = 8192;
    private static final int PIECE = 8;

    private static int await(NvmeQueue queue, NvmeResults results) throws InterruptedException {
        int count = queue.await(results, Duration.ofSeconds(20));
        assertTrue(count > 0, "no command has ended");
        return count;
    }

    @ParameterizedTest
    @CsvSource({
        "2, false",
        "3, false",
        "32, false",
        "128, false",
        "2, true",
        "3, true",
        "32, true",
        "128, true",
        "1024, true"
    })
    void shouldKeepTheWholeQueueUnderWay(int entries, boolean invalidates) throws Exception {
        NvmeBacking backing = NvmeBacking.ofMemory(BLOCKS * Disk.BLOCK);
        NvmeTargetOptions served =
                new NvmeTargetOptions(Disk.NAME).queueSize(1024).namespace(1, Disk.BLOCK, backing);
        try (Disk disk = new Disk(served, backing);
                NvmeController controller =
                        disk.connect(Disk.options().queueSize(entries).remoteInvalidation(invalidates));
                NvmeQueue queue = controller.openQueue()) {
            assertEquals(entries - 1, queue.depth());
            NvmeNamespace namespace = controller.namespaces().getFirst();
            int pieces = BLOCKS / PIECE;
            int bytes = PIECE * Disk.BLOCK;
            MemoryRegion region = controller.allocate((long) pieces * bytes);
            FillPattern.fill(region.memory(), entries);
            NvmeResults results = new NvmeResults(queue.depth());
            for (boolean write : new boolean[] {true, false}) {
                boolean[] ended = new boolean[pieces];
                int submitted = 0;
                int done = 0;
                int most = 0;
                while (done < pieces) {
                    while (submitted < pieces
                            && (write
                                    ? queue.tryWrite(
                                            namespace,
                                            (long) submitted * PIECE,
                                            region,
                                            (long) submitted * bytes,
                                            PIECE,
                                            submitted)
                                    : queue.tryRead(
                                            namespace,
                                            (long) submitted * PIECE,
                                            region,
                                            (long) submitted * bytes,
                                            PIECE,
                                            submitted))) {
                        submitted++;
                    }
                    most = Math.max(most, queue.pending());
                    int count = await(queue, results);
                    for (int i = 0; i < count; i++) {
                        assertTrue(results.succeeded(i), () -> results.status(0).toString());
                        int piece = (int) results.cookie(i);
                        assertFalse(ended[piece]);
                        ended[piece] = true;
                    }
                    done += count;
                }
                assertEquals(queue.depth(), most);
                assertEquals(0, queue.pending());
                assertEquals(0, queue.poll(results));
                if (write) {
                    region.memory().fill((byte) 0);
                }
            }
            FillPattern.assertFilled(region.memory(), entries);
        }
    }

    @Test
    void shouldTellEachOutcome() throws Exception {
        try (Disk disk = Disk.ofMemory(BLOCKS);
                NvmeController controller = disk.connect();
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(1 << 20);
            region.memory().fill((byte) 1);
            assertTrue(queue.tryWriteZeroes(namespace, 0, 16, 100));
            assertTrue(queue.tryRead(namespace, BLOCKS, region, 0, 1, 101));
            assertTrue(queue.tryCompare(namespace, 0, region, 4096, 1, 102));
            assertTrue(queue.tryFlush(namespace, 103));
            assertTrue(queue.tryDeallocate(namespace, 5, 1, 104));
            assertTrue(queue.tryDeallocate(namespace, 5, 0xffff_ffffL, 105));
            NvmeStatus[] statuses = new NvmeStatus[6];
            // Smaller than what may have ended at once.
            NvmeResults results = new NvmeResults(2);
            for (int done = 0; done < statuses.length; ) {
                int count = await(queue, results);
                for (int i = 0; i < count; i++) {
                    statuses[(int) results.cookie(i) - 100] = results.status(i);
                }
                done += count;
            }
            assertEquals(NvmeStatus.SUCCESS, statuses[0]);
            assertEquals(NvmeStatus.LBA_OUT_OF_RANGE, statuses[1]);
            assertEquals(NvmeStatus.COMPARE_FAILURE, statuses[2]);
            assertEquals(NvmeStatus.SUCCESS, statuses[3]);
            assertEquals(NvmeStatus.SUCCESS, statuses[4]);
            assertEquals(NvmeStatus.LBA_OUT_OF_RANGE, statuses[5]);
            assertEquals(
                    0, queue.await(results, Duration.ofSeconds(10)), "nothing is under way, so nothing to wait for");
            assertThrows(IndexOutOfBoundsException.class, () -> results.cookie(0));
            assertThrows(
                    IndexOutOfBoundsException.class,
                    () -> queue.tryRead(namespace, 0, region, region.byteSize() - 511, 1, 0));
            assertThrows(IllegalArgumentException.class, () -> queue.tryRead(namespace, 0, region, 0, 257, 0));
        }
    }

    @Test
    void shouldWaitForBuffersOfTheTarget() throws Exception {
        // More commands with large data than a target without direct memory has buffers.
        java.nio.file.Path file = java.nio.file.Files.createTempFile("nvme", ".img");
        try {
            java.nio.file.Files.write(file, new byte[8 << 20]);
            try (NvmeBacking backing = NvmeBacking.ofFile(file, false);
                    Disk disk = new Disk(backing, 512);
                    NvmeController controller = disk.connect();
                    NvmeQueue queue = controller.openQueue()) {
                NvmeNamespace namespace = controller.namespaces().getFirst();
                MemoryRegion region = controller.allocate(8 << 20);
                NvmeResults results = new NvmeResults(64);
                Random random = new Random(1);
                for (int round = 0; round < 4; round++) {
                    FillPattern.fill(region.memory(), round);
                    for (boolean write : new boolean[] {true, false}) {
                        for (int i = 0; i < 64; i++) {
                            long at = i * 256L;
                            assertTrue(
                                    write
                                            ? queue.tryWrite(namespace, at, region, i * 131072L, 256, i)
                                            : queue.tryRead(namespace, at, region, i * 131072L, 256, i));
                        }
                        for (int done = 0; done < 64; ) {
                            int count = await(queue, results);
                            for (int i = 0; i < count; i++) {
                                assertTrue(results.succeeded(i));
                            }
                            done += count;
                        }
                        if (write) {
                            region.memory().fill((byte) random.nextInt());
                        }
                    }
                    MemorySegment part = region.memory().asSlice(0, 100_000);
                    FillPattern.assertFilled(part, round);
                    assertEquals(
                            -1,
                            region.memory().mismatch(MemorySegment.ofArray(java.nio.file.Files.readAllBytes(file))));
                }
            }
        } finally {
            java.nio.file.Files.delete(file);
        }
    }

    @Test
    void shouldEndCommandsWhenItIsClosed() throws Exception {
        try (Disk disk = Disk.ofMemory(BLOCKS);
                NvmeController controller = disk.connect()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(1 << 20);
            NvmeQueue queue = controller.openQueue();
            int submitted = 0;
            while (queue.tryRead(namespace, 0, region, 0, 256, submitted)) {
                submitted++;
            }
            queue.close();
            NvmeResults results = new NvmeResults(submitted);
            assertEquals(submitted, queue.poll(results), "each command must end");
            for (int i = 0; i < submitted; i++) {
                NvmeStatus status = results.status(i);
                assertTrue(status.isSuccess() || status.equals(NvmeStatus.HOST_PATH_ERROR), status::toString);
            }
            assertThrows(IllegalStateException.class, () -> queue.tryFlush(namespace, 0));
            // The controller goes on with its other queues.
            namespace.read(0, region.memory().asSlice(0, 4096));
            Bound.usual().await("the controller was lost with one queue", controller::isConnected);
        }
    }

    @Test
    void shouldRefuseRegionsThatTheControllerCannotReach() throws Exception {
        try (Disk disk = Disk.ofMemory(64);
                NvmeController controller = disk.connect();
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment memory = Arena.ofAuto().allocate(4096, 4096);
            MemoryRegion readable = controller.register(memory, AccessFlag.REMOTE_READ);
            IllegalArgumentException e =
                    assertThrows(IllegalArgumentException.class, () -> queue.tryRead(namespace, 0, readable, 0, 8, 1));
            assertTrue(e.getMessage().contains("REMOTE_WRITE"), e::getMessage);
            assertThrows(IllegalArgumentException.class, () -> namespace.read(0, memory));
            namespace.write(0, memory);
            assertTrue(queue.tryWrite(namespace, 0, readable, 0, 8, 1));
            NvmeResults results = new NvmeResults(1);
            assertEquals(1, queue.await(results, Duration.ofSeconds(10)));
            readable.close();
            assertThrows(IllegalStateException.class, () -> queue.tryWrite(namespace, 0, readable, 0, 8, 1));
            namespace.flush();
            assertTrue(controller.isConnected());
        }
    }
}
