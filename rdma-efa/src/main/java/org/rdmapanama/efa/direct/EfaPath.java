package org.rdmapanama.efa.direct;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmapanama.efa.internal.Libefa;
import org.rdmapanama.ffm.efa.efadv_cq_attr;
import org.rdmapanama.ffm.efa.efadv_wq_attr;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.internal.provider.DirectCompletionQueue;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.DirectQueuePair;
import org.rdmapanama.internal.provider.DirectSharedReceiveQueue;
import org.rdmapanama.internal.provider.DriverFunction;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.QueuePairType;

/** The direct path of one open device: asks the driver where the rings of its queues are. Threads: any. */
final class EfaPath extends DirectPath {
    private static final Set<QueuePairType> TYPES = Set.of(QueuePairType.UD, QueuePairType.DRIVER);

    /** What a doorbell is before the driver tells it: no address. */
    private static final long NOT_TOLD = -1;

    /** So many entries take whole pages. */
    private static final int PROBE_ENTRIES = 512;

    /** How many rings a completion queue has. */
    private final int subQueues;

    private final Generations generations = new Generations();

    EfaPath(ProviderContext context) {
        subQueues = countSubQueues(context);
    }

    /**
     * Returns how many rings a completion queue of this device has. They lie one behind the other. The driver tells where the
     * first one is and how large, but not how many there are; the mapping of a queue whose rings take whole pages does.
     */
    private static int countSubQueues(ProviderContext context) {
        long queue = context.createCompletionQueue(PROBE_ENTRIES, 0, 0, 0);
        if (queue < 0) {
            throw new UnsupportedOperationException("the direct path of efa could not look at a completion queue of the"
                    + " device: ibv_create_cq failed with errno " + -queue);
        }
        try {
            Ring ring = describe(queue);
            long length = Mappings.lengthOf(ring.address());
            long bytes = (long) ring.entries() * ring.entryBytes();
            if (bytes <= 0 || length < bytes || length % bytes != 0) {
                throw new UnsupportedOperationException(
                        "the direct path of efa does not know how many rings a completion"
                                + " queue of the device has: " + length + " bytes are mapped for rings of " + bytes
                                + " bytes; use queues that are not direct");
            }
            return (int) (length / bytes);
        } finally {
            context.destroyCompletionQueue(queue);
        }
    }

    /** The first ring of a completion queue. */
    private record Ring(long address, int entries, int entryBytes, long doorbell) {}

    private static Ring describe(long queue) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(efadv_cq_attr.layout());
            efadv_cq_attr.doorbell(found, MemorySegment.ofAddress(NOT_TOLD));
            check("efadv_query_cq", Libefa.queryCq(queue, found.address(), (int) efadv_cq_attr.sizeof()));
            Ring ring = new Ring(
                    efadv_cq_attr.buffer(found).address(),
                    efadv_cq_attr.num_entries(found),
                    efadv_cq_attr.entry_size(found),
                    efadv_cq_attr.doorbell(found).address());
            if (ring.doorbell() == NOT_TOLD) {
                throw EfaFinder.tooOld("does not tell the doorbells of completion queues");
            }
            return ring;
        }
    }

    private static void check(String function, int result) {
        if (result != 0) {
            throw new IllegalStateException(function + " failed with errno " + Math.abs(result));
        }
    }

    @Override
    public DirectCompletionQueue completionQueue(long completionQueue, boolean shared) {
        Ring ring = describe(completionQueue);
        requireSize("completions", ring.entryBytes(), CompletionQueueRing.ENTRY_BYTES);
        requirePowerOfTwo("completions", ring.entries());
        return new CompletionQueueRing(
                completionQueue, ring.address(), ring.entries(), ring.doorbell(), subQueues, shared);
    }

    @Override
    public DirectSharedReceiveQueue sharedReceiveQueue(long sharedReceiveQueue, int maxSegments, boolean shared) {
        throw new UnsupportedOperationException("EFA devices have no shared receive queues");
    }

    @Override
    public Set<QueuePairType> types() {
        return TYPES;
    }

    @Override
    public DriverFunction creator(DriverFunction ordinary) {
        return ordinary;
    }

    @Override
    public DirectQueuePair queuePair(long queuePair, QueuePairParts parts) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sends = arena.allocate(efadv_wq_attr.layout());
            MemorySegment receives = arena.allocate(efadv_wq_attr.layout());
            check("efadv_query_qp_wqs", Libefa.queryQpWqs(queuePair, sends.address(), receives.address(), (int)
                    efadv_wq_attr.sizeof()));
            requireSize("receives", efadv_wq_attr.entry_size(receives), ReceiveQueueRing.ENTRY_BYTES);
            int entryBytes = efadv_wq_attr.entry_size(sends);
            if (entryBytes != SendQueueRing.LARGE_ENTRY_BYTES) {
                requireSize("sends", entryBytes, SendQueueRing.ENTRY_BYTES);
            }
            requirePowerOfTwo("sends", efadv_wq_attr.num_entries(sends));
            requirePowerOfTwo("receives", efadv_wq_attr.num_entries(receives));
            MemorySegment struct = Native.struct(queuePair, ibv_qp.layout());
            long state = queuePair + ibv_qp.state$offset();
            int number = ibv_qp.qp_num(struct);
            RingQueuePair created = new RingQueuePair(
                    number,
                    new SendQueueRing(
                            new SendQueueRing.Place(
                                    efadv_wq_attr.buffer(sends).address(),
                                    efadv_wq_attr.num_entries(sends),
                                    entryBytes,
                                    efadv_wq_attr.doorbell(sends).address(),
                                    efadv_wq_attr.max_batch(sends)),
                            state,
                            QueuePairType.of(ibv_qp.qp_type(struct)),
                            parts,
                            generations.ofSends(number)),
                    new ReceiveQueueRing(
                            efadv_wq_attr.buffer(receives).address(),
                            efadv_wq_attr.num_entries(receives),
                            efadv_wq_attr.doorbell(receives).address(),
                            state,
                            parts,
                            generations.ofReceives(number)),
                    (CompletionQueueRing) parts.sendQueue(),
                    (CompletionQueueRing) parts.receiveQueue());
            created.join();
            return created;
        }
    }

    /** Places in the rings are counted by masks. */
    private static void requirePowerOfTwo(String what, int entries) {
        if (Integer.bitCount(entries) != 1) {
            throw new UnsupportedOperationException(
                    "the direct path of efa does not know rings of " + entries + " entries for " + what
                            + ", only of powers of two; create the completion queues without CompletionQueueOptions.direct");
        }
    }

    private static void requireSize(String what, int found, int known) {
        if (found != known && found != 0) {
            throw new UnsupportedOperationException("the direct path of efa does not know entries of " + found
                    + " bytes for " + what + ", only of " + known
                    + "; create the completion queues without CompletionQueueOptions.direct");
        }
    }
}
