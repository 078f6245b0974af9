package org.rdmapanama.mlx5.direct;

import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.mlx5.mlx5_wqe_srq_next_seg;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.internal.provider.DirectSharedReceiveQueue;
import org.rdmapanama.internal.provider.RingLock;

/**
 * A shared receive queue: entries in a list, of which each names the next one. Receives are posted at its head, and what
 * has completed is added at its tail; the entry at the tail stays free.
 *
 * <p>Threads: any, by a lock where several may use it.
 */
final class SharedReceiveQueueRing extends DirectSharedReceiveQueue {
    private static final long NEXT = ibv_recv_wr.next$offset();
    private static final long WR_ID = ibv_recv_wr.wr_id$offset();
    private static final long LIST = ibv_recv_wr.sg_list$offset();
    private static final long SEGMENTS = ibv_recv_wr.num_sge$offset();
    private static final long NEXT_INDEX = mlx5_wqe_srq_next_seg.next_wqe_index$offset();

    private final long start;
    private final long stride;
    private final long record;
    private final int maxSegments;
    private final RingLock lock;
    private final long[] ids;
    private int head;
    private int tail;
    private int posted;

    /**
     * @param ring where the entries are
     * @param stride the bytes of one
     * @param record the doorbell record
     * @param head the entry at the head of the list
     * @param tail the entry at its tail, which is the last one of a new queue
     */
    SharedReceiveQueueRing(long ring, int stride, long record, int head, int tail, int maxSegments, boolean shared) {
        start = ring;
        this.stride = stride;
        this.record = record;
        this.head = head;
        this.tail = tail;
        this.maxSegments = maxSegments;
        lock = new RingLock(shared);
        ids = new long[tail + 1];
    }

    @Override
    public int postSharedReceive(long sharedReceiveQueue, long first, long bad) {
        lock.lock();
        try {
            int before = posted;
            int error = 0;
            for (long wr = first; wr != 0; wr = RingMemory.getLong(wr + NEXT)) {
                error = encode(wr);
                if (error != 0) {
                    RingMemory.putLong(bad, wr);
                    break;
                }
                posted++;
            }
            if (posted != before) {
                RingMemory.publish(record, posted);
            }
            return error;
        } finally {
            lock.unlock();
        }
    }

    private int encode(long wr) {
        int count = RingMemory.getInt(wr + SEGMENTS);
        if (count > maxSegments) {
            return -Errno.EINVAL;
        }
        if (head == tail) {
            return -Errno.ENOMEM;
        }
        ids[head] = RingMemory.getLong(wr + WR_ID);
        long entry = entry(head);
        head = Short.toUnsignedInt(Short.reverseBytes(RingMemory.getShort(entry + NEXT_INDEX))) & (ids.length - 1);
        long at = entry + RingMemory.SEGMENT_BYTES;
        long sge = RingMemory.getLong(wr + LIST);
        for (int i = 0; i < count; i++, sge += SendQueueRing.SGE_BYTES) {
            RingMemory.putData(
                    at,
                    RingMemory.getLong(sge + SendQueueRing.SGE_LENGTH),
                    RingMemory.getLong(sge + SendQueueRing.SGE_ADDRESS));
            at += RingMemory.SEGMENT_BYTES;
        }
        if (count < maxSegments) {
            ReceiveQueueRing.putEnd(at);
        }
        return 0;
    }

    private long entry(int index) {
        return start + index * stride;
    }

    /** Takes the receive that a completion names, frees its entry, and returns its identifier. */
    long take(int counter) {
        lock.lock();
        try {
            // Whatever the device says, an entry that does not exist is not written.
            int index = counter & (ids.length - 1);
            long id = ids[index];
            RingMemory.putShort(entry(tail) + NEXT_INDEX, Short.reverseBytes((short) index));
            tail = index;
            return id;
        } finally {
            lock.unlock();
        }
    }
}
