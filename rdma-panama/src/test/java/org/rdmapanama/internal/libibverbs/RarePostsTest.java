package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_wq;
import org.rdmapanama.ffm.verbs.verbs_context;

/**
 * Posting to work queues and lists of tags, which no software device has. The place of the driver takes memcmp(3),
 * whose arguments have the same types: two equal addresses, and a length where the address of the bad request would be.
 */
class RarePostsTest {
    private static final int ROUND = 10_000;
    private static final int MAX_WARM_UP_ROUNDS = 20;
    private static final long EQUAL = 4;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static MemorySegment memcmp() {
        return Linker.nativeLinker().defaultLookup().find("memcmp").orElseThrow();
    }

    /** An open device whose driver has nothing but post_srq_ops. */
    private static NativeContext context(Arena arena, MemorySegment postSrqOps) {
        return context(arena, postSrqOps, "unknown");
    }

    static NativeContext context(Arena arena, MemorySegment postSrqOps, String driver) {
        long size = verbs_context.sizeof() + Pthread.MUTEX_GROWTH;
        MemorySegment struct = arena.allocate(size, 16);
        struct.set(JAVA_LONG, verbs_context.sz$offset(), size);
        struct.set(ADDRESS, verbs_context.post_srq_ops$offset(), postSrqOps);
        MemorySegment context = struct.asSlice(verbs_context.context$offset());
        context.set(JAVA_LONG, ibv_context.abi_compat$offset() + Pthread.MUTEX_GROWTH, -1L);
        context.set(JAVA_INT, ibv_context.async_fd$offset(), -1);
        return new NativeContext(context.address(), driver);
    }

    private static void assertAllocatesNothing(IntSupplier post) {
        long allocated = Long.MAX_VALUE;
        for (int round = 0; allocated >= ROUND && round < MAX_WARM_UP_ROUNDS; round++) {
            int sum = 0;
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < ROUND; i++) {
                sum += post.getAsInt();
            }
            allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
            assertEquals(0, sum);
        }
        long bytes = allocated;
        assertTrue(bytes < ROUND, () -> ROUND + " posts allocated " + bytes + " bytes");
    }

    @Test
    void shouldPostTagOperationsWithoutGarbage() {
        try (Arena arena = Arena.ofConfined()) {
            NativeContext context = context(arena, memcmp());
            long operation = arena.allocate(8).address();
            assertAllocatesNothing(() -> context.postSharedOperations(operation, operation, EQUAL));
        }
    }

    @Test
    void shouldPostToWorkQueuesWithoutGarbage() {
        try (Arena arena = Arena.ofConfined()) {
            NativeContext context = context(arena, memcmp());
            MemorySegment workQueue = arena.allocate(ibv_wq.layout());
            workQueue.set(ADDRESS, ibv_wq.post_recv$offset(), memcmp());
            long address = workQueue.address();
            assertAllocatesNothing(() -> context.postWorkQueueReceive(address, address, EQUAL));
        }
    }

    @Test
    void shouldSayWhereADriverHasNone() {
        try (Arena arena = Arena.ofConfined()) {
            NativeContext context = context(arena, MemorySegment.NULL);
            assertEquals(-Errno.EOPNOTSUPP, context.postSharedOperations(1, 2, 3));
            long workQueue = arena.allocate(ibv_wq.layout()).address();
            assertEquals(-Errno.EOPNOTSUPP, context.postWorkQueueReceive(workQueue, 2, 3));
        }
    }

    /** Posting to a full queue takes the lock that a batch holds: it must not hold off safepoints then. */
    @Test
    void shouldPostTheOrdinaryWayWhereThereMayBeBatches() {
        try (Arena arena = Arena.ofConfined()) {
            NativeContext context = context(arena, MemorySegment.NULL, "mlx5");
            assertTrue(context.postsCritically());
            // Batches of a queue without locks hold none.
            assertTrue(context.preparePollBatches(true) != null);
            assertTrue(context.postsCritically());
            assertTrue(context.preparePollBatches(false) != null);
            assertFalse(context.postsCritically());
            NativeContext other = context(arena, MemorySegment.NULL, "efa");
            assertTrue(other.postsCritically());
            assertTrue(other.preparePollBatches(true) != null);
            assertFalse(other.postsCritically());
        }
    }

    /** A positive errno, and a refusal that is none. */
    @Test
    void shouldTurnWhatDriversReturn() {
        try (Arena arena = Arena.ofConfined()) {
            NativeContext context = context(arena, memcmp());
            MemorySegment small = arena.allocate(8);
            MemorySegment large = arena.allocate(8);
            large.set(JAVA_INT, 0, 1);
            assertTrue(context.postSharedOperations(large.address(), small.address(), EQUAL) < 0);
            assertTrue(context.postSharedOperations(small.address(), large.address(), EQUAL) < 0);
        }
    }
}
