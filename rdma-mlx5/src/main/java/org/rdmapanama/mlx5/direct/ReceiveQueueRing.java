package org.rdmapanama.mlx5.direct;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.internal.provider.RingLock;
import org.rdmapanama.queue.QueuePairCapabilities;

/**
 * The receive queue of a queue pair: entries of as many data segments as a receive may have. The device needs no doorbell, it
 * reads the doorbell record.
 *
 * <p>Threads: one at a time posts, by a lock where several may. The thread that takes completions calls {@link #take} at the
 * same time.
 */
final class ReceiveQueueRing {
    private static final long NEXT = ibv_recv_wr.next$offset();
    private static final long WR_ID = ibv_recv_wr.wr_id$offset();
    private static final long LIST = ibv_recv_wr.sg_list$offset();
    private static final long SEGMENTS = ibv_recv_wr.num_sge$offset();
    private static final int NO_KEY = mlx5dv_h.MLX5_INVALID_LKEY();
    private static final long RECORD = (long) mlx5dv_h.MLX5_RCV_DBR() * Integer.BYTES;

    private static final VarHandle TAIL;

    static {
        try {
            TAIL = MethodHandles.lookup().findVarHandle(ReceiveQueueRing.class, "tail", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final long start;
    private final int mask;
    private final long stride;
    private final long record;
    private final int mostPosted;
    private final int maxSegments;

    /** How many segments an entry has room for. */
    private final int room;

    private final RingLock lock;

    private final long[] ids;

    /** How many receives were posted. */
    private int head;

    /** How many receives have completed. */
    @SuppressWarnings("unused") // through TAIL
    private int tail;

    /**
     * @param ring where the entries are
     * @param entries how many there are, a power of two
     * @param stride the bytes of one
     * @param records the doorbell records of the queue pair
     */
    ReceiveQueueRing(long ring, int entries, int stride, long records, QueuePairCapabilities granted, boolean shared) {
        start = ring;
        mask = Math.max(0, entries - 1);
        this.stride = stride;
        record = records + RECORD;
        mostPosted = granted.maxReceiveWorkRequests();
        maxSegments = granted.maxReceiveSegments();
        room = stride / RingMemory.SEGMENT_BYTES;
        lock = new RingLock(shared);
        ids = new long[mask + 1];
    }

    /** Posts a chain of {@code struct ibv_recv_wr}, as ibv_post_recv does. */
    int post(long first, long bad) {
        lock.lock();
        try {
            return postAll(first, bad);
        } finally {
            lock.unlock();
        }
    }

    private int postAll(long first, long bad) {
        int posted = 0;
        int error = 0;
        for (long wr = first; wr != 0; wr = RingMemory.getLong(wr + NEXT)) {
            error = encode(wr, head + posted);
            if (error != 0) {
                RingMemory.putLong(bad, wr);
                break;
            }
            posted++;
        }
        if (posted != 0) {
            head += posted;
            RingMemory.publish(record, head & 0xffff);
        }
        return error;
    }

    private int encode(long wr, int number) {
        if (number - (int) TAIL.getAcquire(this) >= mostPosted) {
            return -Errno.ENOMEM;
        }
        int count = RingMemory.getInt(wr + SEGMENTS);
        if (count > maxSegments) {
            return -Errno.EINVAL;
        }
        int index = number & mask;
        putSegments(start + index * stride, RingMemory.getLong(wr + LIST), count, room);
        ids[index] = RingMemory.getLong(wr + WR_ID);
        return 0;
    }

    /** Stores the segments whose length is not 0, and what ends the list if there is room for more. */
    private static void putSegments(long entry, long list, int count, int room) {
        long at = entry;
        long sge = list;
        for (int i = 0; i < count; i++, sge += SendQueueRing.SGE_BYTES) {
            long lengthAndKey = RingMemory.getLong(sge + SendQueueRing.SGE_LENGTH);
            if ((int) lengthAndKey != 0) {
                RingMemory.putData(at, lengthAndKey, RingMemory.getLong(sge + SendQueueRing.SGE_ADDRESS));
                at += RingMemory.SEGMENT_BYTES;
            }
        }
        if (at < entry + (long) room * RingMemory.SEGMENT_BYTES) {
            putEnd(at);
        }
    }

    /** Stores a segment that ends a list. */
    static void putEnd(long at) {
        RingMemory.putData(at, (long) NO_KEY << Integer.SIZE, 0);
    }

    /** Takes the oldest receive, and returns its identifier. */
    long take() {
        int number = (int) TAIL.getOpaque(this);
        long id = ids[number & mask];
        TAIL.setRelease(this, number + 1);
        return id;
    }

    /** Forgets everything: the queue pair is in state RESET. */
    void reset() {
        lock.lock();
        try {
            head = 0;
            TAIL.setOpaque(this, 0);
        } finally {
            lock.unlock();
        }
    }
}
