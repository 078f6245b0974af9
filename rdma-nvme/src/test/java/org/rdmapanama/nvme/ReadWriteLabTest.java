package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;

/** Reads and writes namespaces through all layers. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReadWriteLabTest {
    private static final int BLOCKS = 4096;

    @TempDir
    Path folder;

    private Path file(long bytes) throws Exception {
        Path file = folder.resolve("disk.img");
        try (RandomAccessFile opened = new RandomAccessFile(file.toFile(), "rw")) {
            opened.setLength(bytes);
        }
        return file;
    }

    private NvmeBacking backing(String kind, long bytes) throws Exception {
        return switch (kind) {
            case "memory" -> NvmeBacking.ofMemory(bytes);
            case "file" -> NvmeBacking.ofFile(file(bytes), false);
            default -> NvmeBacking.ofMappedFile(file(bytes), false);
        };
    }

    @Test
    void shouldTellHostsTheSerialNumber() throws Exception {
        NvmeBacking backing = NvmeBacking.ofMemory(4096);
        NvmeTargetOptions served = new NvmeTargetOptions(Disk.NAME).namespace(1, 512, backing);
        try (Disk disk = new Disk(served, backing);
                NvmeController controller = disk.connect()) {
            assertEquals(served.serial(), controller.serial());
        }
        try (Disk disk = new Disk(served.serial("disk 7"), backing);
                NvmeController controller = disk.connect()) {
            assertEquals("disk 7", controller.serial());
        }
    }

    @Test
    void shouldReadWhatWasWritten() throws Exception {
        try (Disk disk = Disk.ofMemory(BLOCKS);
                NvmeController controller = disk.connect()) {
            List<NvmeNamespace> namespaces = controller.namespaces();
            assertEquals(1, namespaces.size());
            NvmeNamespace namespace = namespaces.getFirst();
            assertEquals(BLOCKS, namespace.blockCount());
            assertEquals(Disk.BLOCK, namespace.blockSize());
            assertEquals("rdma-panama", controller.model());
            assertEquals("1.4.0", controller.version());
            assertTrue(controller.isConnected());

            MemoryRegion region = controller.allocate(1 << 20);
            MemorySegment out = region.memory().asSlice(0, 16 * Disk.BLOCK);
            MemorySegment in = region.memory().asSlice(512 * 1024, 16 * Disk.BLOCK);
            FillPattern.fill(out, 7);
            namespace.write(100, out);
            namespace.read(100, in);
            assertEquals(-1, in.mismatch(out));
            assertEquals(
                    -1,
                    disk.backing
                            .memory()
                            .asSlice(100L * Disk.BLOCK, out.byteSize())
                            .mismatch(out));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "memory, 512, 4096, false",
        "memory, 4096, 0, false",
        "file, 512, 0, false",
        "file, 4096, 8192, false",
        "mapped, 512, 4096, false",
        "mapped, 4096, 4096, false",
        "memory, 65536, 4096, false",
        "memory, 512, 4096, true",
        "file, 512, 0, true"
    })
    void shouldKeepAllSizesAtAllPlaces(String kind, int blockSize, int inCapsule, boolean invalidates)
            throws Exception {
        long bytes = 4L << 20;
        NvmeBacking backing = backing(kind, bytes);
        NvmeTargetOptions served =
                new NvmeTargetOptions(Disk.NAME).inCapsuleData(inCapsule).namespace(3, blockSize, backing);
        byte[] model = new byte[(int) bytes];
        try (backing;
                Disk disk = new Disk(served, backing);
                NvmeController controller =
                        disk.connect(Disk.options().inCapsuleData(65536).remoteInvalidation(invalidates))) {
            assertEquals(inCapsule, controller.inCapsuleData());
            NvmeNamespace namespace = controller.namespaces().getFirst();
            assertEquals(3, namespace.id());
            MemoryRegion region = controller.allocate(1 << 20);
            Random random = new Random(42);
            int blocks = (int) namespace.blockCount();
            for (int i = 0; i < 200; i++) {
                // Mostly a few blocks, at times more than one command can transfer.
                int most = (1 << 20) / blockSize;
                int count = 1 + random.nextInt(i % 8 == 0 ? most : Math.min(most, 16));
                int first = random.nextInt(blocks - count + 1);
                MemorySegment memory = region.memory().asSlice(0, (long) count * blockSize);
                if (random.nextBoolean()) {
                    FillPattern.fill(memory, i);
                    namespace.write(first, memory);
                    MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, 0, model, first * blockSize, count * blockSize);
                } else {
                    memory.fill((byte) 0x55);
                    namespace.read(first, memory);
                    MemorySegment expected =
                            MemorySegment.ofArray(model).asSlice((long) first * blockSize, memory.byteSize());
                    assertEquals(-1, memory.mismatch(expected), "operation " + i);
                }
            }
            namespace.flush();
            if (!kind.equals("memory")) {
                assertEquals(
                        -1,
                        MemorySegment.ofArray(Files.readAllBytes(folder.resolve("disk.img")))
                                .mismatch(MemorySegment.ofArray(model)));
            }
        }
    }

    @Test
    void shouldSayWhatIsOutOfRange() throws Exception {
        try (Disk disk = Disk.ofMemory(BLOCKS);
                NvmeController controller = disk.connect()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemorySegment two = controller.allocate(2 * Disk.BLOCK).memory();
            namespace.read(BLOCKS - 2, two);
            for (long first : new long[] {BLOCKS - 1, BLOCKS, Long.MAX_VALUE - 5}) {
                NvmeException read = assertThrows(NvmeException.class, () -> namespace.read(first, two));
                assertEquals(NvmeStatus.LBA_OUT_OF_RANGE, read.status());
                NvmeException write = assertThrows(NvmeException.class, () -> namespace.write(first, two));
                assertEquals(NvmeStatus.LBA_OUT_OF_RANGE, write.status());
            }
            NvmeException e = assertThrows(NvmeException.class, () -> namespace.read(BLOCKS - 1, two));
            assertEquals(
                    "Read of namespace 1, blocks 4095 to 4096 of 4096, failed with status 0/80h: "
                            + "the blocks are not all in the namespace",
                    e.getMessage());
            assertThrows(IllegalArgumentException.class, () -> namespace.read(-1, two));
            assertThrows(IllegalArgumentException.class, () -> namespace.read(0, two.asSlice(0, 100)));
            IllegalArgumentException unknown = assertThrows(
                    IllegalArgumentException.class,
                    () -> namespace.read(0, Arena.ofAuto().allocate(Disk.BLOCK)));
            assertTrue(unknown.getMessage().contains("is not registered"), unknown::getMessage);
            // All goes on.
            namespace.write(0, two);
        }
    }

    @Test
    void shouldCompareZeroAndDeallocate() throws Exception {
        try (Disk disk = Disk.ofMemory(BLOCKS);
                NvmeController controller = disk.connect()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            assertTrue(namespace.canCompare() && namespace.canWriteZeroes() && namespace.canDeallocate());
            MemorySegment memory = controller.allocate(64 * 1024).memory();
            FillPattern.fill(memory, 3);
            namespace.write(10, memory);
            assertTrue(namespace.compare(10, memory));
            assertFalse(namespace.compare(11, memory));
            assertTrue(namespace.compare(10, memory.asSlice(0, Disk.BLOCK)));
            namespace.writeZeroes(12, 3);
            assertFalse(namespace.compare(10, memory));
            MemorySegment there = disk.backing.memory().asSlice(12L * Disk.BLOCK, 3L * Disk.BLOCK);
            assertEquals(-1, there.mismatch(MemorySegment.ofArray(new byte[3 * Disk.BLOCK])));
            assertTrue(namespace.compare(15, memory.asSlice(5L * Disk.BLOCK, Disk.BLOCK)));
            namespace.deallocate(15, 2);
            assertFalse(namespace.compare(15, memory.asSlice(5L * Disk.BLOCK, Disk.BLOCK)));
            NvmeException zeroes = assertThrows(NvmeException.class, () -> namespace.writeZeroes(BLOCKS - 1, 2));
            assertEquals(NvmeStatus.LBA_OUT_OF_RANGE, zeroes.status());
            NvmeException range = assertThrows(NvmeException.class, () -> namespace.deallocate(BLOCKS, 1));
            assertEquals(NvmeStatus.LBA_OUT_OF_RANGE, range.status());
        }
    }

    @Test
    void shouldFillNoMoreThanTheTargetAllows() throws Exception {
        NvmeBacking backing = NvmeBacking.ofMemory(BLOCKS * Disk.BLOCK);
        NvmeTargetOptions served = new NvmeTargetOptions(Disk.NAME)
                .namespace(1, Disk.BLOCK, backing)
                .maxWriteZeroes(8192);
        try (Disk disk = new Disk(served, backing);
                NvmeController controller = disk.connect(Disk.options().queues(1));
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            assertEquals(16, namespace.maxZeroes());
            MemorySegment there = backing.memory();
            there.fill((byte) 1);
            namespace.writeZeroes(3, 37);
            MemorySegment zeroed = there.asSlice(3L * Disk.BLOCK, 37L * Disk.BLOCK);
            assertEquals(-1, zeroed.mismatch(MemorySegment.ofArray(new byte[37 * Disk.BLOCK])));
            assertEquals(1, there.get(ValueLayout.JAVA_BYTE, 3L * Disk.BLOCK - 1));
            assertEquals(1, there.get(ValueLayout.JAVA_BYTE, 40L * Disk.BLOCK));
            IllegalArgumentException e =
                    assertThrows(IllegalArgumentException.class, () -> queue.tryWriteZeroes(namespace, 0, 17, 0));
            assertTrue(e.getMessage().contains("at most 16 blocks"), e::getMessage);
            // A host that does not ask.
            HostQueue host = controller.lockQueue("a test");
            try {
                int slot = IoCommands.simple(host, Opcode.WRITE_ZEROES, namespace, 100, 17, 0);
                NvmeException refused =
                        assertThrows(NvmeException.class, () -> host.finish(slot, "Write Zeroes", host::release));
                assertEquals(NvmeStatus.INVALID_FIELD, refused.status());
            } finally {
                host.lock.unlock();
            }
            assertEquals(1, there.get(ValueLayout.JAVA_BYTE, 100L * Disk.BLOCK));
        }
    }

    @Test
    void shouldNotWriteWhatIsReadOnly() throws Exception {
        Path file = file(1 << 20);
        byte[] content = FillPattern.bytes(1 << 20, 5);
        Files.write(file, content);
        for (boolean mapped : new boolean[] {false, true}) {
            NvmeBacking backing = mapped ? NvmeBacking.ofMappedFile(file, true) : NvmeBacking.ofFile(file, true);
            try (backing;
                    Disk disk = new Disk(backing, 512);
                    NvmeController controller = disk.connect()) {
                NvmeNamespace namespace = controller.namespaces().getFirst();
                MemorySegment memory = controller.allocate(64 * 1024).memory();
                for (int blocks : new int[] {1, 128}) {
                    MemorySegment part = memory.asSlice(0, blocks * 512L);
                    NvmeException e = assertThrows(NvmeException.class, () -> namespace.write(0, part));
                    assertEquals(NvmeStatus.WRITE_PROTECTED, e.status());
                    namespace.read(2, part);
                    assertEquals(
                            -1, part.mismatch(MemorySegment.ofArray(content).asSlice(1024, part.byteSize())));
                }
                assertThrows(NvmeException.class, () -> namespace.writeZeroes(0, 1));
            }
        }
        assertEquals(-1, MemorySegment.ofArray(Files.readAllBytes(file)).mismatch(MemorySegment.ofArray(content)));
    }

    @Test
    void shouldUsePoolsOfTheProtectionDomain() throws Exception {
        try (Disk disk = Disk.ofMemory(BLOCKS);
                NvmeController controller = disk.connect();
                NvmeController other = disk.connect()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            RegisteredPool pool = RegisteredPool.create(
                    controller.protectionDomain(), 1 << 20, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE);
            RegisteredBuffer out = pool.allocate(4096);
            RegisteredBuffer in = pool.allocate(4096);
            FillPattern.fill(out.memory(), 9);
            namespace.write(8, out);
            namespace.read(8, in);
            assertEquals(-1, in.memory().mismatch(out.memory()));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> other.namespaces().getFirst().read(8, in));
            in.close();
            assertThrows(IllegalStateException.class, () -> namespace.read(8, in));
        }
    }

    @Test
    void shouldServeThreadsAndHostsAtTheSameTime() throws Exception {
        int threads = 4;
        int share = BLOCKS / threads / 2;
        try (Disk disk = Disk.ofMemory(BLOCKS);
                NvmeController first = disk.connect(Disk.options().queues(3));
                NvmeController second = disk.connect()) {
            assertEquals(2, disk.target.controllers());
            List<CompletableFuture<Void>> all = new ArrayList<>();
            for (int i = 0; i < 2 * threads; i++) {
                NvmeController controller = i % 2 == 0 ? first : second;
                int start = i * share;
                int seed = i;
                all.add(Async.start(() -> {
                    NvmeNamespace namespace = controller.namespaces().getFirst();
                    MemorySegment memory = controller.allocate(8 * Disk.BLOCK).memory();
                    for (int round = 0; round < 50; round++) {
                        long at = start + (round * 8L) % (share - 8);
                        FillPattern.fill(memory, seed * 1000 + round);
                        namespace.write(at, memory);
                        memory.fill((byte) 0);
                        namespace.read(at, memory);
                        FillPattern.assertFilled(memory, seed * 1000 + round);
                    }
                    return null;
                }));
            }
            for (CompletableFuture<Void> each : all) {
                Async.get(each);
            }
        }
    }

    @Test
    void shouldRefuseWhatIsNotThere() throws Exception {
        try (Disk disk = Disk.ofMemory(BLOCKS)) {
            NvmeException e = assertThrows(
                    NvmeException.class, () -> disk.connect(new NvmeOptions().subsystem("nqn.2026-01.org.example:no")));
            assertEquals(NvmeStatus.CONNECT_INVALID_PARAMETERS, e.status());
            assertThrows(IllegalArgumentException.class, () -> disk.connect(new NvmeOptions()));
            assertEquals(0, disk.target.controllers());
            InetSocketAddress nobody = Lab.second(Lab.port());
            assertThrows(
                    org.rdmapanama.cm.ConnectionException.class,
                    () -> NvmeController.connect(nobody, Disk.options().connectTimeout(Duration.ofSeconds(5))));
            // And all is free again.
            disk.connect().close();
        }
    }

    @Test
    void shouldLimitHostsAndQueues() throws Exception {
        NvmeBacking backing = NvmeBacking.ofMemory(1 << 20);
        NvmeTargetOptions served = new NvmeTargetOptions(Disk.NAME)
                .namespace(1, 512, backing)
                .maxControllers(2)
                .ioQueues(2)
                .maxQueues(5);
        try (Disk disk = new Disk(served, backing);
                NvmeController first = disk.connect()) {
            assertEquals(2, first.grantedQueues());
            NvmeQueue own = first.openQueue();
            IllegalStateException none = assertThrows(IllegalStateException.class, first::openQueue);
            assertTrue(none.getMessage().contains("has granted 2 I/O queues"), none::getMessage);
            own.close();
            NvmeQueue again = first.openQueue();
            try (NvmeController second = disk.connect()) {
                NvmeException full = assertThrows(NvmeException.class, disk::connect);
                assertTrue(full.getMessage().contains("no resources"), full::getMessage);
                again.close();
                // The target learns a little later that queues have ended.
                Bound.usual()
                        .await(
                                "the controllers are not limited",
                                () -> assertThrows(NvmeException.class, disk::connect)
                                        .status()
                                        .equals(NvmeStatus.CONNECT_BUSY));
                assertTrue(second.isConnected());
            }
        }
    }
}
