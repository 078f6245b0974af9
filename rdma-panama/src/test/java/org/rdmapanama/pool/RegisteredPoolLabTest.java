package org.rdmapanama.pool;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.counts.PoolCounts;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;

/** Buffers of one region: in work requests, for peers, and given back. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RegisteredPoolLabTest {
    private static final AccessFlag[] WRITABLE = {AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE};

    @Test
    void shouldCarryMessagesAndWrites() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            RegisteredPool from = RegisteredPool.create(pair.a.domain, 65536, WRITABLE);
            RegisteredPool to = RegisteredPool.create(pair.b.domain, 65536, WRITABLE);
            List<RegisteredBuffer> kept = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                RegisteredBuffer source = from.allocate(100 + i);
                RegisteredBuffer target = to.allocate(100 + i, 256);
                assertEquals(0, target.memory().address() % 256);
                assertEquals(100 + i, source.memory().byteSize());
                FillPattern.fill(source.memory(), i);
                if (i % 2 == 0) {
                    pair.b.post(pair.b.receiveRequest(2, 0, 0).add(target));
                    pair.a.post(pair.a.request(1, 0, 0).add(source));
                    pair.a.await().is(CompletionOpcode.SEND, 1);
                    pair.b.await().is(CompletionOpcode.RECV, 2);
                } else {
                    pair.a.post(pair.a
                            .request(1, 0, 0)
                            .rdmaWrite(target.address(), target.rkey())
                            .add(source, 0, 50)
                            .add(source, 50, 50 + i));
                    pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
                }
                assertArrayEquals(
                        source.memory().toArray(JAVA_BYTE), target.memory().toArray(JAVA_BYTE));
                source.close();
                kept.add(target);
            }
            assertEquals(from.byteSize(), from.largestFree());
            assertTrue(to.freeBytes() < to.byteSize());
            kept.forEach(RegisteredBuffer::close);
            assertEquals(to.byteSize(), to.largestFree());
        }
    }

    @Test
    void shouldSayHowMuchIsLeft() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            RegisteredPool pool = RegisteredPool.create(domain, 1, WRITABLE);
            assertEquals(4096, pool.byteSize());
            RegisteredBuffer first = pool.allocate(1000);
            RegisteredBuffer second = pool.allocate(1000);
            RegisteredBuffer third = pool.allocate(2048);
            assertEquals(0, pool.freeBytes());
            assertEquals(new PoolCounts(4096, 0, 3, 3, 0), pool.counts());
            first.close();
            third.close();
            PoolExhaustedException full = assertThrows(PoolExhaustedException.class, () -> pool.allocate(3000));
            assertEquals(3000, full.byteSize());
            assertEquals(3072, full.freeBytes());
            assertEquals(2048, full.largestFree());
            assertTrue(full.getMessage().contains("3000"), full::getMessage);
            assertNull(pool.tryAllocate(3000, 1));
            second.close();
            pool.allocate(4096).close();
            assertEquals(new PoolCounts(4096, 4096, 0, 4, 2), pool.counts());
            assertThrows(IllegalArgumentException.class, () -> pool.allocate(0));
            assertThrows(IllegalArgumentException.class, () -> pool.allocate(1, 3));
            assertThrows(IllegalArgumentException.class, () -> pool.allocate(1, Long.MIN_VALUE));
            assertThrows(IllegalArgumentException.class, () -> RegisteredPool.create(domain, 0));
        }
    }

    /** Who asks for too much gets an exception of a kind that is documented of all methods. */
    @Test
    void shouldRefuseWhatNoPoolHolds() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            RegisteredPool pool = RegisteredPool.create(domain, 4096, WRITABLE);
            for (long size : new long[] {4097, Integer.MAX_VALUE, Long.MAX_VALUE - 63, Long.MAX_VALUE}) {
                assertThrows(IllegalStateException.class, () -> pool.allocate(size));
                assertNull(pool.tryAllocate(size, 1));
            }
            for (long alignment = 8192; alignment > 0; alignment <<= 1) {
                RegisteredBuffer buffer = pool.tryAllocate(1, alignment);
                if (buffer != null) {
                    assertEquals(0, buffer.memory().address() % alignment);
                    buffer.close();
                }
            }
            assertEquals(4096, pool.largestFree());
        }
    }

    @Test
    void shouldTakeNoMemoryForAccessThatIsRefused() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            // More than there is: whoever asks for it first gets an OutOfMemoryError.
            assertThrows(
                    IllegalArgumentException.class,
                    () -> RegisteredPool.create(domain, 1L << 50, AccessFlag.REMOTE_WRITE));
        }
    }

    @Test
    void shouldRefuseABufferThatWasGivenBack() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            RegisteredPool pool = RegisteredPool.create(pair.a.domain, 4096, WRITABLE);
            RegisteredBuffer buffer = pool.allocate(64);
            buffer.close();
            buffer.close();
            assertEquals(4096, pool.freeBytes());
            assertFalse(buffer.isOpen());
            RegisteredBuffer another = pool.allocate(64);
            buffer.close();
            assertTrue(another.isOpen(), "a second close gave back what belongs to another");
            assertEquals(4096 - 64, pool.freeBytes());
            assertThrows(IllegalStateException.class, buffer::memory);
            SendWorkRequest request = pair.a.request(1, 0, 0);
            assertThrows(IllegalStateException.class, () -> request.add(buffer));
            assertThrows(IndexOutOfBoundsException.class, () -> request.add(another, 1, 64));
            pool.close();
            assertFalse(another.isOpen());
            assertThrows(IllegalStateException.class, another::memory);
            assertThrows(IllegalStateException.class, () -> pool.allocate(64));
            assertThrows(IllegalStateException.class, () -> request.add(another));
            another.close();
        }
    }

    @Test
    void shouldServeManyThreads() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(4)) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            RegisteredPool pool = RegisteredPool.create(domain, 1 << 20, WRITABLE);
            List<Callable<Void>> users = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                byte mark = (byte) (i + 1);
                users.add(() -> {
                    use(pool, mark);
                    return null;
                });
            }
            for (Future<Void> user : threads.invokeAll(users)) {
                user.get();
            }
            assertEquals(1 << 20, pool.largestFree());
        }
    }

    /** Nobody else writes into what one thread has. */
    private static void use(RegisteredPool pool, byte mark) {
        Random random = new Random(mark);
        List<RegisteredBuffer> mine = new ArrayList<>();
        for (int step = 0; step < 2000; step++) {
            if (mine.size() < 20 && random.nextBoolean()) {
                RegisteredBuffer buffer = pool.tryAllocate(1 + random.nextInt(2000), 1);
                if (buffer != null) {
                    buffer.memory().fill(mark);
                    mine.add(buffer);
                }
            } else if (!mine.isEmpty()) {
                RegisteredBuffer buffer = mine.remove(random.nextInt(mine.size()));
                assertEquals(mark, buffer.memory().get(JAVA_BYTE, 0));
                assertEquals(mark, buffer.memory().get(JAVA_BYTE, buffer.byteSize() - 1));
                buffer.close();
            }
        }
        mine.forEach(RegisteredBuffer::close);
    }
}
