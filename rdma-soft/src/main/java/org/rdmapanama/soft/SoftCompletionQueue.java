package org.rdmapanama.soft;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.wire.Memory;

/**
 * A completion queue: a ring of {@code struct ibv_wc}. The device puts completions in with its lock held; whoever polls
 * takes them out under a lock of the queue, so that looking at an empty one takes none.
 */
final class SoftCompletionQueue {
    static final long WC_BYTES = ibv_wc.sizeof();

    private static final long WR_ID = ibv_wc.wr_id$offset();
    private static final long STATUS = ibv_wc.status$offset();
    private static final long OPCODE = ibv_wc.opcode$offset();
    private static final long VENDOR_ERR = ibv_wc.vendor_err$offset();
    private static final long BYTE_LEN = ibv_wc.byte_len$offset();
    private static final long IMM_DATA = ibv_wc.imm_data$offset();
    private static final long QP_NUM = ibv_wc.qp_num$offset();
    private static final long SRC_QP = ibv_wc.src_qp$offset();
    private static final long WC_FLAGS = ibv_wc.wc_flags$offset();
    private static final long PKEY_INDEX = ibv_wc.pkey_index$offset();

    private static final int NOT_ARMED = 0;
    private static final int SOLICITED = 1;
    private static final int ANY = 2;

    private static final VarHandle HEAD;

    static {
        try {
            HEAD = MethodHandles.lookup().findVarHandle(SoftCompletionQueue.class, "head", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Of the C structure. */
    final NativeBlock struct;

    final int number;
    final SoftCompletionChannel channel;

    /** What may be read of an extended queue, of enum ibv_create_cq_wc_flags. */
    final int fields;

    private final SoftContext context;

    private final SpinLock consumers = new SpinLock();
    private final NativeBlock current = new NativeBlock(WC_BYTES);
    private Ring ring;

    /** Next place to fill; published when it is filled. */
    private int head;

    /** Next place to read, under the consumers' lock. */
    private volatile int tail;

    private int armed;
    private boolean overrun;

    /** How many queue pairs report here. */
    int users;

    SoftCompletionQueue(
            SoftContext context,
            NativeBlock struct,
            int number,
            SoftCompletionChannel channel,
            int entries,
            int fields) {
        this.fields = fields;
        this.context = context;
        this.struct = struct;
        this.number = number;
        this.channel = channel;
        ring = new Ring(entries, WC_BYTES);
    }

    /** How many completions it holds at most. */
    int capacity() {
        return (int) ring.places() - 1;
    }

    /** Both locks held: gives it another size, and keeps what it holds. Whether that fits. */
    boolean resize(int entries) {
        consumers.lock();
        try {
            int count = head - tail;
            if (count > entries) {
                return false;
            }
            ring = ring.resized(entries, tail, count);
            tail = 0;
            HEAD.setRelease(this, count);
            return true;
        } finally {
            consumers.unlock();
        }
    }

    boolean isEmpty() {
        return (int) HEAD.getAcquire(this) == tail;
    }

    /** Takes completions out, into an array of struct ibv_wc; how many. */
    int poll(int most, long completions) {
        consumers.lock();
        try {
            int from = tail;
            int count = Math.min((int) HEAD.getAcquire(this) - from, most);
            for (int i = 0; i < count; i++) {
                Memory.copy(ring.at(from + i), completions + i * WC_BYTES, WC_BYTES);
            }
            tail = from + count;
            return count;
        } finally {
            consumers.unlock();
        }
    }

    /** With the device's lock held: a completion. */
    void add(
            long id,
            int status,
            int opcode,
            int bytes,
            int immediate,
            int queuePair,
            int source,
            int flags,
            boolean solicited) {
        if (head - tail == ring.places()) {
            if (!overrun) {
                overrun = true;
                context.asyncEvent(rdma_h.IBV_EVENT_CQ_ERR(), struct.address());
            }
            return;
        }
        long at = ring.at(head);
        Memory.putLong(at + WR_ID, id);
        Memory.putInt(at + STATUS, status);
        Memory.putInt(at + OPCODE, opcode);
        Memory.putInt(at + VENDOR_ERR, 0);
        Memory.putInt(at + BYTE_LEN, bytes);
        Memory.putInt(at + IMM_DATA, immediate);
        Memory.putInt(at + QP_NUM, queuePair);
        Memory.putInt(at + SRC_QP, source);
        Memory.putInt(at + WC_FLAGS, flags);
        // The P_Key index, and all of the local identifiers, which RoCE does not have.
        Memory.putLong(at + PKEY_INDEX, 0);
        HEAD.setRelease(this, head + 1);
        context.device().turns.completed();
        if (armed == ANY || (armed == SOLICITED && (solicited || status != Verbs.SUCCESS))) {
            armed = NOT_ARMED;
            if (channel != null) {
                channel.tell(struct.address());
            }
        }
    }

    /** With the device's lock held: the next completion is told. */
    void arm(boolean solicitedOnly) {
        if (armed != ANY) {
            armed = solicitedOnly ? SOLICITED : ANY;
        }
    }

    /** Where an extended queue keeps the completion that is read. */
    long current() {
        return current.address();
    }

    void free() {
        current.free();
        ring.free();
        struct.free();
    }
}
