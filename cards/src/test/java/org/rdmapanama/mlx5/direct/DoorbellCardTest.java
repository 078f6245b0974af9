package org.rdmapanama.mlx5.direct;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.mlx5.mlx5dv_obj;
import org.rdmapanama.ffm.mlx5.mlx5dv_qp;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Side;

/** Doorbells in pages that are not cached, which libmlx5 uses where {@code MLX5_SHUT_UP_BF} tells it to, and in others. */
@Tag("card")
class DoorbellCardTest {
    private static final String NOT_CACHED = "MLX5_SHUT_UP_BF";
    private static final int ROUNDS = 300;

    /** Sets a variable of this process, which the driver reads when it opens a device. */
    @SuppressWarnings("restricted")
    private static void setVariable(String value) throws Throwable {
        Linker linker = Linker.nativeLinker();
        MethodHandle setenv = linker.downcallHandle(
                linker.defaultLookup().find("setenv").orElseThrow(),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            assertEquals(0, (int) setenv.invokeExact(arena.allocateFrom(NOT_CACHED), arena.allocateFrom(value), 1));
        }
    }

    @AfterEach
    void restore() throws Throwable {
        String before = System.getenv(NOT_CACHED);
        setVariable(before == null ? "0" : before);
    }

    private static Side side(VerbsArena arena, Context context) {
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(63).direct(true));
        QueuePair queuePair =
                domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue).maxSendWorkRequests(16));
        MemoryRegion region =
                domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        return new Side(arena, domain, null, queuePair, region, Bound.USUAL);
    }

    private static SendQueueRing.Doorbell doorbell(Context context, Side side) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(mlx5dv_qp.layout());
            Mlx5dv.describe(mlx5dv_h.MLX5DV_OBJ_QP(), mlx5dv_obj::qp, side.queuePair.nativeAddress(), found);
            return Mlx5Path.doorbell(found, Mlx5dv.uncachedRegister(context.nativeAddress()), null);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldKnowWhetherTheDoorbellIsCached(boolean uncached) throws Throwable {
        setVariable(uncached ? "1" : "0");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, "mlx5_0");
            Side a = side(arena, context);
            Side b = side(arena, context);
            assertNotEquals(0, Mlx5dv.uncachedRegister(context.nativeAddress()));
            assertEquals(uncached, doorbell(context, a).uncached());
            assertEquals(uncached, doorbell(context, b).uncached());

            Endpoint ofA = a.queuePair.localEndpoint();
            a.queuePair.connect(b.queuePair.localEndpoint());
            b.queuePair.connect(ofA);
            for (int i = 0; i < ROUNDS; i++) {
                a.memory.set(ValueLayout.JAVA_LONG, 0, i);
                a.post(a.request(i, 0, 8).rdmaWrite(b.region.address(), b.region.rkey()));
                a.await().is(CompletionOpcode.RDMA_WRITE, i);
                assertEquals(i, b.memory.get(ValueLayout.JAVA_LONG, 0));
                // What was rung is the beginning of the work request.
                long rung = RingMemory.getLong(doorbell(context, a).address());
                assertEquals(SendQueueRing.OP_WRITE, (int) (rung >>> 24) & 0xff);
            }
        }
    }
}
