package org.rdmapanama.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/**
 * The limits of reads and atomics that the dynamically connected transport has of its own. libmlx5 tells them since version 47
 * of rdma-core, and an older one leaves those of RC.
 */
@Tag("card")
class DcLimitsCardTest {
    private static final int OF_RC = 128;

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final Context context = Context.open(arena, "mlx5_0");
    private final Mlx5Device mlx5 = Mlx5Device.of(context);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(15));

    @AfterEach
    void close() {
        arena.close();
    }

    private ExtendedQueuePair initiator(DcLimits limits) {
        QueuePairOptions options =
                new QueuePairOptions(QueuePairType.DRIVER, queue).sendOperations(SendOperation.RDMA_READ);
        ExtendedQueuePair initiator = mlx5.createDcInitiator(domain, options, limits);
        initiator.activate(new ConnectOptions().maxReadAtomic(255));
        return initiator;
    }

    private void assertReads(int expected, ExtendedQueuePair initiator) {
        assertEquals(expected, initiator.localEndpoint().maxReadAtomicAsInitiator());
        assertEquals(
                expected, initiator.query(QueuePairAttribute.MAX_QP_RD_ATOMIC).maxReadAtomicAsInitiator());
    }

    @Test
    void shouldActivateAnInitiatorWithTheLimitOfItsTransport() {
        assertEquals(OF_RC, context.queryDevice().maxReadAtomicAsInitiator());
        assertReads(8, initiator(new DcLimits(4, 8, 0, 0)));
        assertReads(OF_RC, initiator(new DcLimits(0, 0, 0, 0)));
        // More than an int can say.
        assertEquals(
                255, initiator(new DcLimits(0, 1L << 40, 0, 0)).localEndpoint().maxReadAtomicAsInitiator());
    }

    @Test
    void shouldTellTheLimitOfATarget() {
        QueuePairOptions options = new QueuePairOptions(QueuePairType.DRIVER, queue)
                .sharedReceiveQueue(domain.createSharedReceiveQueue(new SharedReceiveQueueOptions()));
        QueuePair target = mlx5.createDcTarget(domain, options, 1, new DcLimits(4, 8, 0, 0));
        target.activate(new ConnectOptions().maxReadAtomic(255));
        assertEquals(4, target.localEndpoint().maxReadAtomicAsTarget());
    }
}
