package org.rdmapanama.soft;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.soft.events.CompletionQueueOverrun;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.memory.Ring;

/**
 * A completion queue: a ring of {@code struct ibv_wc}. The device adds completions with its lock held; polling threads
 * take them out under a separate lock of the queue. Checking whether it is empty takes no lock.
 *
 * <p>If a completion finds no room, it is lost, and nobody can tell what it was: {@link CompletionLoss} ends the queue pairs.
 */
final class SoftCompletionQueue {
    private static final Logger LOG = Logging.logger(SoftCompletionQueue.class);

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

    private static final String OVERRUN = "{}: a completion queue of {} entries has overrun, and its queue pairs fail;"
            + " create it with more entries, poll it more often, or post fewer work requests at a time";

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

    /** The memory of the C structure. */
    final NativeBlock struct;

    final int number;
    final SoftCompletionChannel channel;

    /** The fields that may be read of an extended queue, of enum ibv_create_cq_wc_flags. */
    final int fields;

    private final SoftContext context;

    private final SpinLock consumers = new SpinLock();
    private final NativeBlock current = new NativeBlock(WC_BYTES);
    private Ring ring;

    /** The next slot to fill; published after it is filled. */
    private int head;

    /** The next slot to read. Guarded by the consumers' lock. */
    private volatile int tail;

    private int armed;
    private boolean overrun;

    /** How many queue pairs complete here. Guarded by the lock of the device. */
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

    /** Returns the capacity, in completions. */
    int capacity() {
        return (int) ring.places() - 1;
    }

    /** Resizes the queue, keeping its completions. Needs the lock of the device. Returns false if they do not fit. */
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

    /** Moves up to {@code most} completions into an array of struct ibv_wc. Returns how many. */
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

    /**
     * Adds a completion. Needs the lock of the device.
     *
     * @return false if there was no room, so that the completion is lost
     */
    boolean add(
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
            tellOverrun();
            return false;
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
        // The P_Key index and the LID fields, which RoCE does not have.
        Memory.putLong(at + PKEY_INDEX, 0);
        HEAD.setRelease(this, head + 1);
        context.device().engine.completed();
        if (armed == ANY || (armed == SOLICITED && (solicited || status != VerbsConstants.SUCCESS))) {
            armed = NOT_ARMED;
            if (channel != null) {
                channel.tell(struct.address());
            }
        }
        return true;
    }

    private void tellOverrun() {
        if (!overrun) {
            overrun = true;
            LOG.warn(OVERRUN, SoftDevice.NAME, capacity());
            // A program that has taken the asynchronous event finds this one in a recording.
            CompletionQueueOverrun.tell(SoftDevice.NAME, number, capacity());
            context.asyncEvent(rdma_h.IBV_EVENT_CQ_ERR(), struct.address());
        }
    }

    /** Requests an event for the next completion. Needs the lock of the device. */
    void arm(boolean solicitedOnly) {
        if (armed != ANY) {
            armed = solicitedOnly ? SOLICITED : ANY;
        }
    }

    /** Returns the address of the current completion of an extended queue. */
    long current() {
        return current.address();
    }

    /** Frees everything except the C structure, whose address identifies events. */
    void free() {
        current.free();
        ring.free();
    }
}
