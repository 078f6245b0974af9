package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.soft.wire.Memory;

/** The receives that were posted and not yet used, in a ring; of a queue pair, or shared by several. */
final class ReceiveQueue {
    // A place in the ring.
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

    /** How many are there. */
    int count() {
        return head - tail;
    }

    /** Gives it another size, and keeps what it holds. Whether that fits. */
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

    /** Copies a chain of work requests; zero or an errno, and which one was refused. */
    int post(long request, long bad) {
        for (long each = request; each != 0; each = Memory.getLong(each + NEXT)) {
            int segments = Memory.getInt(each + NUM_SGE);
            int result = segments < 0 || segments > maxSegments ? Verbs.EINVAL : 0;
            if (count() == capacity) {
                result = Verbs.ENOMEM;
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

    /** Takes the first one out, into memory of {@link #slotBytes}; false when there is none. */
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
