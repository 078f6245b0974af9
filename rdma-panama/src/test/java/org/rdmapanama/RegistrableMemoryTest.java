package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.memory.AccessFlag;

class RegistrableMemoryTest {
    private final VerbsArena arena = VerbsArena.ofConfined();

    @AfterEach
    void close() {
        arena.close();
    }

    private void accepted(MemorySegment memory, AccessFlag... access) {
        RegistrableMemory.check(memory, Set.of(access), arena);
    }

    private void refused(MemorySegment memory, String reason) {
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, () -> accepted(memory));
        assertTrue(exception.getMessage().contains(reason), exception::getMessage);
    }

    @Test
    void shouldAcceptMemoryOfTheSameArena() {
        MemorySegment memory = arena.allocate(100);
        accepted(memory);
        accepted(memory.asSlice(1, 5));
        accepted(memory.asReadOnly());
    }

    @Test
    void shouldAcceptAFileMappedIntoTheArena(@TempDir Path folder) throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[10]);
        try (FileChannel channel = FileChannel.open(file)) {
            accepted(channel.map(MapMode.READ_ONLY, 0, 10, arena));
        }
    }

    @Test
    @SuppressWarnings("restricted")
    void shouldAcceptMemoryThatIsNeverFreed() {
        accepted(Arena.global().allocate(8));
        // Native code's memory, of which the caller of the restricted method says how long it lives.
        MemorySegment own = arena.allocate(8);
        accepted(MemorySegment.ofAddress(own.address()).reinterpret(own.byteSize()));
    }

    @Test
    void shouldRefuseMemoryOfOtherArenas() {
        try (Arena confined = Arena.ofConfined();
                Arena shared = Arena.ofShared();
                VerbsArena other = VerbsArena.ofConfined()) {
            refused(confined.allocate(8), "take memory from the VerbsArena");
            refused(shared.allocate(8), "take memory from the VerbsArena");
            refused(other.allocate(8), "take memory from the VerbsArena");
        }
    }

    @Test
    void shouldAcceptMemoryThatOnlyTheCollectorFrees(@TempDir Path folder) throws Exception {
        List<MemorySegment> memories = new ArrayList<>(List.of(
                arena.allocate(8), Arena.global().allocate(8), Arena.ofAuto().allocate(8)));
        try (FileChannel file = FileChannel.open(
                folder.resolve("file"), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            memories.add(file.map(MapMode.READ_WRITE, 0, 8, Arena.ofAuto()));
        }
        for (MemorySegment memory : memories) {
            ByteBuffer buffer = memory.asByteBuffer();
            accepted(memory);
            accepted(memory.asSlice(4));
            accepted(MemorySegment.ofBuffer(buffer));
            // What frees a buffer explicitly does nothing to this one.
            freeExplicitly(buffer);
            assertThrows(IllegalArgumentException.class, () -> freeExplicitly(buffer.slice()));
            memory.fill((byte) 1);
            assertTrue(memory.scope().isAlive());
            assertEquals(0x0101_0101_0101_0101L, memory.get(JAVA_LONG_UNALIGNED, 0));
        }
    }

    @Test
    void shouldRefuseBuffersThatTheirOwnerCouldFree(@TempDir Path folder) throws Exception {
        List<ByteBuffer> buffers = new ArrayList<>(List.of(ByteBuffer.allocateDirect(8)));
        try (FileChannel file = FileChannel.open(
                folder.resolve("file"), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            buffers.add(file.map(MapMode.READ_WRITE, 0, 8));
        }
        for (ByteBuffer buffer : buffers) {
            refused(MemorySegment.ofBuffer(buffer), "registerUnsafe");
            refused(MemorySegment.ofBuffer(buffer.slice(4, 4)), "whose owner could free it");
            refused(MemorySegment.ofBuffer(buffer.duplicate()), "Arena.ofAuto()");
            freeExplicitly(buffer);
        }
        try (Arena confined = Arena.ofConfined()) {
            // A buffer that is a view of an arena's memory is freed with that.
            refused(MemorySegment.ofBuffer(confined.allocate(8).asByteBuffer()), "another arena than the VerbsArena");
        }
    }

    /** As programs do that do not wait for the collector. */
    private static void freeExplicitly(ByteBuffer buffer) throws Exception {
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field instance = unsafe.getDeclaredField("theUnsafe");
        instance.setAccessible(true);
        try {
            unsafe.getMethod("invokeCleaner", ByteBuffer.class).invoke(instance.get(null), buffer);
        } catch (InvocationTargetException e) {
            throw (Exception) e.getCause();
        }
    }

    @Test
    void shouldTakeNoHeadersThatTheirOwnerCouldFree() {
        SendWorkRequest request = SendWorkRequest.allocate(arena, 1);
        request.tso(Arena.ofAuto().allocate(8), 100);
        MemorySegment buffer = MemorySegment.ofBuffer(ByteBuffer.allocateDirect(8));
        assertThrows(IllegalArgumentException.class, () -> request.tso(buffer, 100));
    }

    @Test
    void shouldRefuseMemoryOnTheHeap() {
        refused(MemorySegment.ofArray(new byte[8]), "on the heap");
        refused(MemorySegment.ofBuffer(ByteBuffer.allocate(8)), "on the heap");
    }

    @Test
    void shouldRefuseEmptyMemory() {
        refused(arena.allocate(8).asSlice(8), "empty");
        refused(MemorySegment.ofAddress(4096), "reinterpreted");
        refused(MemorySegment.NULL, "empty");
    }

    @Test
    void shouldRefuseFreedMemory() {
        Arena closed = Arena.ofConfined();
        MemorySegment memory = closed.allocate(8);
        closed.close();
        assertThrows(IllegalStateException.class, () -> accepted(memory));
    }

    @Test
    void shouldRefuseToWriteToReadOnlyMemory() {
        MemorySegment readOnly = arena.allocate(8).asReadOnly();
        accepted(readOnly, AccessFlag.REMOTE_READ);
        assertThrows(IllegalArgumentException.class, () -> accepted(readOnly, AccessFlag.LOCAL_WRITE));
    }

    @Test
    void shouldRefuseRemoteChangesWithoutLocalWrites() {
        MemorySegment memory = arena.allocate(8);
        for (AccessFlag flag : Set.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)) {
            accepted(memory, AccessFlag.LOCAL_WRITE, flag);
            IllegalArgumentException exception =
                    assertThrows(IllegalArgumentException.class, () -> accepted(memory, flag));
            assertTrue(exception.getMessage().contains("LOCAL_WRITE"), exception::getMessage);
        }
    }

    @Test
    void shouldKnowCures() {
        MemorySegment memory = arena.allocate(12345);
        for (int errno : Set.of(Errno.ENOMEM, Errno.EAGAIN)) {
            String cure = RegistrableMemory.cure(errno, memory, Set.of());
            assertTrue(cure.contains("RLIMIT_MEMLOCK"), cure);
            assertTrue(cure.contains("12345 bytes"), cure);
            assertTrue(cure.contains(RegistrableMemory.lockedMemoryLimit()), cure);
        }
        assertTrue(RegistrableMemory.cure(Errno.EFAULT, memory, Set.of()).contains("read-only"));
        assertNull(RegistrableMemory.cure(Errno.EPERM, memory, Set.of()));
    }

    @Test
    void shouldNotBlameALimitThatIsNotThere() {
        MemorySegment memory = arena.allocate(12345);
        String limited = RegistrableMemory.cure(Errno.ENOMEM, memory, Set.of(), "65536 bytes");
        assertTrue(limited.contains("is 65536 bytes; raise it"), limited);
        String unlimited = RegistrableMemory.cure(Errno.ENOMEM, memory, Set.of(), "unlimited");
        assertFalse(unlimited.contains("raise"), unlimited);
        String unpinned = RegistrableMemory.cure(Errno.ENOMEM, memory, Set.of(AccessFlag.ON_DEMAND), "65536 bytes");
        assertFalse(unpinned.contains("RLIMIT_MEMLOCK"), unpinned);
    }

    @Test
    void shouldRefuseAnAddressFromWhichARegionReachesBeyondAllOthers() {
        RegistrableMemory.checkAddress(-4096, 4096, 4096);
        RegistrableMemory.checkAddress(Long.MIN_VALUE - 4096, 4096, 8192);
        RegistrableMemory.checkAddress(0, 4096, Long.MAX_VALUE);
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> RegistrableMemory.checkAddress(-4096, 4096, 4097));
        assertTrue(refused.getMessage().contains("0xfffffffffffff000"), refused::getMessage);
    }

    @Test
    void shouldNameWhatADeviceNeedsForAccess() {
        assertNull(RegistrableMemory.capability(Set.of(AccessFlag.LOCAL_WRITE)));
        for (AccessFlag flag : Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)) {
            assertNotNull(RegistrableMemory.capability(Set.of(AccessFlag.LOCAL_WRITE, flag)));
        }
    }

    @Test
    void shouldKnowTheLimitOfLockedMemory() {
        String limit = RegistrableMemory.lockedMemoryLimit();
        assertTrue(limit.matches("unlimited|\\d+ bytes"), limit);
    }
}
