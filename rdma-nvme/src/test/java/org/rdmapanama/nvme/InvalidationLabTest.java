package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.DeviceCapability;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.Response;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;

/** Commands that lend their memory by windows, to targets that give it back and to others. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InvalidationLabTest {
    private static final int PAGE = 4096;
    private static final int ROUNDS = Integer.getInteger("hostile.invalidations", 30);

    /** Memory that a command has lent. */
    private record Lent(long address, int key) {
        static Lent by(MemorySegment command) {
            assertEquals(Command.KEYED_INVALIDATE, Command.descriptorType(command));
            return new Lent(Command.address(command), Command.key(command));
        }
    }

    private static NvmeOptions options() {
        return Disk.options().queues(1).keepAlive(Duration.ZERO).remoteInvalidation(true);
    }

    private static HostQueue queueOf(NvmeController controller) {
        HostQueue queue = controller.lockQueue("a test");
        queue.lock.unlock();
        return queue;
    }

    private static NvmeStatus await(NvmeQueue queue) throws InterruptedException {
        NvmeResults results = new NvmeResults(1);
        assertEquals(1, queue.await(results, Duration.ofSeconds(20)), "the command has not ended");
        return results.status(0);
    }

    /** Whether a command is one of those codes for the namespace: others have their codes on the Admin queue. */
    private static boolean isIo(MemorySegment command, int... opcodes) {
        return Command.namespace(command) == 1
                && Arrays.stream(opcodes).anyMatch(each -> each == Command.opcode(command));
    }

    /** Has a target tell of the memory of the first Read or Write, and answer it when that is wanted. */
    private static CompletableFuture<Lent> holdBack(RawTarget target) {
        CompletableFuture<Lent> lent = new CompletableFuture<>();
        target.fault = (command, data, response) -> {
            boolean isHeld = isIo(command, Opcode.READ, Opcode.WRITE) && lent.complete(Lent.by(command));
            return isHeld ? RawTarget.Fault.LATER : Response.BYTES;
        };
        return lent;
    }

    @ParameterizedTest
    @CsvSource({"512, 0", "512, 4096", "4096, 0", "65536, 4096"})
    void shouldMoveAllSizes(int blockSize, int inCapsule) throws Exception {
        int bytes = 4 << 20;
        NvmeBacking backing = NvmeBacking.ofMemory(bytes);
        NvmeTargetOptions served =
                new NvmeTargetOptions(Disk.NAME).inCapsuleData(inCapsule).namespace(1, blockSize, backing);
        try (Disk disk = new Disk(served, backing);
                NvmeController controller = disk.connect(options())) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            int most = controller.maxTransfer();
            MemoryRegion region = controller.allocate(bytes);
            // The last one takes several commands.
            for (int size : new int[] {blockSize, 2 * blockSize, 16 * blockSize, most - blockSize, most, bytes}) {
                int wanted = Math.max(blockSize, Math.min(size, bytes));
                MemorySegment memory = region.memory().asSlice(0, wanted);
                FillPattern.fill(memory, size);
                namespace.write(0, memory);
                assertEquals(-1, backing.memory().asSlice(0, wanted).mismatch(memory));
                assertTrue(namespace.compare(0, memory));
                memory.fill((byte) 0);
                namespace.read(0, memory);
                FillPattern.assertFilled(memory, size);
            }
            // Its range is lent, too, where it does not go in the capsule.
            namespace.deallocate(0, 1);
            assertEquals(0, queueOf(controller).lending().localInvalidations(), "the target has not invalidated keys");
            MemorySegment block = region.memory().asSlice(0, blockSize).fill((byte) 1);
            // Our target invalidates nothing when a command fails.
            boolean inCapsuleToo = blockSize <= controller.inCapsuleData();
            long before = queueOf(controller).lending().localInvalidations();
            assertFalse(namespace.compare(0, block));
            assertEquals(inCapsuleToo ? 0 : 1, queueOf(controller).lending().localInvalidations() - before);
            NvmeException beyond =
                    assertThrows(NvmeException.class, () -> namespace.read(namespace.blockCount(), block));
            assertEquals(NvmeStatus.LBA_OUT_OF_RANGE, beyond.status());
            namespace.read(0, block);
            assertTrue(controller.isConnected());
        }
    }

    @Test
    void shouldRegisterMemoryWithoutAccessForPeers() throws Exception {
        try (Disk disk = Disk.ofMemory(4096);
                NvmeController controller = disk.connect(options());
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion both = controller.allocate(16 * PAGE);
            assertEquals(EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND), both.access());
            MemoryRegion sent = controller.register(both.memory(), AccessFlag.REMOTE_READ);
            assertEquals(Set.of(AccessFlag.MW_BIND), sent.access());
            FillPattern.fill(both.memory(), 2);
            assertTrue(queue.tryWrite(namespace, 0, sent, 0, 128, 1));
            assertEquals(NvmeStatus.SUCCESS, await(queue));
            IllegalArgumentException e =
                    assertThrows(IllegalArgumentException.class, () -> queue.tryRead(namespace, 0, sent, 0, 8, 1));
            assertTrue(
                    e.getMessage().contains("LOCAL_WRITE for Read with NvmeOptions.remoteInvalidation"), e::getMessage);
            MemoryRegion open = controller
                    .protectionDomain()
                    .register(both.memory(), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
            IllegalArgumentException noWindow =
                    assertThrows(IllegalArgumentException.class, () -> queue.tryRead(namespace, 0, open, 0, 8, 1));
            assertTrue(noWindow.getMessage().contains("must be registered with MW_BIND"), noWindow::getMessage);
            try (RegisteredPool pool = RegisteredPool.create(
                            controller.protectionDomain(), 1 << 20, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
                    RegisteredBuffer buffer = pool.allocate(16 * PAGE)) {
                namespace.read(0, buffer);
                FillPattern.assertFilled(buffer.memory(), 2);
                assertTrue(queue.tryRead(namespace, 0, buffer, 2));
                assertEquals(NvmeStatus.SUCCESS, await(queue));
            }
            // A region that commands have used can go, and the queue goes on with others.
            sent.close();
            assertThrows(IllegalStateException.class, () -> queue.tryWrite(namespace, 0, sent, 0, 128, 1));
            assertTrue(queue.tryWrite(namespace, 0, both, 0, 128, 1));
            assertEquals(NvmeStatus.SUCCESS, await(queue));
        }
    }

    @Test
    void shouldFreeTheWindowsWithTheQueue() throws Exception {
        try (Disk disk = Disk.ofMemory(4096)) {
            LentMemory closed;
            try (NvmeController controller = disk.connect(options())) {
                controller
                        .namespaces()
                        .getFirst()
                        .read(0, controller.allocate(PAGE).memory());
                closed = queueOf(controller).lending();
                assertEquals(controller.queueDepth(), closed.windows());
                assertNull(controller.adminQueue().queue.lending());
            }
            assertEquals(0, closed.windows());
            try (NvmeController controller = disk.connect(options())) {
                LentMemory lost = queueOf(controller).lending();
                assertEquals(controller.queueDepth(), lost.windows());
                disk.target.close();
                Bound.usual().await("windows are left", () -> lost.windows() == 0);
            }
        }
    }

    @Test
    void shouldSayThatTheDeviceHasNoWindows() {
        LentMemory.check("dev0", EnumSet.of(DeviceCapability.MEM_WINDOW_TYPE_2B));
        IllegalStateException e = assertThrows(
                IllegalStateException.class, () -> LentMemory.check("dev0", EnumSet.of(DeviceCapability.MEM_WINDOW)));
        assertTrue(
                e.getMessage()
                        .startsWith("the device dev0 has no memory windows of type 2, which"
                                + " NvmeOptions.remoteInvalidation needs"),
                e::getMessage);
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void shouldRefuseTheKeyOfACommandThatHasEnded(boolean invalidates, boolean reads) throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options());
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(4 * PAGE);
            target.invalidation = invalidates ? RawTarget.Invalidation.AS_ASKED : RawTarget.Invalidation.NONE;
            CompletableFuture<Lent> held = holdBack(target);
            assertTrue(
                    reads
                            ? queue.tryRead(namespace, 0, region, PAGE, 16, 1)
                            : queue.tryWrite(namespace, 0, region, PAGE, 16, 1));
            Lent lent = Async.get(held);
            assertEquals(region.address() + PAGE, lent.address());
            assertNotEquals(region.rkey(), lent.key());
            // As long as it has the memory, it may do what the command is for.
            assertEquals(CompletionStatus.SUCCESS, target.access(queue.number(), reads, lent.address(), lent.key()));
            byte found = region.memory().get(ValueLayout.JAVA_BYTE, PAGE);
            assertEquals(reads ? RawTarget.WRITTEN : 0, found);
            target.late = true;
            assertEquals(NvmeStatus.SUCCESS, await(queue));
            assertTrue(controller.isConnected());
            region.memory().fill((byte) 5);
            assertEquals(
                    CompletionStatus.REM_ACCESS_ERR, target.access(queue.number(), reads, lent.address(), lent.key()));
            assertEquals(5, region.memory().get(ValueLayout.JAVA_BYTE, PAGE));
        }
    }

    /** Each of these accesses is refused while the command is under way. */
    @ParameterizedTest
    @ValueSource(strings = {"other direction", "other queue", "key of the region"})
    void shouldLendNoMoreThanTheCommandNeeds(String what) throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options());
                NvmeQueue queue = controller.openQueue();
                NvmeQueue other = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(4 * PAGE);
            CompletableFuture<Lent> held = holdBack(target);
            assertTrue(queue.tryRead(namespace, 0, region, 0, 16, 1));
            Lent lent = Async.get(held);
            CompletionStatus status = switch (what) {
                case "other direction" -> target.access(queue.number(), false, lent.address(), lent.key());
                case "other queue" -> target.access(other.number(), true, lent.address(), lent.key());
                default -> target.access(queue.number(), true, lent.address(), region.rkey());
            };
            assertEquals(CompletionStatus.REM_ACCESS_ERR, status);
            assertEquals(0, region.memory().get(ValueLayout.JAVA_BYTE, 0));
            assertEquals(NvmeStatus.HOST_PATH_ERROR, await(queue));
        }
    }

    @Test
    void shouldInvalidateTheKeysItself() throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller =
                        NvmeController.connect(target.address(), options().queueSize(2))) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            int commands = 4;
            MemorySegment memory = controller
                    .allocate((long) commands * controller.maxTransfer())
                    .memory();
            HostQueue queue = queueOf(controller);
            // The only window is bound under all of its 256 keys, and more.
            int rounds = 40;
            for (int i = 0; i < rounds; i++) {
                // Both take several commands.
                namespace.read(0, memory);
                namespace.write(0, memory);
                // In the capsule.
                namespace.write(0, memory.asSlice(0, PAGE));
                namespace.flush();
            }
            assertEquals(2L * rounds * commands, queue.lending().localInvalidations());
            target.invalidation = RawTarget.Invalidation.AS_ASKED;
            namespace.read(0, memory);
            assertEquals(2L * rounds * commands, queue.lending().localInvalidations());
            assertTrue(controller.isConnected());
        }
    }

    /** The key that an answer invalidates instead of that of its own command. */
    private interface Wrong {
        int key(Lent other);
    }

    /** Has a controller lost by the key that its answer to the second of two commands invalidates, and returns the message. */
    private static String lose(int second, Wrong wrong) throws Exception {
        try (RawTarget target = new RawTarget();
                NvmeController controller = NvmeController.connect(target.address(), options());
                NvmeQueue queue = controller.openQueue()) {
            NvmeNamespace namespace = controller.namespaces().getFirst();
            MemoryRegion region = controller.allocate(4 * PAGE);
            CompletableFuture<Lent> held = new CompletableFuture<>();
            target.fault = (command, data, response) -> {
                boolean isFirst = isIo(command, Opcode.WRITE) && held.complete(Lent.by(command));
                return isFirst ? RawTarget.Fault.SILENCE : Response.BYTES;
            };
            assertTrue(queue.tryWrite(namespace, 0, region, 0, 16, 1));
            int key = wrong.key(Async.get(held));
            target.invalidation = command -> isIo(command, second) ? key : null;
            assertTrue(
                    second == Opcode.READ
                            ? queue.tryRead(namespace, 0, region, 0, 16, 2)
                            : queue.tryFlush(namespace, 2));
            NvmeResults results = new NvmeResults(2);
            int ended = 0;
            Bound bound = Bound.usual();
            while (ended < 2) {
                bound.check("commands have not ended");
                ended += queue.await(results, Duration.ofSeconds(1));
                for (int i = 0; i < results.count(); i++) {
                    assertEquals(NvmeStatus.HOST_PATH_ERROR, results.status(i));
                }
            }
            Bound.usual().await("the controller is still there", () -> !controller.isConnected());
            return assertThrows(NvmeException.class, () -> queue.tryFlush(namespace, 3))
                    .getMessage();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Opcode.READ, Opcode.FLUSH})
    void shouldLoseAControllerThatInvalidatesTheKeyOfAnotherCommand(int second) throws Exception {
        String message = lose(second, Lent::key);
        assertTrue(message.contains("which invalidates the key 0x"), message);
        assertTrue(message.contains("though that was not lent to it"), message);
    }

    /** A controller that now and then invalidates nothing, the key of an earlier command, or any: all commands end. */
    @Test
    void shouldSurviveRandomInvalidations() throws Exception {
        long seed = Long.getLong("hostile.seed", 21);
        int ended = 0;
        int lost = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Random random = new Random(seed + round);
            int rarely = 1 + random.nextInt(1000);
            try (RawTarget target = new RawTarget();
                    NvmeController controller =
                            NvmeController.connect(target.address(), options().queueSize(8));
                    NvmeQueue queue = controller.openQueue()) {
                NvmeNamespace namespace = controller.namespaces().getFirst();
                MemoryRegion region = controller.allocate(4 * PAGE);
                AtomicInteger earlier = new AtomicInteger();
                target.invalidation = command -> {
                    Integer own = RawTarget.Invalidation.AS_ASKED.key(command);
                    int before = own == null ? earlier.get() : earlier.getAndSet(own);
                    if (random.nextInt(rarely) > 0) {
                        return random.nextInt(3) == 0 ? null : own;
                    }
                    // The kernel crashes when a key is invalidated whose window is not bound (rxe_invalidate_mw, Linux
                    // 6.1).
                    return random.nextBoolean() && !LabDevices.areNative() ? before : random.nextInt();
                };
                NvmeResults results = new NvmeResults(queue.depth());
                Bound bound = Bound.ofSeconds(30);
                for (int command = 0; command < 300 && controller.isConnected(); command++) {
                    try {
                        while (!(random.nextBoolean()
                                ? queue.tryRead(namespace, 0, region, 0, 16, command)
                                : queue.tryFlush(namespace, command))) {
                            bound.check("no command ends");
                            ended += queue.await(results, Duration.ofSeconds(1));
                        }
                    } catch (NvmeException e) {
                        assertEquals(NvmeStatus.HOST_PATH_ERROR, e.status());
                    }
                }
                while (queue.pending() > 0) {
                    bound.check("commands have not ended");
                    ended += queue.await(results, Duration.ofSeconds(1));
                }
                lost += controller.isConnected() ? 0 : 1;
            }
        }
        System.out.println(ended + " commands ended, and " + lost + " of " + ROUNDS + " controllers were lost");
        assertTrue(ended > 0 && lost > 0, "the answers were all of one kind");
    }

    @Test
    void shouldLoseAControllerThatInvalidatesAKeyOfNobody() throws Exception {
        // The device refuses it, and the connection fails.
        String message = lose(Opcode.READ, other -> other.key() + 0x4000_0000);
        assertTrue(message.contains("connection"), message);
    }
}
