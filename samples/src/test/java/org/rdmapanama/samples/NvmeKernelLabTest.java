package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.nvme.DiscoveryEntry;
import org.rdmapanama.nvme.NvmeBacking;
import org.rdmapanama.nvme.NvmeController;
import org.rdmapanama.nvme.NvmeDiscovery;
import org.rdmapanama.nvme.NvmeException;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.nvme.NvmeOptions;
import org.rdmapanama.nvme.NvmeQueue;
import org.rdmapanama.nvme.NvmeStatus;
import org.rdmapanama.nvme.NvmeTarget;
import org.rdmapanama.nvme.NvmeTargetOptions;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.NeedsVirtualMachine;

/** NVMe over RDMA with an independent implementation: the target and the host of the Linux kernel. */
@Tag("lab")
@NeedsVirtualMachine("the modules nvmet-rdma, nvme-rdma and null_blk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NvmeKernelLabTest {
    private static final int MIB = 1 << 20;
    private static final int SIZE = MIB;

    /** Of what soft0 moves, which is slow in an emulated machine. */
    private static final int SOFT_SIZE = 128 * 1024;

    private static final int PORT = Lab.port();
    private static final String OUR_NAME = "nqn.2026-01.org.rdmapanama:ours";

    /** The ids of the kernel's namespaces, by the size of their blocks. */
    private static final int SMALL_BLOCKS = 1;

    private static final int LARGE_BLOCKS = 2;

    private static KernelTarget target;
    private static Path small;
    private static Path large;
    private static Path link;

    @BeforeAll
    static void makeTarget() throws Exception {
        assumeTrue(System.getenv("RDMA_DEVICE") == null, "needs the lab's kernel");
        target = new KernelTarget();
        small = target.addDisk(SMALL_BLOCKS, 512, SIZE / MIB);
        large = target.addDisk(LARGE_BLOCKS, 4096, SIZE / MIB);
        link = target.listen(Lab.FIRST_HOST, PORT);
    }

    @AfterAll
    static void removeTarget() throws IOException {
        if (target != null) {
            target.close();
        }
    }

    private static Path device(int id) {
        return id == SMALL_BLOCKS ? small : large;
    }

    /** Over the wire: without an address of its own the kernel would take the way inside. */
    private static NvmeOptions options() throws IOException {
        return new NvmeOptions()
                .subsystem(KernelTarget.NAME)
                .localAddress(InetAddress.getByName(Lab.SECOND_HOST))
                .connectTimeout(Lab.SECONDS)
                .commandTimeout(Lab.SECONDS);
    }

    private static NvmeController connect() throws Exception {
        return NvmeController.connect(Lab.first(PORT), options());
    }

    private static NvmeNamespace namespace(NvmeController controller, int id) {
        return controller.namespaces().stream()
                .filter(each -> each.id() == id)
                .findFirst()
                .orElseThrow();
    }

    /** Fails unless the kernel has in its memory what the load has written. */
    private static void assertSame(VerifiedLoad load, Path device, long offset) throws IOException {
        assertArrayEquals(load.copy(), KernelTarget.read(device, offset, load.copy().length));
    }

    @Test
    void shouldDescribeTheTarget() throws Exception {
        List<DiscoveryEntry> entries = NvmeDiscovery.discover(Lab.first(PORT), options());
        assertTrue(
                entries.stream()
                        .anyMatch(each -> each.isNvm()
                                && each.isRdma()
                                && each.subsystem().equals(KernelTarget.NAME)
                                && each.socketAddress().equals(Optional.of(Lab.first(PORT)))),
                entries::toString);
        try (NvmeController controller = connect()) {
            assertEquals("Linux", controller.model());
            List<NvmeNamespace> all = controller.namespaces();
            assertEquals(
                    List.of(512, 4096),
                    all.stream().map(NvmeNamespace::blockSize).toList());
            for (NvmeNamespace each : all) {
                assertEquals(SIZE, each.byteSize());
                String uuid = Files.readString(KernelTarget.attribute(each.id(), "device_uuid"));
                assertEquals(uuid.strip().replace("-", ""), each.guid());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {SMALL_BLOCKS, LARGE_BLOCKS})
    void shouldMoveWholeNamespaces(int id) throws Exception {
        try (NvmeController controller = connect()) {
            NvmeNamespace disk = namespace(controller, id);
            MemoryRegion region = controller.allocate(SIZE);
            byte[] data = FillPattern.bytes(SIZE, id);
            MemorySegment.copy(MemorySegment.ofArray(data), 0, region.memory(), 0, SIZE);
            disk.write(0, region.memory());
            disk.flush();
            assertArrayEquals(data, KernelTarget.read(device(id), 0, SIZE));
            assertFalse(disk.canCompare());

            byte[] other = FillPattern.bytes(SIZE, id + 2);
            KernelTarget.write(device(id), 0, other);
            disk.read(0, region.memory());
            assertArrayEquals(other, region.memory().toArray(ValueLayout.JAVA_BYTE));

            int zeroed = SIZE / 4;
            disk.writeZeroes(0, zeroed / disk.blockSize());
            disk.deallocate(zeroed / disk.blockSize(), zeroed / disk.blockSize());
            Arrays.fill(other, 0, 2 * zeroed, (byte) 0);
            assertArrayEquals(other, KernelTarget.read(device(id), 0, SIZE));
            // The kernel does not tell why.
            MemorySegment block = region.memory().asSlice(0, 4096);
            assertThrows(NvmeException.class, () -> disk.read(disk.blockCount(), block));
            disk.read(disk.blockCount() - 4096 / disk.blockSize(), block);
            byte[] end = Arrays.copyOfRange(other, SIZE - 4096, SIZE);
            assertArrayEquals(end, block.toArray(ValueLayout.JAVA_BYTE));
        }
    }

    /** From one block to the most that a command may transfer, and from one command to as many as the queue takes. */
    @ParameterizedTest
    @CsvSource({"1, 1, 16, 2048", "1, 7, 30, 256", "1, 127, 254, 8", "2, 1, 16, 256", "2, 127, 254, 4"})
    void shouldBearLoad(int id, int depth, int commands, int maxBlocks) throws Exception {
        try (NvmeController controller = connect();
                NvmeQueue queue = controller.openQueue()) {
            assertEquals(MIB, controller.maxTransfer());
            assertEquals(127, queue.depth());
            NvmeNamespace disk = namespace(controller, id);
            VerifiedLoad load = new VerifiedLoad(queue, disk, depth, 0, (int) disk.blockCount(), depth);
            assertEquals(NvmeStatus.SUCCESS, load.run(commands, maxBlocks));
            assertSame(load, device(id), 0);
        }
    }

    /** Each command lends its memory by a window, which Soft-RoCE binds, and whose key the kernel's target invalidates. */
    @ParameterizedTest
    @CsvSource({"1, 7, 30, 256", "2, 127, 254, 4"})
    void shouldBearLoadWithRemoteInvalidation(int id, int depth, int commands, int maxBlocks) throws Exception {
        try (NvmeController controller =
                        NvmeController.connect(Lab.first(PORT), options().remoteInvalidation(true));
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace disk = namespace(controller, id);
            VerifiedLoad load = new VerifiedLoad(queue, disk, depth, 0, (int) disk.blockCount(), depth);
            assertEquals(NvmeStatus.SUCCESS, load.run(commands, maxBlocks));
            assertSame(load, device(id), 0);
            // Failures, whose keys the kernel invalidates as well, and the range of a deallocation.
            MemorySegment block = controller.allocate(4096).memory();
            assertThrows(NvmeException.class, () -> disk.read(disk.blockCount(), block));
            disk.deallocate(0, 1);
            disk.read(0, block);
            assertTrue(controller.isConnected());
        }
    }

    @Test
    void shouldUseSeveralQueues() throws Exception {
        int queues = 4;
        try (NvmeController controller = connect()) {
            NvmeNamespace disk = namespace(controller, LARGE_BLOCKS);
            int share = (int) disk.blockCount() / queues;
            List<VerifiedLoad> loads = new ArrayList<>();
            List<CompletableFuture<NvmeStatus>> running = new ArrayList<>();
            for (int i = 0; i < queues; i++) {
                NvmeQueue queue = controller.openQueue();
                VerifiedLoad load = new VerifiedLoad(queue, disk, 16, i * share, share, i);
                loads.add(load);
                running.add(Async.start(() -> load.run(100, 8)));
            }
            for (int i = 0; i < queues; i++) {
                assertEquals(NvmeStatus.SUCCESS, Async.get(running.get(i)));
                assertSame(loads.get(i), large, (long) i * share * disk.blockSize());
            }
        }
    }

    @Test
    void shouldBearLossOfPackets() throws Exception {
        try (NvmeController controller = connect();
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace disk = namespace(controller, LARGE_BLOCKS);
            VerifiedLoad load = new VerifiedLoad(queue, disk, 8, 0, (int) disk.blockCount(), 3);
            for (String end : List.of("veth0", "veth1")) {
                Program.run("tc", "qdisc", "add", "dev", end, "root", "netem", "loss", "0.5%");
            }
            try {
                assertEquals(NvmeStatus.SUCCESS, load.run(60, 16));
            } finally {
                for (String end : List.of("veth0", "veth1")) {
                    Program.run("tc", "qdisc", "del", "dev", end, "root");
                }
            }
            assertSame(load, large, 0);
        }
    }

    /** The controller is lost in the middle of a load, and comes again. */
    @Test
    void shouldReportATargetThatIsRemoved() throws Exception {
        NvmeOptions again = options().reconnect(100, Duration.ofMillis(200));
        try (NvmeController controller = NvmeController.connect(Lab.first(PORT), again)) {
            NvmeNamespace disk = namespace(controller, LARGE_BLOCKS);
            NvmeQueue queue = controller.openQueue();
            VerifiedLoad load = new VerifiedLoad(queue, disk, 16, 0, (int) disk.blockCount(), 4);
            CompletableFuture<NvmeStatus> running = Async.start(() -> load.run(Long.MAX_VALUE, 8));
            Bound.ofSeconds(30).await("the load does not begin", () -> load.done() > 50 || running.isDone());
            try {
                KernelTarget.withdraw(link);
                long start = System.nanoTime();
                assertEquals(NvmeStatus.HOST_PATH_ERROR, Async.get(running));
                long millis = (System.nanoTime() - start) / 1_000_000;
                assertTrue(millis < 10_000, () -> "the loss was reported after " + millis + " ms");
                queue.close();
            } finally {
                KernelTarget.offer(link);
            }
            Bound.ofSeconds(30).await("does not connect again", controller::isConnected);
            try (NvmeQueue next = controller.openQueue()) {
                VerifiedLoad more = new VerifiedLoad(next, disk, 16, 0, (int) disk.blockCount(), 5);
                assertEquals(NvmeStatus.SUCCESS, more.run(50, 8));
                assertSame(more, large, 0);
            }
        }
    }

    private static byte[] random(int size, long seed) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /** The kernel's host with our target: memory with blocks of 512 and of 4096 bytes, and a file with a file system. */
    @Test
    void shouldServeTheKernel(@TempDir Path folder) throws Exception {
        Program.run("modprobe", "ext4");
        MemorySegment first = Arena.ofAuto().allocate(SIZE, 4096);
        MemorySegment second = Arena.ofAuto().allocate(SIZE, 4096);
        Path image = folder.resolve("image");
        Program.run("truncate", "-s", "4M", image.toString());
        try (NvmeBacking file = NvmeBacking.ofFile(image, false)) {
            NvmeTargetOptions served = new NvmeTargetOptions(OUR_NAME)
                    .namespace(1, 512, NvmeBacking.ofMemory(first))
                    .namespace(2, 4096, NvmeBacking.ofMemory(second))
                    .namespace(3, 512, file);
            try (NvmeTarget ours = NvmeTarget.serve(Lab.second(Lab.port()), served);
                    KernelHost host = new KernelHost(
                            ours.address(), Lab.FIRST_HOST, OUR_NAME, "nr_io_queues=2", "queue_size=64")) {
                assertEquals("live", host.attribute("state"));
                assertEquals("rdma-panama", host.attribute("model"));
                load(host.disk(1), first);
                load(host.disk(2), second);
                manage(host.disk(1), first);
                useFileSystem(host.disk(3), folder);
                // Another namespace, which the kernel learns of by an event.
                MemorySegment third = Arena.ofAuto().allocate(MIB, 4096);
                ours.addNamespace(4, 4096, NvmeBacking.ofMemory(third));
                byte[] data = random(MIB, 9);
                KernelTarget.write(host.disk(4), 0, data);
                assertArrayEquals(data, third.toArray(ValueLayout.JAVA_BYTE));
            }
        }
    }

    /** Random reads and writes by several threads, each in a part of its own. */
    private static void load(Path disk, MemorySegment memory) throws Exception {
        int threads = 3;
        int share = SIZE / 4096 / threads;
        List<CompletableFuture<Boolean>> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int from = i * share;
            running.add(Async.start(() -> {
                Random random = new Random(from);
                byte[] copy = KernelTarget.read(disk, from * 4096L, share * 4096);
                for (int n = 0; n < 20; n++) {
                    int count = n == 0 ? share : 1 + random.nextInt(n % 2 == 0 ? 8 : share);
                    int at = random.nextInt(share - count + 1) * 4096;
                    if (random.nextBoolean()) {
                        byte[] data = random(count * 4096, n);
                        System.arraycopy(data, 0, copy, at, data.length);
                        KernelTarget.write(disk, from * 4096L + at, data);
                    } else {
                        assertArrayEquals(
                                Arrays.copyOfRange(copy, at, at + count * 4096),
                                KernelTarget.read(disk, from * 4096L + at, count * 4096));
                    }
                }
                assertArrayEquals(
                        copy, memory.asSlice(from * 4096L, share * 4096L).toArray(ValueLayout.JAVA_BYTE));
                return true;
            }));
        }
        for (CompletableFuture<Boolean> each : running) {
            assertTrue(Async.get(each));
        }
    }

    /** Single blocks of 512 bytes, zeros, and deallocation. */
    private static void manage(Path disk, MemorySegment memory) throws Exception {
        Program.run("dd", "if=/dev/zero", "of=" + disk, "bs=512", "seek=3", "count=5", "oflag=direct", "status=none");
        memory.asSlice(SIZE / 2).fill((byte) 7);
        byte[] wanted = memory.toArray(ValueLayout.JAVA_BYTE);
        Arrays.fill(wanted, 3 * 512, 8 * 512, (byte) 0);
        assertArrayEquals(wanted, memory.toArray(ValueLayout.JAVA_BYTE));
        Program.run("blkdiscard", "-z", "-o", Integer.toString(SIZE / 2), "-l", "65536", disk.toString());
        Program.run("blkdiscard", "-o", Integer.toString(SIZE / 2 + 131072), "-l", "65536", disk.toString());
        Arrays.fill(wanted, SIZE / 2, SIZE / 2 + 65536, (byte) 0);
        Arrays.fill(wanted, SIZE / 2 + 131072, SIZE / 2 + 131072 + 65536, (byte) 0);
        assertArrayEquals(wanted, KernelTarget.read(disk, 0, SIZE));
    }

    private static void useFileSystem(Path disk, Path folder) throws Exception {
        Path mount = Files.createDirectory(folder.resolve("mount"));
        Program.run("mkfs.ext4", "-q", disk.toString());
        byte[] data = random(MIB / 2, 8);
        for (boolean writes : new boolean[] {true, false}) {
            Program.run("mount", disk.toString(), mount.toString());
            try {
                for (int i = 0; i < 10; i++) {
                    Path file = mount.resolve("file" + i);
                    byte[] part = Arrays.copyOf(data, data.length / (i + 1));
                    if (writes) {
                        Files.write(file, part);
                    } else {
                        assertArrayEquals(part, Files.readAllBytes(file));
                    }
                }
            } finally {
                Program.run("umount", mount.toString());
            }
            Program.run("fsck.ext4", "-f", "-n", disk.toString());
        }
    }

    /** Each loads a namespace of its own and a part of one that all share, and one of them goes in the middle. */
    @Test
    void shouldServeSeveralHostsOfTheKernel() throws Exception {
        int hosts = 3;
        int shared = hosts + 1;
        NvmeTargetOptions served = new NvmeTargetOptions(OUR_NAME);
        List<MemorySegment> memory = new ArrayList<>();
        for (int id = 1; id <= shared; id++) {
            memory.add(Arena.ofAuto().allocate(SIZE, 4096));
            served.namespace(id, id % 2 == 0 ? 512 : 4096, NvmeBacking.ofMemory(memory.getLast()));
        }
        List<KernelHost> connected = new ArrayList<>();
        try (NvmeTarget ours = NvmeTarget.serve(Lab.second(Lab.port()), served)) {
            try {
                List<DeviceLoad> loads = new ArrayList<>();
                List<CompletableFuture<Boolean>> running = new ArrayList<>();
                int share = SIZE / hosts / 4096 * 4096;
                for (int i = 0; i < hosts; i++) {
                    KernelHost host = new KernelHost(ours.address(), Lab.FIRST_HOST, OUR_NAME, "nr_io_queues=1");
                    connected.add(host);
                    loads.add(new DeviceLoad(host.disk(i + 1), 0, SIZE, i));
                    loads.add(new DeviceLoad(host.disk(shared), (long) i * share, share, hosts + i));
                }
                assertEquals(hosts, ours.controllers());
                for (DeviceLoad each : loads) {
                    running.add(Async.start(each::run));
                }
                Bound.ofSeconds(30)
                        .await(
                                () -> "not all loads begin: " + loads,
                                () -> loads.stream().allMatch(each -> each.done() > 10));
                connected.removeFirst().close();
                List<DeviceLoad> others = loads.subList(2, loads.size());
                long[] before = others.stream().mapToLong(DeviceLoad::done).toArray();
                Bound.ofSeconds(60).await(() -> "the loads of the others do not go on: " + others, () -> {
                    for (int i = 0; i < before.length; i++) {
                        if (others.get(i).done() < before[i] + 20) {
                            return false;
                        }
                    }
                    return true;
                });
                Bound.ofSeconds(30).await("the host that went is still known", () -> ours.controllers() == hosts - 1);
                for (int i = 0; i < loads.size(); i++) {
                    loads.get(i).stop();
                    // The kernel has taken the device from the first two.
                    assertEquals(i >= 2, Async.get(running.get(i)));
                }
                for (int i = 1; i < hosts; i++) {
                    assertArrayEquals(loads.get(2 * i).copy(), memory.get(i).toArray(ValueLayout.JAVA_BYTE));
                    MemorySegment part = memory.get(hosts).asSlice((long) i * share, share);
                    assertArrayEquals(loads.get(2 * i + 1).copy(), part.toArray(ValueLayout.JAVA_BYTE));
                }
                // Another host sees what all have written.
                KernelHost next = new KernelHost(ours.address(), Lab.FIRST_HOST, OUR_NAME, "nr_io_queues=1");
                connected.add(next);
                assertArrayEquals(
                        memory.get(hosts).toArray(ValueLayout.JAVA_BYTE),
                        KernelTarget.read(next.disk(shared), 0, SIZE));
            } finally {
                for (KernelHost each : connected) {
                    each.close();
                }
            }
        }
    }

    /** A load that another program makes and verifies: every block has a checksum that is compared when it is read again. */
    @ParameterizedTest
    @CsvSource({"1, 4096, 256, 1", "8, 512, 1024, 3", "32, 16384, 256, 3", "64, 4096, 1024, 2"})
    void shouldPassTheVerificationOfFio(int depth, int block, int blocks, int loops) throws Exception {
        assumeTrue(hasFio(), "fio is missing (Debian: apt-get install fio)");
        NvmeTargetOptions served =
                new NvmeTargetOptions(OUR_NAME).namespace(1, 512, NvmeBacking.ofMemory((long) blocks * block));
        try (NvmeTarget ours = NvmeTarget.serve(Lab.second(Lab.port()), served);
                KernelHost host =
                        new KernelHost(ours.address(), Lab.FIRST_HOST, OUR_NAME, "nr_io_queues=2", "queue_size=128")) {
            String report = Program.run(
                    "fio",
                    "--name=load",
                    "--filename=" + host.disk(1),
                    "--direct=1",
                    "--ioengine=libaio",
                    "--rw=randrw",
                    "--bs=" + block,
                    "--iodepth=" + depth,
                    "--loops=" + loops,
                    "--verify=crc32c",
                    "--verify_fatal=1",
                    "--verify_state_save=0",
                    // What was written is read again while more is written, and not only at the end.
                    "--verify_backlog=64");
            Matcher issued = Pattern.compile("issued rwts: total=(\\d+),(\\d+)").matcher(report);
            assertTrue(issued.find(), report);
            // Each loop writes about half of the blocks and reads the others, and reads again what it has written.
            int reads = Integer.parseInt(issued.group(1));
            int writes = Integer.parseInt(issued.group(2));
            assertTrue(writes > blocks * loops / 4, report);
            assertTrue(reads >= blocks * loops, report);
            assertTrue(report.contains("err= 0"), report);
        }
    }

    private static boolean hasFio() {
        return Stream.of(System.getenv("PATH").split(":", -1))
                .anyMatch(each -> Files.isExecutable(Path.of(each, "fio")));
    }

    /** soft0 in another network, which reaches the kernel's target and host by a pair of Ethernet interfaces. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldMeetSoft0(boolean version6, @TempDir Path folder) throws Exception {
        String port = Lab.portText();
        Path data = Files.write(folder.resolve("data"), random(SOFT_SIZE, 6));
        Path copy = folder.resolve("copy");
        try (OtherMachine machine = new OtherMachine("nvme", 83, "all")) {
            machine.keepOrder();
            String kernel = version6 ? machine.kernel6 : machine.kernel;
            String soft = version6 ? machine.soft6 : machine.soft;
            Path there = target.listen(kernel, Integer.parseInt(port));
            try {
                String[] more = {"-p", port, "-n", KernelTarget.NAME, "--namespace", Integer.toString(LARGE_BLOCKS)};
                assertSucceeds(machine, command(more, "nvme", "write", kernel, data.toString()));
                assertArrayEquals(Files.readAllBytes(data), KernelTarget.read(large, 0, SOFT_SIZE));
                KernelTarget.write(large, 0, random(SOFT_SIZE, 7));
                String size = Integer.toString(SOFT_SIZE);
                assertSucceeds(machine, command(more, "nvme", "read", kernel, copy.toString(), "-s", size));
                assertArrayEquals(random(SOFT_SIZE, 7), Files.readAllBytes(copy));

                Path packets = folder.resolve("packets");
                KernelTarget.write(large, 0, random(SOFT_SIZE, 9));
                String[] lent = {
                    "--pcap", packets.toString(), "nvme", "read", kernel, copy.toString(), "-s", size, "--invalidate"
                };
                assertSucceeds(machine, command(more, lent));
                assertArrayEquals(random(SOFT_SIZE, 9), Files.readAllBytes(copy));
                assertTrue(invalidations(packets) > 0, "the kernel has invalidated no keys");
            } finally {
                KernelTarget.stop(there);
            }

            String ourPort = Lab.portText();
            try (ResidentJvm.Command server =
                    machine.start("nvme", "serve", soft, "-p", ourPort, "-n", OUR_NAME, "--memory", "1MiB")) {
                server.await("until Ctrl-C");
                InetSocketAddress address = new InetSocketAddress(soft, Integer.parseInt(ourPort));
                try (KernelHost host = new KernelHost(address, kernel, OUR_NAME, "nr_io_queues=1")) {
                    Path disk = host.disk(1);
                    KernelTarget.write(disk, 0, random(SOFT_SIZE, 8));
                    assertArrayEquals(random(SOFT_SIZE, 8), KernelTarget.read(disk, 0, SOFT_SIZE));
                }
            }
        }
    }

    /** Returns how many packets of a capture invalidate a key. */
    private static int invalidations(Path packets) throws IOException {
        int[] count = new int[1];
        try (CaptureFile capture = new CaptureFile(packets)) {
            capture.forEach((packet, bytes, own) -> {
                if (Opcode.hasInvalidate(Bth.opcode(packet))) {
                    count[0]++;
                }
            });
        }
        return count[0];
    }

    private static String[] command(String[] options, String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of(options));
        return all.toArray(String[]::new);
    }

    private static void assertSucceeds(OtherMachine machine, String... words) throws Exception {
        try (ResidentJvm.Command command = machine.start(words)) {
            assertEquals(0, command.join(), command::toString);
        }
    }
}
