package org.rdmapanama.soft;

import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_mw_bind_info;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.Ring;

/**
 * The work requests that were posted to a send queue and have not completed, in a ring. Posting copies each request, so
 * the program may reuse its own at once. {@link SoftQueuePair} fills it, a {@link Requester} executes it. Callers must
 * hold the lock of the device.
 */
final class SendQueue {
    // Layout of a ring slot.
    static final int ID = 0;
    static final int OPCODE = 8;
    static final int FLAGS = 12;
    static final int IMMEDIATE = 16;
    static final int RKEY = 20;
    static final int REMOTE = 24;
    static final int COMPARE_ADD = 32;
    static final int SWAP = 40;
    static final int BYTES = 48;
    static final int SEGMENTS = 52;
    static final int ADDRESS_HANDLE = 56;
    static final int REMOTE_QP = 60;
    static final int QKEY = 64;
    static final int FIRST_PSN = 68;
    static final int LAST_PSN = 72;
    static final int WINDOW = 76;
    static final int WINDOW_REGION = 80;
    static final int WINDOW_ACCESS = 84;
    static final int WINDOW_START = 88;
    static final int WINDOW_LENGTH = 96;
    static final int STATE = 104;

    /** The segments, or inline data. */
    static final int DATA = 128;

    private static final long WR_ID = ibv_send_wr.wr_id$offset();
    private static final long SG_LIST = ibv_send_wr.sg_list$offset();
    private static final long NUM_SGE = ibv_send_wr.num_sge$offset();
    private static final long WR_OPCODE = ibv_send_wr.opcode$offset();
    private static final long SEND_FLAGS = ibv_send_wr.send_flags$offset();
    private static final long IMM_DATA = ibv_send_wr.imm_data$offset();
    private static final long WR = ibv_send_wr.wr$offset();
    private static final long RDMA_ADDRESS = WR + ibv_send_wr.wr.rdma.remote_addr$offset();
    private static final long RDMA_RKEY = WR + ibv_send_wr.wr.rdma.rkey$offset();
    private static final long ATOMIC_COMPARE_ADD = WR + ibv_send_wr.wr.atomic.compare_add$offset();
    private static final long ATOMIC_SWAP = WR + ibv_send_wr.wr.atomic.swap$offset();
    private static final long ATOMIC_RKEY = WR + ibv_send_wr.wr.atomic.rkey$offset();
    private static final long UD_AH = WR + ibv_send_wr.wr.ud.ah$offset();
    private static final long UD_QPN = WR + ibv_send_wr.wr.ud.remote_qpn$offset();
    private static final long UD_QKEY = WR + ibv_send_wr.wr.ud.remote_qkey$offset();
    private static final long BIND_WINDOW = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.mw$offset();
    private static final long BIND_RKEY = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.rkey$offset();
    private static final long BIND_INFO = ibv_send_wr.bind_mw$offset() + ibv_send_wr.bind_mw.bind_info$offset();

    private static final long INFO_MR = ibv_mw_bind_info.mr$offset();
    private static final long INFO_ADDR = ibv_mw_bind_info.addr$offset();
    private static final long INFO_LENGTH = ibv_mw_bind_info.length$offset();
    private static final long INFO_ACCESS = ibv_mw_bind_info.mw_access_flags$offset();

    static final long SGE_BYTES = ibv_sge.sizeof();

    private final Ring ring;
    final int capacity;
    final int maxSegments;
    final int maxInline;

    /** The next slot to fill. */
    int head;

    /** The next slot to send, between {@link #tail} and {@link #head}. */
    int current;

    /** The next slot to complete. */
    int tail;

    SendQueue(int entries, int maxSegments, int maxInline) {
        capacity = entries;
        this.maxSegments = maxSegments;
        this.maxInline = maxInline;
        ring = new Ring(entries, DATA + Math.max(maxSegments * SGE_BYTES, (maxInline + 15) & ~15));
    }

    boolean isFull() {
        return head - tail == capacity;
    }

    long slot(int index) {
        return ring.at(index);
    }

    /** Returns the next slot to fill; the caller increments {@link #head} once it is complete. */
    long nextSlot() {
        long slot = slot(head);
        Memory.putInt(slot + STATE, 0);
        return slot;
    }

    /** Copies a work request that {@link SoftQueuePair} has checked. Returns 0 or an errno. */
    int write(SoftDevice device, long request) {
        long slot = nextSlot();
        int opcode = Memory.getInt(request + WR_OPCODE);
        int flags = Memory.getInt(request + SEND_FLAGS);
        int segments = Memory.getInt(request + NUM_SGE);
        if (segments < 0 || segments > maxSegments) {
            return Errno.EINVAL;
        }
        Memory.putLong(slot + ID, Memory.getLong(request + WR_ID));
        Memory.putInt(slot + OPCODE, opcode);
        Memory.putInt(slot + FLAGS, flags);
        Memory.putInt(slot + IMMEDIATE, Memory.getInt(request + IMM_DATA));
        boolean atomic = isAtomic(opcode);
        if (opcode == VerbsConstants.WR_BIND_MW) {
            writeBind(
                    slot,
                    Memory.getLong(request + BIND_WINDOW),
                    Memory.getInt(request + BIND_RKEY),
                    request + BIND_INFO);
        } else {
            Memory.putLong(slot + REMOTE, Memory.getLong(request + RDMA_ADDRESS));
            Memory.putInt(slot + RKEY, Memory.getInt(request + (atomic ? ATOMIC_RKEY : RDMA_RKEY)));
            if (atomic) {
                Memory.putLong(slot + COMPARE_ADD, Memory.getLong(request + ATOMIC_COMPARE_ADD));
                Memory.putLong(slot + SWAP, Memory.getLong(request + ATOMIC_SWAP));
            }
        }
        if (device != null) {
            writeDatagram(
                    device,
                    slot,
                    Memory.getLong(request + UD_AH),
                    Memory.getInt(request + UD_QPN),
                    Memory.getInt(request + UD_QKEY));
        }
        long list = Memory.getLong(request + SG_LIST);
        return (flags & VerbsConstants.FLAG_INLINE) != 0
                ? writeInline(slot, list, segments)
                : writeList(slot, list, segments);
    }

    /** Writes the destination of a datagram. */
    void writeDatagram(SoftDevice device, long slot, long addressHandle, int queuePair, int qkey) {
        Memory.putInt(slot + ADDRESS_HANDLE, addressHandle == 0 ? 0 : device.handleOf(addressHandle));
        Memory.putInt(slot + REMOTE_QP, queuePair);
        Memory.putInt(slot + QKEY, qkey);
    }

    /** Writes the binding of a memory window, from a struct ibv_mw_bind_info. */
    void writeBind(long slot, long window, int rkey, long info) {
        Memory.putInt(slot + WINDOW, MemoryVerbs.handleOfWindow(window));
        Memory.putInt(slot + RKEY, rkey);
        long region = Memory.getLong(info + INFO_MR);
        Memory.putInt(slot + WINDOW_REGION, region == 0 ? 0 : MemoryVerbs.lkeyOf(region));
        Memory.putLong(slot + WINDOW_START, Memory.getLong(info + INFO_ADDR));
        Memory.putLong(slot + WINDOW_LENGTH, Memory.getLong(info + INFO_LENGTH));
        Memory.putInt(slot + WINDOW_ACCESS, Memory.getInt(info + INFO_ACCESS));
    }

    /** Copies an array of struct ibv_sge. */
    int writeList(long slot, long list, int segments) {
        long bytes = 0;
        for (int i = 0; i < segments; i++) {
            bytes += Integer.toUnsignedLong(Memory.getInt(list + i * SGE_BYTES + ScatterGatherCursor.LENGTH));
        }
        if (bytes > SoftDevice.MAX_MESSAGE) {
            return Errno.EINVAL;
        }
        Memory.copy(list, slot + DATA, segments * SGE_BYTES);
        Memory.putInt(slot + SEGMENTS, segments);
        Memory.putInt(slot + BYTES, (int) bytes);
        return 0;
    }

    /** Copies the data that an array of struct ibv_sge describes. */
    private int writeInline(long slot, long list, int segments) {
        long bytes = 0;
        for (int i = 0; i < segments; i++) {
            bytes += Integer.toUnsignedLong(Memory.getInt(list + i * SGE_BYTES + ScatterGatherCursor.LENGTH));
        }
        if (bytes > maxInline) {
            return Errno.EINVAL;
        }
        long to = slot + DATA;
        for (int i = 0; i < segments; i++) {
            int length = Memory.getInt(list + i * SGE_BYTES + ScatterGatherCursor.LENGTH);
            Memory.copy(Memory.getLong(list + i * SGE_BYTES), to, length);
            to += length;
        }
        Memory.putInt(slot + SEGMENTS, 0);
        Memory.putInt(slot + BYTES, (int) bytes);
        return 0;
    }

    /** Returns the address of the struct ibv_sge array of a slot. */
    static long list(long slot) {
        return slot + DATA;
    }

    /** Returns the number of segments of a slot. */
    static int segments(long slot) {
        return Memory.getInt(slot + SEGMENTS);
    }

    /** Returns the size of the message, in bytes. */
    static long bytes(long slot) {
        return Integer.toUnsignedLong(Memory.getInt(slot + BYTES));
    }

    /** Returns whether the message causes an event where the receiver asked for solicited completions only. */
    static boolean isSolicited(long slot) {
        return (Memory.getInt(slot + FLAGS) & VerbsConstants.FLAG_SOLICITED) != 0;
    }

    /** Returns whether the peer answers an operation with more than an acknowledgement. */
    static boolean isAnswered(int opcode) {
        return opcode == VerbsConstants.WR_READ || isAtomic(opcode);
    }

    static boolean isAtomic(int opcode) {
        return opcode == VerbsConstants.WR_COMPARE_SWAP || opcode == VerbsConstants.WR_FETCH_ADD;
    }

    void clear() {
        head = 0;
        current = 0;
        tail = 0;
    }

    void free() {
        ring.free();
    }
}
