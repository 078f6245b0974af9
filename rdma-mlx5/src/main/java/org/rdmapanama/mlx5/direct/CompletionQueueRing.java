package org.rdmapanama.mlx5.direct;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.mlx5.mlx5_cqe64;
import org.rdmapanama.ffm.mlx5.mlx5_err_cqe;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.DirectCompletionQueue;
import org.rdmapanama.internal.provider.QueuePairTable;
import org.rdmapanama.internal.provider.RingLock;

/**
 * A completion queue: entries of 64 bytes, or of 128 whose second half counts. An entry belongs to the program when its
 * owner bit says in which round the device has written it.
 *
 * <p>Threads: one at a time polls, by a lock where several may. A batch of {@link RingCompletionVerbs} holds it from its
 * start to its end. Another thread may have completions of a queue pair removed.
 */
final class CompletionQueueRing extends DirectCompletionQueue {
    static final long BYTE_COUNT = mlx5_cqe64.byte_cnt$offset();
    static final long IMMEDIATE = mlx5_cqe64.imm_inval_pkey$offset();
    static final long FLAGS = mlx5_cqe64.flags_rqpn$offset();
    static final long SLID = mlx5_cqe64.slid$offset();
    static final long PATH = mlx5_cqe64.ml_path$offset();
    static final long NUMBER = mlx5_cqe64.sop_drop_qpn$offset();
    private static final long COUNTER = mlx5_cqe64.wqe_counter$offset();
    private static final long OWNER = mlx5_cqe64.op_own$offset();
    private static final long SYNDROME = mlx5_err_cqe.syndrome$offset();
    private static final long VENDOR_ERROR = mlx5_err_cqe.vendor_err_synd$offset();
    private static final int OWNER_MASK = mlx5dv_h.MLX5_CQE_OWNER_MASK();
    private static final int MASK_24 = 0xff_ffff;
    private static final int OPERATION_SHIFT = 24;
    private static final int KIND_SHIFT = Long.SIZE - 4;

    /** What a completion is about, in the upper half of its last byte. */
    static final int REQUEST = mlx5dv_h.MLX5_CQE_REQ();

    static final int WRITE_WITH_IMMEDIATE = mlx5dv_h.MLX5_CQE_RESP_WR_IMM();
    static final int SEND = mlx5dv_h.MLX5_CQE_RESP_SEND();
    static final int SEND_WITH_IMMEDIATE = mlx5dv_h.MLX5_CQE_RESP_SEND_IMM();
    static final int SEND_WITH_INVALIDATE = mlx5dv_h.MLX5_CQE_RESP_SEND_INV();
    static final int REQUEST_FAILED = mlx5dv_h.MLX5_CQE_REQ_ERR();
    static final int RESPONSE_FAILED = mlx5dv_h.MLX5_CQE_RESP_ERR();
    private static final int INVALID = mlx5dv_h.MLX5_CQE_INVALID();

    private static final long WC_BYTES = ibv_wc.sizeof();
    private static final long WC_ID = ibv_wc.wr_id$offset();
    private static final long WC_STATUS = ibv_wc.status$offset();
    private static final long WC_OPCODE = ibv_wc.opcode$offset();
    private static final long WC_VENDOR_ERROR = ibv_wc.vendor_err$offset();
    private static final long WC_BYTE_LENGTH = ibv_wc.byte_len$offset();
    private static final long WC_IMMEDIATE = ibv_wc.imm_data$offset();
    private static final long WC_NUMBER = ibv_wc.qp_num$offset();
    private static final long WC_SOURCE = ibv_wc.src_qp$offset();
    private static final long WC_FLAGS = ibv_wc.wc_flags$offset();
    private static final long WC_PKEY = ibv_wc.pkey_index$offset();
    private static final long WC_SLID = ibv_wc.slid$offset();
    private static final long WC_LEVEL = ibv_wc.sl$offset();
    private static final long WC_PATH = ibv_wc.dlid_path_bits$offset();

    private static final int ARM_RECORD = Integer.BYTES;
    private static final int ARM_SEQUENCE_MASK = 3;
    private static final int ARM_SEQUENCE_SHIFT = 28;

    private static final VarHandle ARM_SEQUENCE;

    static {
        try {
            ARM_SEQUENCE = MethodHandles.lookup().findVarHandle(CompletionQueueRing.class, "armSequence", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The 64 bytes that count of the first entry. */
    private final long start;

    private final int entries;
    private final int mask;
    private final int entryBytes;
    private final int entryShift;

    /** The doorbell record of what was consumed, and behind it that of requests for notifications. */
    private final long record;

    private final long doorbell;
    private final int number;
    private final QueuePairTable<RingQueuePair> queuePairs = new QueuePairTable<>();

    private final RingLock lock;

    private final RingCompletionVerbs verbs;

    /** How many entries were taken. */
    private int index;

    /** How many events were taken. Through ARM_SEQUENCE, by any thread: one that takes an event may have a batch open. */
    @SuppressWarnings("unused")
    private int armSequence;

    /** The queue pair of the last completion, or null. */
    private RingQueuePair last;

    /** Where a completion queue is. */
    record Place(
            long completionQueue, long ring, int entries, int entryBytes, long records, long doorbell, int number) {}

    CompletionQueueRing(Place place, boolean shared) {
        entries = place.entries();
        mask = entries - 1;
        entryBytes = place.entryBytes();
        entryShift = Integer.numberOfTrailingZeros(entryBytes);
        start = place.ring() + entryBytes - RingMemory.BLOCK_BYTES;
        record = place.records();
        doorbell = place.doorbell() + mlx5dv_h.MLX5_CQ_DOORBELL();
        number = place.number();
        lock = new RingLock(shared);
        verbs = new RingCompletionVerbs(this, place.completionQueue());
    }

    void add(RingQueuePair queuePair) {
        lock();
        try {
            last = null;
            queuePairs.add(queuePair);
        } finally {
            unlock();
        }
    }

    /** Takes the lock, where there is one. */
    void lock() {
        lock.lock();
    }

    /** Ends {@link #lock}. */
    void unlock() {
        lock.unlock();
    }

    @Override
    public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
        lock();
        try {
            int at = index;
            long entry = entry(at);
            return capacity < 1 || !isOurs(entry, at) ? 0 : takeEntries(entry, capacity, completions);
        } finally {
            unlock();
        }
    }

    /**
     * Takes entries, of which there is one at least. A method of its own: the compiler keeps it out of loops that find the queue
     * empty almost always.
     */
    private int takeEntries(long first, int capacity, long completions) {
        long entry = first;
        int at = index;
        long to = RingMemory.known(completions);
        long end = to + capacity * WC_BYTES;
        // Not a loop that counts: the compiler would split it, which costs more than a few entries.
        do {
            // What else the entry says is read after it is known to be complete.
            VarHandle.acquireFence();
            at++;
            if (!decode(entry, RingMemory.known(to))) {
                index = at;
                giveBack();
                return -Errno.EIO;
            }
            to += WC_BYTES;
            entry = entry(at);
        } while (to != end && isOurs(entry, at));
        int count = at - index;
        index = at;
        giveBack();
        return count;
    }

    /** Takes the next entry, and returns the address of its 64 bytes; 0 if there is none. */
    long take() {
        long entry = entry(index);
        if (!isOurs(entry, index)) {
            return 0;
        }
        // What else the entry says is read after it is known to be complete.
        VarHandle.acquireFence();
        index++;
        return entry;
    }

    boolean isEmpty() {
        return !isOurs(entry(index), index);
    }

    private long entry(int at) {
        return RingMemory.known(start + (Integer.toUnsignedLong(at & mask) << entryShift));
    }

    private boolean isOurs(long entry, int at) {
        int state = RingMemory.getOpaque(entry + OWNER);
        int round = (at & entries) == 0 ? 0 : 1;
        return (state & OWNER_MASK) == round && (state >> 4 & 0xf) != INVALID;
    }

    /** Lets the device write where entries were taken. */
    void giveBack() {
        RingMemory.publish(record, index & MASK_24);
    }

    /** Returns what an entry is about. */
    static int kind(long entry) {
        return RingMemory.getByte(entry + OWNER) >> 4 & 0xf;
    }

    static int counter(long entry) {
        return Short.toUnsignedInt(Short.reverseBytes(RingMemory.getShort(entry + COUNTER)));
    }

    static int queuePairNumber(long entry) {
        return RingMemory.getNetworkInt(entry + NUMBER) & MASK_24;
    }

    /** Returns the device's operation code of a work request that has completed. */
    static int operation(long entry) {
        return RingMemory.getNetworkInt(entry + NUMBER) >>> 24;
    }

    /** Returns the queue pair with a number, or null. */
    private RingQueuePair queuePair(int wanted) {
        RingQueuePair found = last;
        if (found == null || found.number() != wanted) {
            found = queuePairs.find(wanted);
            last = found;
        }
        return found;
    }

    /** Returns the queue pair of an entry; null if this does not know it, or what the entry is about. */
    RingQueuePair owner(long entry, int kind) {
        return kind <= SEND_WITH_INVALIDATE || kind == REQUEST_FAILED || kind == RESPONSE_FAILED
                ? queuePair(queuePairNumber(entry))
                : null;
    }

    /** Frees the place of the work request of an entry, and returns its identifier. */
    static long release(RingQueuePair owner, long entry, int kind) {
        int counter = counter(entry);
        if (kind == REQUEST || kind == REQUEST_FAILED) {
            return owner.sends().complete(counter);
        }
        return owner.takeReceive(counter);
    }

    /** Stores an entry as a {@code struct ibv_wc}. Returns false if it makes no sense. */
    private boolean decode(long entry, long to) {
        // Its last eight bytes: operation, queue pair, number of the work request, and in the upper half of the last
        // byte
        // what it is about.
        long end = RingMemory.getLong(entry + NUMBER);
        int kind = (int) (end >>> KIND_SHIFT);
        if (kind != REQUEST) {
            return decodeRare(entry, kind, to);
        }
        int operationAndNumber = Integer.reverseBytes((int) end);
        RingQueuePair owner = queuePair(operationAndNumber & MASK_24);
        if (owner == null) {
            return false;
        }
        int operation = operationAndNumber >>> OPERATION_SHIFT;
        // The status, which is 0, and the opcode.
        RingMemory.putLong(to + WC_STATUS, (long) opcodeOfRequest(operation) << Integer.SIZE);
        RingMemory.putInt(to + WC_NUMBER, operationAndNumber & MASK_24);
        RingMemory.putInt(to + WC_FLAGS, flagsOfRequest(operation));
        if (operation == SendQueueRing.OP_READ) {
            RingMemory.putInt(to + WC_BYTE_LENGTH, RingMemory.getNetworkInt(entry + BYTE_COUNT));
        } else if (SendQueueRing.isAtomic(operation)) {
            RingMemory.putInt(to + WC_BYTE_LENGTH, Long.BYTES);
        }
        RingMemory.putLong(to + WC_ID, owner.sends().complete(Short.reverseBytes((short) (end >>> Integer.SIZE))));
        return true;
    }

    /** Does so for an entry that is not about a send that succeeded. */
    private boolean decodeRare(long entry, int kind, long to) {
        RingQueuePair owner = owner(entry, kind);
        if (owner == null) {
            return false;
        }
        RingMemory.putLong(to + WC_ID, release(owner, entry, kind));
        RingMemory.putInt(to + WC_NUMBER, owner.number());
        RingMemory.putInt(to + WC_STATUS, status(entry, kind));
        RingMemory.putInt(to + WC_FLAGS, flags(entry, kind));
        if (kind == REQUEST_FAILED || kind == RESPONSE_FAILED) {
            RingMemory.putInt(to + WC_VENDOR_ERROR, vendorError(entry));
        } else {
            decodeReceive(entry, kind, to);
        }
        return true;
    }

    private static void decodeReceive(long entry, int kind, long to) {
        RingMemory.putInt(to + WC_OPCODE, opcodeOfReceive(kind));
        RingMemory.putInt(to + WC_BYTE_LENGTH, RingMemory.getNetworkInt(entry + BYTE_COUNT));
        int value = RingMemory.getInt(entry + IMMEDIATE);
        if (kind != SEND) {
            RingMemory.putInt(to + WC_IMMEDIATE, kind == SEND_WITH_INVALIDATE ? Integer.reverseBytes(value) : value);
        }
        int flags = RingMemory.getNetworkInt(entry + FLAGS);
        RingMemory.putShort(to + WC_SLID, Short.reverseBytes(RingMemory.getShort(entry + SLID)));
        RingMemory.putByte(to + WC_LEVEL, (byte) (flags >> 24 & 0xf));
        RingMemory.putInt(to + WC_SOURCE, flags & MASK_24);
        RingMemory.putByte(to + WC_PATH, (byte) (RingMemory.getByte(entry + PATH) & 0x7f));
        RingMemory.putShort(to + WC_PKEY, (short) Integer.reverseBytes(value));
    }

    /** Returns a status of enum ibv_wc_status. */
    static int status(long entry, int kind) {
        return kind == REQUEST_FAILED || kind == RESPONSE_FAILED
                ? Syndrome.status(Byte.toUnsignedInt(RingMemory.getByte(entry + SYNDROME)))
                : rdma_h.IBV_WC_SUCCESS();
    }

    static int vendorError(long entry) {
        return Byte.toUnsignedInt(RingMemory.getByte(entry + VENDOR_ERROR));
    }

    /** Returns flags of enum ibv_wc_flags. */
    static int flags(long entry, int kind) {
        if (kind == REQUEST) {
            return flagsOfRequest(operation(entry));
        }
        if (kind > SEND_WITH_INVALIDATE) {
            return 0;
        }
        int header = (RingMemory.getNetworkInt(entry + FLAGS) >> 28 & 3) == 0 ? 0 : rdma_h.IBV_WC_GRH();
        if (kind == SEND_WITH_INVALIDATE) {
            return header | rdma_h.IBV_WC_WITH_INV();
        }
        return kind == SEND ? header : header | rdma_h.IBV_WC_WITH_IMM();
    }

    private static int flagsOfRequest(int operation) {
        return operation == SendQueueRing.OP_SEND_IMM || operation == SendQueueRing.OP_WRITE_IMM
                ? rdma_h.IBV_WC_WITH_IMM()
                : 0;
    }

    /** Returns an opcode of enum ibv_wc_opcode, for an operation of the device. */
    static int opcodeOfRequest(int operation) {
        if (operation == SendQueueRing.OP_WRITE || operation == SendQueueRing.OP_WRITE_IMM) {
            return rdma_h.IBV_WC_RDMA_WRITE();
        }
        if (operation == SendQueueRing.OP_READ) {
            return rdma_h.IBV_WC_RDMA_READ();
        }
        if (operation == SendQueueRing.OP_COMPARE_SWAP) {
            return rdma_h.IBV_WC_COMP_SWAP();
        }
        return operation == SendQueueRing.OP_FETCH_ADD ? rdma_h.IBV_WC_FETCH_ADD() : rdma_h.IBV_WC_SEND();
    }

    /** Returns an opcode of enum ibv_wc_opcode, for a kind of completion of a receive. */
    static int opcodeOfReceive(int kind) {
        return kind == WRITE_WITH_IMMEDIATE ? rdma_h.IBV_WC_RECV_RDMA_WITH_IMM() : rdma_h.IBV_WC_RECV();
    }

    @Override
    public int requestNotification(long completionQueue, boolean solicitedOnly) {
        lock();
        try {
            int command = ((int) ARM_SEQUENCE.getOpaque(this) & ARM_SEQUENCE_MASK) << ARM_SEQUENCE_SHIFT
                    | (solicitedOnly ? mlx5dv_h.MLX5_CQ_DB_REQ_NOT_SOL() : mlx5dv_h.MLX5_CQ_DB_REQ_NOT())
                    | (index & MASK_24);
            RingMemory.publish(record + ARM_RECORD, command);
            long value = (long) command << Integer.SIZE | Integer.toUnsignedLong(number);
            RingMemory.ring(record, doorbell, Long.reverseBytes(value));
            return 0;
        } finally {
            unlock();
        }
    }

    @Override
    public void eventTaken() {
        ARM_SEQUENCE.getAndAdd(this, 1);
    }

    @Override
    public CompletionVerbs completionVerbs() {
        return verbs;
    }

    /** Removes the completions of a queue pair that is in state RESET or destroyed, as the driver would do. */
    void clear(RingQueuePair queuePair, boolean destroyed) {
        lock();
        try {
            int end = index;
            while (end - index < entries && isOurs(entry(end), end)) {
                end++;
            }
            VarHandle.acquireFence();
            int removed = 0;
            for (int at = end - 1; at - index >= 0; at--) {
                long entry = entry(at);
                if (queuePairNumber(entry) == queuePair.number()) {
                    removed++;
                    if (queuePair.sharesReceives() && isReceive(kind(entry))) {
                        queuePair.takeReceive(counter(entry));
                    }
                } else if (removed > 0) {
                    move(entry, entry(at + removed));
                }
            }
            if (removed > 0) {
                index += removed;
                giveBack();
            }
        } finally {
            last = null;
            if (destroyed) {
                queuePairs.remove(queuePair);
            }
            unlock();
        }
    }

    private static boolean isReceive(int kind) {
        return (kind >= WRITE_WITH_IMMEDIATE && kind <= SEND_WITH_INVALIDATE) || kind == RESPONSE_FAILED;
    }

    /** Copies an entry to a later place, whose owner bit stays. */
    private void move(long from, long to) {
        int owner = RingMemory.getByte(to + OWNER) & OWNER_MASK;
        int before = entryBytes - RingMemory.BLOCK_BYTES;
        RingMemory.copy(from - before, to - before, entryBytes);
        RingMemory.putByte(to + OWNER, (byte) ((RingMemory.getByte(to + OWNER) & ~OWNER_MASK) | owner));
    }
}
