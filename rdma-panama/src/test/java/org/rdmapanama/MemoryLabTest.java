package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.NeedsVirtualMachine;

/** Which memory can be registered, and that peers reach exactly that. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemoryLabTest {
    private static final AccessFlag[] WRITABLE = {
        AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ
    };
    private static final long GIBIBYTE = 1L << 30;

    @TempDir
    private Path folder;

    /** Writes the beginning of a's buffer to a place in a region of b. */
    private static CompletionStatus write(ConnectedPair pair, MemoryRegion target, long offset, long length) {
        pair.a.post(pair.a.request(1, 0, length).rdmaWrite(target.address() + offset, target.rkey()));
        return pair.a.await().status();
    }

    @Test
    void shouldRegisterASlice() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemorySegment whole = pair.b.arena.allocate(3 * 4096, 4096);
            MemorySegment slice = whole.asSlice(4000, 200);
            MemoryRegion region = pair.b.domain.register(slice, WRITABLE);
            assertEquals(slice.address(), region.address());
            assertEquals(200, region.byteSize());
            assertEquals(slice, region.memory());
            assertEquals(Set.of(WRITABLE), region.access());

            pair.a.memory.fill((byte) 7);
            assertEquals(CompletionStatus.SUCCESS, write(pair, region, 0, 200));
            assertEquals(0, whole.get(JAVA_BYTE, 3999));
            assertEquals(7, whole.get(JAVA_BYTE, 4000));
            assertEquals(7, whole.get(JAVA_BYTE, 4199));
            assertEquals(0, whole.get(JAVA_BYTE, 4200));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, write(pair, region, 1, 200), "a byte behind the slice");
        }
    }

    @Test
    void shouldLetPeersWriteIntoAFile() throws IOException {
        Path file = folder.resolve("written");
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemoryRegion region = pair.b.domain.register(map(file, 10_000, pair.b.arena), WRITABLE);
            FillPattern.fill(pair.a.memory, 3);
            assertEquals(CompletionStatus.SUCCESS, write(pair, region, 1000, 5000));
            byte[] expected = pair.a.memory.asSlice(0, 5000).toArray(JAVA_BYTE);
            byte[] found = MemorySegment.ofArray(Files.readAllBytes(file))
                    .asSlice(1000, 5000)
                    .toArray(JAVA_BYTE);
            assertArrayEquals(expected, found);
        }
    }

    private static MemorySegment map(Path file, long size, Arena arena) throws IOException {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return channel.map(MapMode.READ_WRITE, 0, size, arena);
        }
    }

    @Test
    void shouldLetPeersReadAFileThatIsMappedReadOnlyWhereTheKernelCan() throws IOException {
        Path file = folder.resolve("read");
        byte[] content = "what the peer will find".getBytes(StandardCharsets.US_ASCII);
        Files.write(file, content);
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                FileChannel channel = FileChannel.open(file)) {
            MemorySegment mapped = channel.map(MapMode.READ_ONLY, 0, content.length, pair.b.arena);
            if (kernelIsOlderThan(6, 2)) {
                VerbsException exception = assertThrows(
                        VerbsException.class, () -> pair.b.domain.register(mapped, AccessFlag.REMOTE_READ));
                assertEquals("EFAULT", exception.errnoName());
                assertTrue(exception.cure().contains("mapped read-only"), exception::cure);
            } else {
                MemoryRegion region = pair.b.domain.register(mapped, AccessFlag.REMOTE_READ);
                pair.a.post(pair.a.request(1, 0, content.length).rdmaRead(region.address(), region.rkey()));
                pair.a.await().is(CompletionOpcode.RDMA_READ, 1);
                assertArrayEquals(
                        content, pair.a.memory.asSlice(0, content.length).toArray(JAVA_BYTE));
            }
        }
    }

    private static boolean kernelIsOlderThan(int major, int minor) {
        Matcher version = Pattern.compile("^(\\d+)\\.(\\d+)").matcher(System.getProperty("os.version"));
        assertTrue(version.find());
        int found = Integer.parseInt(version.group(1));
        return found < major || (found == major && Integer.parseInt(version.group(2)) < minor);
    }

    @Test
    void shouldLetPeersReadAFileThatIsMappedPrivately() throws IOException {
        Path file = folder.resolve("private");
        Files.write(file, new byte[] {1, 2, 3});
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MemorySegment mapped = channel.map(MapMode.PRIVATE, 0, 3, pair.b.arena);
            MemoryRegion region = pair.b.domain.register(mapped, WRITABLE);
            pair.a.memory.set(JAVA_BYTE, 0, (byte) 9);
            assertEquals(CompletionStatus.SUCCESS, write(pair, region, 1, 1));
            assertEquals(9, mapped.get(JAVA_BYTE, 1));
            assertArrayEquals(new byte[] {1, 2, 3}, Files.readAllBytes(file));
        }
    }

    @Test
    void shouldRegisterTheRestOfADirectBuffer() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            ByteBuffer buffer =
                    Arena.ofAuto().allocate(4096).asByteBuffer().position(96).limit(196);
            MemoryRegion region = pair.b.domain.register(buffer, WRITABLE);
            assertEquals(100, region.byteSize());
            assertEquals(MemorySegment.ofBuffer(buffer).address(), region.address());

            pair.a.memory.fill((byte) 8);
            assertEquals(CompletionStatus.SUCCESS, write(pair, region, 0, 100));
            assertEquals(8, buffer.get(96));
            assertEquals(8, buffer.get(195));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, write(pair, region, 50, 51), "a byte behind the limit");
        }
    }

    @Test
    void shouldRegisterAMappedBuffer() throws IOException {
        Path file = folder.resolve("buffer");
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                FileChannel channel = FileChannel.open(
                        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer buffer =
                    channel.map(MapMode.READ_WRITE, 0, 4096, Arena.ofAuto()).asByteBuffer();
            MemoryRegion region = pair.b.domain.register(buffer, WRITABLE);
            pair.a.memory.fill((byte) 4);
            assertEquals(CompletionStatus.SUCCESS, write(pair, region, 4095, 1));
            assertEquals(4, buffer.get(4095));
        }
    }

    @Test
    void shouldRegisterUnsafelyWhatTheCallerSeesTo() throws IOException {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                Arena own = Arena.ofConfined();
                FileChannel channel = FileChannel.open(
                        folder.resolve("unsafe"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            pair.a.memory.fill((byte) 4);
            for (MemorySegment memory : List.of(
                    own.allocate(4096),
                    MemorySegment.ofBuffer(ByteBuffer.allocateDirect(4096)),
                    MemorySegment.ofBuffer(channel.map(MapMode.READ_WRITE, 0, 4096)))) {
                IllegalArgumentException refused =
                        assertThrows(IllegalArgumentException.class, () -> pair.b.domain.register(memory, WRITABLE));
                assertTrue(refused.getMessage().contains("registerUnsafe"), refused::getMessage);
                try (MemoryRegion region = pair.b.domain.registerUnsafe(memory, WRITABLE)) {
                    assertEquals(memory, region.memory());
                    assertEquals(CompletionStatus.SUCCESS, write(pair, region, 4095, 1));
                    assertEquals(4, memory.get(JAVA_BYTE, 4095));
                }
            }
            MemorySegment heap = MemorySegment.ofArray(new byte[8]);
            assertThrows(IllegalArgumentException.class, () -> pair.b.domain.registerUnsafe(heap));
            MemorySegment readOnly = own.allocate(8).asReadOnly();
            assertThrows(
                    IllegalArgumentException.class,
                    () -> pair.b.domain.registerUnsafe(readOnly, AccessFlag.LOCAL_WRITE));
            Arena closed = Arena.ofConfined();
            MemorySegment freed = closed.allocate(8);
            closed.close();
            assertThrows(IllegalStateException.class, () -> pair.b.domain.registerUnsafe(freed));
        }
    }

    @Test
    void shouldRegisterMemoryThatIsNeverFreed() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemorySegment global = Arena.global().allocate(4096, 4096);
            MemoryRegion region = pair.b.domain.register(global, WRITABLE);
            pair.a.memory.set(JAVA_BYTE, 0, (byte) 5);
            assertEquals(CompletionStatus.SUCCESS, write(pair, region, 4095, 1));
            pair.b.context.close();
            assertEquals(5, global.get(JAVA_BYTE, 4095));
        }
    }

    @NeedsVirtualMachine("huge pages")
    @Test
    void shouldReachBeyondTwoGibibytes() {
        long size = 2 * GIBIBYTE + 64 * 1024 * 1024;
        long far = 2 * GIBIBYTE + 4096 + 8;
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                HugeMemory huge = HugeMemory.map(size)) {
            MemoryRegion region = pair.b.domain.register(huge.memory(), WRITABLE);
            assertEquals(size, region.byteSize());
            pair.a.memory.set(JAVA_LONG, 0, 0x1234_5678_9abc_def0L);
            assertEquals(CompletionStatus.SUCCESS, write(pair, region, far, 8));
            assertEquals(0x1234_5678_9abc_def0L, huge.memory().get(JAVA_LONG, far));
            assertEquals(0, huge.memory().get(JAVA_LONG, far - 2 * GIBIBYTE), "where a short offset would end");

            // And from there back, as a local segment.
            pair.b.post(pair.b
                    .request(2, 0, 0)
                    .add(region, far, 8)
                    .rdmaWrite(pair.a.region.address() + 64, pair.a.region.rkey()));
            pair.b.await().is(CompletionOpcode.RDMA_WRITE, 2);
            assertEquals(0x1234_5678_9abc_def0L, pair.a.memory.get(JAVA_LONG, 64));
            // The region must go before its memory does.
            region.close();
        }
    }

    @Test
    void shouldTakeTheKeysAwayWhenARegionCloses() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemoryRegion region = pair.b.domain.register(pair.b.memory, WRITABLE);
            region.close();
            assertFalse(region.isOpen());
            assertEquals(CompletionStatus.REM_ACCESS_ERR, write(pair, region, 0, 8));
            assertEquals(0, pair.b.memory.get(JAVA_BYTE, 0), "the memory stays");
        }
    }

    @Test
    void shouldGiveEachRegistrationItsOwnKeys() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemoryRegion again = pair.a.domain.register(pair.a.memory, WRITABLE);
            assertTrue(again.rkey() != pair.a.region.rkey());
            assertTrue(again.lkey() != pair.a.region.lkey());
            assertTrue(again.toString().contains("0x" + Long.toHexString(again.address())), again::toString);
        }
    }

    @Test
    void shouldRefusePartsOutsideTheRegion() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            long size = pair.a.region.byteSize();
            MemorySegment other = pair.a.arena.allocate(64);
            SendWorkRequest send = pair.a.request(1, 0, 8);
            ReceiveWorkRequest receive = pair.a.receiveRequest(1, 0, 8);
            long[][] wrong = {
                {-1, 1},
                {0, -1},
                {0, size + 1},
                {size, 1},
                {size - 7, 8},
                {Long.MAX_VALUE, 1},
                {1, Long.MAX_VALUE},
                {Long.MAX_VALUE, Long.MAX_VALUE},
                {Long.MIN_VALUE, 8},
                {0, 1L << 32}
            };
            for (long[] part : wrong) {
                assertThrows(IndexOutOfBoundsException.class, () -> send.add(pair.a.region, part[0], part[1]));
                assertThrows(IndexOutOfBoundsException.class, () -> send.set(0, pair.a.region, part[0], part[1]));
                assertThrows(IndexOutOfBoundsException.class, () -> receive.add(pair.a.region, part[0], part[1]));
            }
            assertThrows(IndexOutOfBoundsException.class, () -> send.add(pair.a.region, other));
            assertThrows(IndexOutOfBoundsException.class, () -> send.set(1, pair.a.region, 0, 8));
            MemorySegment heap = MemorySegment.ofArray(new byte[8]);
            assertThrows(IllegalArgumentException.class, () -> send.add(pair.a.region, heap));
            send.add(pair.a.region, size, 0);
        }
    }

    @Test
    void shouldRefuseMoreSegmentsThanAllocated() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            SendWorkRequest one = SendWorkRequest.allocate(pair.a.arena, 1).add(pair.a.region, 0, 8);
            assertThrows(IllegalStateException.class, () -> one.add(pair.a.region, 8, 8));
            one.clear().add(pair.a.region, 8, 8);
        }
    }

    @Test
    void shouldRefuseMemoryOfOtherArenas() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                Arena confined = Arena.ofConfined()) {
            MemorySegment foreign = confined.allocate(64);
            assertThrows(IllegalArgumentException.class, () -> pair.a.domain.register(foreign));
            ByteBuffer heap = ByteBuffer.allocate(64);
            assertThrows(IllegalArgumentException.class, () -> pair.a.domain.register(heap));
            ByteBuffer empty = foreign.asByteBuffer().limit(0);
            assertThrows(IllegalArgumentException.class, () -> pair.a.domain.register(empty));
            ByteBuffer readOnly = Arena.ofAuto().allocate(64).asByteBuffer().asReadOnlyBuffer();
            assertThrows(
                    IllegalArgumentException.class, () -> pair.a.domain.register(readOnly, AccessFlag.LOCAL_WRITE));
            MemorySegment own = pair.a.memory;
            assertThrows(IllegalArgumentException.class, () -> pair.a.domain.register(own, AccessFlag.REMOTE_WRITE));
        }
    }

    @Test
    void shouldSayWhichMemoryCannotBeUsed() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                VerbsArena other = VerbsArena.ofConfined()) {
            SendWorkRequest request = pair.a.request(1, 0, 0);
            MemorySegment outside = pair.a.arena.allocate(8);
            IndexOutOfBoundsException slice =
                    assertThrows(IndexOutOfBoundsException.class, () -> request.add(pair.a.region, outside));
            assertEquals(
                    "slice of 8 bytes at 0x" + Long.toHexString(outside.address()) + " must lie within "
                            + pair.a.region,
                    slice.getMessage());
            long size = pair.a.region.byteSize();
            IndexOutOfBoundsException range =
                    assertThrows(IndexOutOfBoundsException.class, () -> request.add(pair.a.region, size - 4, 8));
            assertEquals(
                    "the range of 8 bytes at offset " + (size - 4) + " must lie within " + pair.a.region,
                    range.getMessage());
            SendWorkRequest full = SendWorkRequest.allocate(pair.a.arena, 1).add(pair.a.region, 0, 8);
            IllegalStateException second =
                    assertThrows(IllegalStateException.class, () -> full.add(pair.a.region, 0, 8));
            assertTrue(second.getMessage().contains("allocated for 1 segment; "), second::getMessage);
            MemorySegment none = null;
            NullPointerException missing = assertThrows(NullPointerException.class, () -> pair.a.domain.register(none));
            assertEquals("memory", missing.getMessage());
            MemorySegment foreign = other.allocate(64);
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> pair.a.domain.register(foreign));
            assertTrue(
                    refused.getMessage()
                            .startsWith("memory of 64 bytes at 0x" + Long.toHexString(foreign.address())
                                    + " belongs to another arena than the VerbsArena"),
                    refused::getMessage);
        }
    }

    @Test
    void shouldPrintDevicesAndPorts() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            String device = pair.a.context.queryDevice().toString();
            assertTrue(device.contains(" queue pairs of "), device);
            String port = pair.a.context.queryPort(1).toString();
            assertTrue(port.startsWith("port 1, ACTIVE, "), port);
        }
    }
}
