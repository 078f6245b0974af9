package org.rdmapanama.efa.direct;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.DirectCompletionQueue;
import org.rdmapanama.internal.provider.QueuePairTable;
import org.rdmapanama.internal.provider.RingLock;

/**
 * A completion queue: one ring, or several that are read in turn. What completions say is what the driver says, also that a read
 * is a send.
 *
 * <p>Threads: one at a time polls, by a lock where several may. A batch of {@link RingCompletionVerbs} holds it from its
 * start to its end. Another thread may have completions of a queue pair removed.
 */
final class CompletionQueueRing extends DirectCompletionQueue {
    static final int ENTRY_BYTES = 32;

    /** Where the byte with the phase is. */
    static final long FLAGS = 3;

    // The first eight bytes of an entry: number of the work request, status, flags, queue pair, and length of a
    // receive.
    private static final int STATUS_SHIFT = 16;
    private static final int STATUS_MASK = 0xff;
    private static final int QUEUE_SHIFT = 25;
    private static final int QUEUE_MASK = 3;
    private static final int SENDS = 1;
    private static final int HAS_IMMEDIATE = 1 << 27;
    private static final int OPERATION_SHIFT = 28;
    private static final int OPERATION_MASK = 7;
    private static final int UNSOLICITED = 1 << 31;
    private static final int NUMBER_SHIFT = 32;
    private static final int LENGTH_SHIFT = 48;
    private static final int MASK_16 = 0xffff;

    private static final long HANDLE = 8;
    private static final long SOURCE = 10;
    private static final long IMMEDIATE = 12;

    /** The high bits of the length of a write. */
    private static final long LENGTH_OF_WRITE = 16;

    /** The GID of the sender of a message, in the same place, if it has no address handle. */
    private static final long SOURCE_GID = 16;

    /** The number of an address handle that does not exist. */
    private static final int UNKNOWN = 0xffff;

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
    private static final long WC_SLID = ibv_wc.slid$offset();
    private static final long WC_LEVEL = ibv_wc.sl$offset();

    // The doorbell: how many entries were taken, and a request for a notification.
    private static final int SEQUENCE_MASK = 3;
    private static final int SEQUENCE_SHIFT = 29;
    private static final int ARM = 1 << 31;

    private static final VarHandle SEQUENCE;

    static {
        try {
            SEQUENCE = MethodHandles.lookup().findVarHandle(CompletionQueueRing.class, "sequence", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final SubQueue[] rings;
    private final long doorbell;
    private final QueuePairTable<RingQueuePair> queuePairs = new QueuePairTable<>();
    private final RingLock lock;
    private final RingCompletionVerbs verbs;

    /** The ring that is read next. */
    private int next;

    /** How many entries were taken, of all rings. */
    private int taken;

    /** How many events were taken. Through SEQUENCE, by any thread: one that takes an event may have a batch open. */
    @SuppressWarnings("unused")
    private int sequence;

    /** The queue pair of the last completion, or null. */
    private RingQueuePair last;

    /**
     * @param start the first entry of the first ring
     * @param entries how many entries each ring has, a power of two
     * @param doorbell where the device is told what was taken; 0 if it is not
     * @param count how many rings there are
     */
    CompletionQueueRing(long completionQueue, long start, int entries, long doorbell, int count, boolean shared) {
        rings = new SubQueue[count];
        for (int i = 0; i < count; i++) {
            rings[i] = new SubQueue(start + (long) i * entries * ENTRY_BYTES, entries);
        }
        this.doorbell = doorbell;
        lock = new RingLock(shared);
        verbs = new RingCompletionVerbs(this, completionQueue);
    }

    /** Adds a new queue pair. Completions in the rings that have its number belong to an earlier queue pair, and are removed. */
    void add(RingQueuePair queuePair) {
        lock();
        try {
            last = null;
            removeEntries(queuePair.number());
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
            int count = 0;
            int error = 0;
            while (count < capacity) {
                long entry = take();
                if (entry == 0) {
                    break;
                }
                if (!decode(entry, RingMemory.known(completions) + count * WC_BYTES)) {
                    error = -Errno.EINVAL;
                    break;
                }
                count++;
            }
            if (count > 0) {
                giveBack();
            }
            return count == 0 ? error : count;
        } finally {
            unlock();
        }
    }

    /** Takes the next entry that counts, and returns its address; 0 if there is none. */
    long take() {
        SubQueue[] all = rings;
        int at = next;
        for (int empty = 0; empty < all.length; ) {
            SubQueue ring = all[at];
            long entry = ring.peek();
            at = at + 1 == all.length ? 0 : at + 1;
            if (entry == 0) {
                empty++;
                continue;
            }
            taken++;
            if (ring.take()) {
                next = at;
                return entry;
            }
            empty = 0;
        }
        return 0;
    }

    /**
     * Tells the device what was taken, if it wants to know. As libefa, after a completion was returned: the doorbell also says
     * whether an event is wanted, which a poll that returns none must leave as it is.
     */
    void giveBack() {
        if (doorbell != 0) {
            RingMemory.ring(doorbell, command(0));
        }
    }

    private int command(int arm) {
        return arm | ((int) SEQUENCE.getOpaque(this) & SEQUENCE_MASK) << SEQUENCE_SHIFT | (taken & MASK_16);
    }

    /** Returns the number of the queue pair in the first eight bytes of an entry. */
    static int queuePairNumber(long first) {
        return (int) (first >>> NUMBER_SHIFT) & MASK_16;
    }

    private static boolean isSend(long first) {
        return ((int) first >>> QUEUE_SHIFT & QUEUE_MASK) == SENDS;
    }

    private static boolean isWrite(long first) {
        return ((int) first >>> OPERATION_SHIFT & OPERATION_MASK) == SendQueueRing.OP_WRITE;
    }

    /** Whether an entry tells of a write for which no receive was taken. */
    private static boolean isUnsolicited(long first) {
        return ((int) first & UNSOLICITED) != 0 && !isSend(first);
    }

    /** Returns the queue pair of an entry; null if this knows neither it nor the work request. */
    RingQueuePair owner(long first) {
        int wanted = queuePairNumber(first);
        RingQueuePair found = last;
        if (found == null || found.number() != wanted) {
            found = queuePairs.find(wanted);
            last = found;
        }
        boolean sends = isSend(first);
        boolean known = found != null
                && found.completesIn(this, sends)
                && (isUnsolicited(first) || found.ids(sends).isKnown((int) first & MASK_16));
        return known ? found : null;
    }

    /** Returns the identifier of the work request of an entry. */
    static long identifier(RingQueuePair owner, long first) {
        return isUnsolicited(first) ? 0 : owner.ids(isSend(first)).id((int) first & MASK_16);
    }

    /**
     * Frees the place of the work request of an entry, which was read: a work request that takes the place may complete in this
     * entry.
     */
    static void release(RingQueuePair owner, long first) {
        if (!isUnsolicited(first)) {
            owner.ids(isSend(first)).giveBack((int) first & MASK_16);
        }
    }

    /** Returns a status of enum ibv_wc_status. */
    static int status(long first) {
        return Statuses.status(vendorError(first));
    }

    static int vendorError(long first) {
        return (int) first >>> STATUS_SHIFT & STATUS_MASK;
    }

    /** Returns an opcode of enum ibv_wc_opcode. */
    static int opcode(long first) {
        if (isSend(first)) {
            return isWrite(first) ? rdma_h.IBV_WC_RDMA_WRITE() : rdma_h.IBV_WC_SEND();
        }
        return isWrite(first) ? rdma_h.IBV_WC_RECV_RDMA_WITH_IMM() : rdma_h.IBV_WC_RECV();
    }

    /** Returns flags of enum ibv_wc_flags. */
    static int flags(long first) {
        return ((int) first & HAS_IMMEDIATE) == 0 ? 0 : rdma_h.IBV_WC_WITH_IMM();
    }

    /** Returns how many bytes were received; 0 for a send. */
    static int byteLength(long entry, long first) {
        if (isSend(first)) {
            return 0;
        }
        int length = (int) (first >>> LENGTH_SHIFT);
        return isWrite(first)
                ? length | Short.toUnsignedInt(RingMemory.getShort(entry + LENGTH_OF_WRITE)) << Short.SIZE
                : length;
    }

    /** Returns immediate data, as it is in memory. */
    static int immediate(long entry) {
        return Integer.reverseBytes(RingMemory.getInt(entry + IMMEDIATE));
    }

    static int sourceQueuePair(long entry) {
        return Short.toUnsignedInt(RingMemory.getShort(entry + SOURCE));
    }

    /** Returns the number of the address handle of the sender. */
    static int sourceHandle(long entry) {
        return Short.toUnsignedInt(RingMemory.getShort(entry + HANDLE));
    }

    /** Stores the GID of a sender of which the device knows no address handle. Returns false if it knows one. */
    static boolean readSourceGid(long entry, long to) {
        if (sourceHandle(entry) != UNKNOWN) {
            return false;
        }
        RingMemory.copy(entry + SOURCE_GID, to, 2 * Long.BYTES);
        return true;
    }

    /** Stores an entry as a {@code struct ibv_wc}. Returns false if it makes no sense. */
    private boolean decode(long entry, long to) {
        long first = RingMemory.getLong(entry);
        RingQueuePair owner = owner(first);
        if (owner == null) {
            return false;
        }
        RingMemory.putLong(to + WC_ID, identifier(owner, first));
        RingMemory.putInt(to + WC_STATUS, status(first));
        RingMemory.putInt(to + WC_OPCODE, opcode(first));
        RingMemory.putInt(to + WC_VENDOR_ERROR, vendorError(first));
        RingMemory.putInt(to + WC_NUMBER, owner.number());
        if (isSend(first)) {
            RingMemory.putInt(to + WC_FLAGS, 0);
        } else {
            decodeReceive(entry, first, to);
        }
        release(owner, first);
        return true;
    }

    private static void decodeReceive(long entry, long first, long to) {
        RingMemory.putInt(to + WC_FLAGS, flags(first));
        RingMemory.putInt(to + WC_BYTE_LENGTH, byteLength(entry, first));
        RingMemory.putInt(to + WC_SOURCE, sourceQueuePair(entry));
        RingMemory.putShort(to + WC_SLID, (short) sourceHandle(entry));
        RingMemory.putByte(to + WC_LEVEL, (byte) 0);
        if (flags(first) != 0) {
            RingMemory.putInt(to + WC_IMMEDIATE, immediate(entry));
        }
    }

    /** A device without notifications has no doorbell, and none knows of solicited ones. */
    @Override
    public int requestNotification(long completionQueue, boolean solicitedOnly) {
        if (doorbell == 0 || solicitedOnly) {
            return -Errno.EOPNOTSUPP;
        }
        lock();
        try {
            RingMemory.ring(doorbell, command(ARM));
            return 0;
        } finally {
            unlock();
        }
    }

    @Override
    public void eventTaken() {
        SEQUENCE.getAndAdd(this, 1);
    }

    @Override
    public CompletionVerbs completionVerbs() {
        return verbs;
    }

    /**
     * Removes the completions of a queue pair that is in state RESET or destroyed. Where another one has its number already, which
     * may be while this is called for a destroyed one, {@link #add} has removed them.
     */
    @SuppressWarnings("ReferenceEquality") // queue pairs are compared by identity
    void clear(RingQueuePair queuePair, boolean destroyed) {
        lock();
        try {
            if (queuePairs.find(queuePair.number()) == queuePair) {
                last = null;
                removeEntries(queuePair.number());
                if (destroyed) {
                    queuePairs.remove(queuePair);
                }
            }
            if (!destroyed) {
                queuePair.forget(this);
            }
        } finally {
            unlock();
        }
    }

    /**
     * Marks the entries of a queue pair as stale. The device hears of those that were taken with the next completion, or with the
     * next request for a notification: a doorbell without one could withdraw an earlier request, and the device waits for no room.
     */
    private void removeEntries(int queuePair) {
        for (SubQueue ring : rings) {
            taken += ring.clear(queuePair);
        }
    }
}
