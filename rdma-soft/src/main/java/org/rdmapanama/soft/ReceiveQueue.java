package org.rdmapanama.soft;

import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.Ring;

/**
 * The posted receives that have not been used yet, in a ring; they belong to one queue pair or to a shared receive
 * queue. Posting copies the work request, so the program may reuse its own at once. Callers must hold the lock of the
 * device.
 */
final class ReceiveQueue {
    // Layout of a ring slot.
    static final int ID = 0;
    static final int SEGMENTS = 8;
    static final int DATA = 16;

    private static final long WR_ID = ibv_recv_wr.wr_id$offset();
    private static final long NEXT = ibv_recv_wr.next$offset();
    private static final long SG_LIST = ibv_recv_wr.sg_list$offset();
    private static final long NUM_SGE = ibv_recv_wr.num_sge$offset();

    private Ring ring;
    private int capacity;
    final int maxSegments;
    final int slotBytes;
    private int head;
    private int tail;

    ReceiveQueue(int entries, int maxSegments) {
        this.maxSegments = maxSegments;
        slotBytes = DATA + (int) (maxSegments * SendQueue.SGE_BYTES);
        capacity = entries;
        ring = new Ring(entries, slotBytes);
    }

    int capacity() {
        return capacity;
    }

    /** Returns the number of receives. */
    int count() {
        return head - tail;
    }

    /** Resizes the queue, keeping its receives. Returns false if they do not fit. */
    boolean resize(int entries) {
        int count = count();
        if (count > entries) {
            return false;
        }
        ring = ring.resized(entries, tail, count);
        capacity = entries;
        tail = 0;
        head = count;
        return true;
    }

    /**
     * Posts a chain of work requests. Returns 0, or an errno after writing the address of the rejected one to {@code
     * bad}.
     */
    int post(long request, long bad) {
        for (long each = request; each != 0; each = Memory.getLong(each + NEXT)) {
            int segments = Memory.getInt(each + NUM_SGE);
            int result = segments < 0 || segments > maxSegments ? Errno.EINVAL : 0;
            if (count() == capacity) {
                result = Errno.ENOMEM;
            }
            if (result != 0) {
                Memory.putLong(bad, each);
                return result;
            }
            long slot = ring.at(head);
            Memory.putLong(slot + ID, Memory.getLong(each + WR_ID));
            Memory.putInt(slot + SEGMENTS, segments);
            Memory.copy(Memory.getLong(each + SG_LIST), slot + DATA, segments * SendQueue.SGE_BYTES);
            head++;
        }
        return 0;
    }

    /**
     * Removes the first receive and copies it to memory of {@link #slotBytes} bytes. Returns false if there is none.
     */
    boolean take(long into) {
        if (count() == 0) {
            return false;
        }
        Memory.copy(ring.at(tail), into, slotBytes);
        tail++;
        return true;
    }

    void clear() {
        head = 0;
        tail = 0;
    }

    void free() {
        ring.free();
    }
}
