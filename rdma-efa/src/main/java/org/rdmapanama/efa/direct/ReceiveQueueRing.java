package org.rdmapanama.efa.direct;

import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.DirectPath.QueuePairParts;
import org.rdmapanama.internal.provider.RingLock;

/**
 * The receive queue of a queue pair: descriptors of 16 bytes, {@code struct efa_io_rx_desc}, one for each data segment.
 *
 * <p>Threads: one at a time posts, by a lock where several may. The thread that takes completions calls {@link #ids} at the
 * same time.
 */
final class ReceiveQueueRing {
    static final int ENTRY_BYTES = 16;

    private static final long NEXT = ibv_recv_wr.next$offset();
    private static final long WR_ID = ibv_recv_wr.wr_id$offset();
    private static final long LIST = ibv_recv_wr.sg_list$offset();
    private static final long SEGMENTS = ibv_recv_wr.num_sge$offset();
    private static final int RESET = rdma_h.IBV_QPS_RESET();
    private static final int ERROR = rdma_h.IBV_QPS_ERR();

    /** The number of the work request is in the low bits of the second word of a descriptor. */
    private static final int LENGTH_SHIFT = 16;

    private static final int MAX_LENGTH = 0xffff;
    private static final int KEY_SHIFT = 32;
    private static final int KEY_MASK = 0xff_ffff;
    private static final long FIRST = 1L << 62;
    private static final long LAST = 1L << 63;
    private static final int COUNTER_MASK = 0xffff;

    private final long ring;
    private final int mask;
    private final long doorbell;

    /** Where the driver keeps the state of the queue pair. */
    private final long state;

    private final int maxSegments;
    private final RingLock lock;
    private final RequestIds ids;

    /** The next descriptor, counted on without wrapping around. */
    private int position;

    /**
     * @param ring where the descriptors are
     * @param descriptors how many there are, a power of two
     */
    ReceiveQueueRing(
            long ring, int descriptors, long doorbell, long state, QueuePairParts parts, AtomicInteger generations) {
        this.ring = ring;
        mask = descriptors - 1;
        this.doorbell = doorbell;
        this.state = state;
        maxSegments = parts.granted().maxReceiveSegments();
        lock = new RingLock(parts.shared());
        ids = new RequestIds(parts.granted().maxReceiveWorkRequests(), generations);
    }

    /** Returns the work requests that are outstanding. */
    RequestIds ids() {
        return ids;
    }

    /** Posts a chain of {@code struct ibv_recv_wr}, as ibv_post_recv does. */
    int post(long first, long bad) {
        lock.lock();
        try {
            int before = position;
            int error = 0;
            for (long wr = first; wr != 0; wr = RingMemory.getLong(RingMemory.known(wr) + NEXT)) {
                error = encode(RingMemory.known(wr));
                if (error != 0) {
                    RingMemory.putLong(bad, wr);
                    break;
                }
            }
            if (position != before) {
                ids.announce();
                RingMemory.ring(doorbell, position & COUNTER_MASK);
            }
            return error;
        } finally {
            lock.unlock();
        }
    }

    private int encode(long wr) {
        int now = RingMemory.getInt(state);
        int count = RingMemory.getInt(wr + SEGMENTS);
        if (now == RESET || now == ERROR || count > maxSegments) {
            return -Errno.EINVAL;
        }
        if (ids.isFull()) {
            return -Errno.ENOMEM;
        }
        // A receive without segments has no descriptor, so that it never completes: as with the driver.
        long word = FIRST | ids.take(RingMemory.getLong(wr + WR_ID));
        long sge = RingMemory.known(RingMemory.getLong(wr + LIST));
        for (int i = 0; i < count; i++, sge += SendQueueRing.SGE_BYTES) {
            long lengthAndKey = RingMemory.getLong(sge + SendQueueRing.SGE_LENGTH);
            long length = Math.min(lengthAndKey & 0xffff_ffffL, MAX_LENGTH);
            word |= length << LENGTH_SHIFT | (lengthAndKey >>> Integer.SIZE & KEY_MASK) << KEY_SHIFT;
            long to = RingMemory.known(ring + (long) (position & mask) * ENTRY_BYTES);
            RingMemory.putLong(to, RingMemory.getLong(sge + SendQueueRing.SGE_ADDRESS));
            RingMemory.putLong(to + Long.BYTES, i == count - 1 ? word | LAST : word);
            position++;
            word = 0;
        }
        return 0;
    }

    /** Forgets everything: the queue pair is in state RESET. */
    void reset() {
        lock.lock();
        try {
            position = 0;
            ids.reset();
        } finally {
            lock.unlock();
        }
    }
}
