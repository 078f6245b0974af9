package org.rdmapanama.efa.direct;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.DirectPath.QueuePairParts;
import org.rdmapanama.internal.provider.RingLock;
import org.rdmapanama.queue.QueuePairType;

/**
 * The send queue of a queue pair: entries of 64 bytes, or of 128 where more inline data was asked for, in the memory of the
 * device. {@link #post} encodes chains of {@code struct ibv_send_wr}, and stores usual ones there at once. {@link RingSendVerbs}
 * encodes the calls of a work request builder, which may still abort: these are built in memory of this and then copied, as is what
 * is not usual.
 *
 * <p>An entry, {@code struct efa_io_tx_wqe}, begins with four words of eight bytes. What follows is the data of a send, or the
 * remote memory of a read or write and then its data.
 *
 * <p>Threads: one at a time posts, by a lock where several may. The thread that takes completions calls {@link #ids} at the
 * same time.
 */
final class SendQueueRing {
    static final int ENTRY_BYTES = 64;
    private static final int ENTRY_SHIFT = 6;
    static final int LARGE_ENTRY_BYTES = 128;

    private static final long NEXT = ibv_send_wr.next$offset();
    private static final long WR_ID = ibv_send_wr.wr_id$offset();
    private static final long OPCODE = ibv_send_wr.opcode$offset();
    private static final long FLAGS = ibv_send_wr.send_flags$offset();
    private static final long SEGMENTS = ibv_send_wr.num_sge$offset();
    private static final long LIST = ibv_send_wr.sg_list$offset();
    private static final long IMMEDIATE = ibv_send_wr.imm_data$offset();
    private static final long KIND = ibv_send_wr.wr$offset();
    private static final long HANDLE = KIND + ibv_send_wr.wr.ud.ah$offset();
    private static final long REMOTE_QPN = KIND + ibv_send_wr.wr.ud.remote_qpn$offset();
    private static final long REMOTE_QKEY = KIND + ibv_send_wr.wr.ud.remote_qkey$offset();

    static final long SGE_BYTES = ibv_sge.sizeof();
    static final long SGE_ADDRESS = ibv_sge.addr$offset();

    /** The length, and behind it the local key. */
    static final long SGE_LENGTH = ibv_sge.length$offset();

    private static final int WR_SEND = rdma_h.IBV_WR_SEND();
    private static final int WR_SEND_WITH_IMM = rdma_h.IBV_WR_SEND_WITH_IMM();
    private static final int SIGNALED = rdma_h.IBV_SEND_SIGNALED();
    private static final int INLINE = rdma_h.IBV_SEND_INLINE();
    private static final int READY = rdma_h.IBV_QPS_RTS();
    private static final int DRAINED = rdma_h.IBV_QPS_SQD();

    // Operations of the device: the low bits of the first control byte.
    static final int OP_SEND = 0;
    static final int OP_READ = 1;
    static final int OP_WRITE = 2;

    // The control bytes of an entry, as bits of its first word.
    private static final long OPERATION_SHIFT = 16;
    private static final long HAS_IMMEDIATE = 1L << 20;
    private static final long IS_INLINE = 1L << 21;
    private static final long IS_META = 1L << 23;
    private static final long PHASE_SHIFT = 24;
    private static final long FIRST_LAST_AND_SIGNALED = 0b11100L << 24;
    private static final long NUMBER_SHIFT = 32;
    private static final long LENGTH_SHIFT = 48;
    private static final int NUMBER_MASK = 0xffff;

    private static final long SECOND_WORD = 8;
    private static final long THIRD_WORD = 16;
    private static final long FOURTH_WORD = 24;
    private static final int DATA = 32;

    /** What fits behind that in an entry of 64 bytes. */
    private static final int USUAL_SEGMENTS = 2;

    /** {@code struct efa_io_remote_mem_addr}, and {@code struct efa_io_tx_buf_desc}: length, key, address. */
    private static final long BUFFER_BYTES = 16;

    private static final long BUFFER_ADDRESS = 8;

    /** Local keys have 24 bits, in the high half of the word with the length. */
    private static final long LENGTH_AND_KEY = 0x00ff_ffff_ffff_ffffL;

    /** Reads and writes have one segment. */
    private static final int REMOTE_SEGMENTS = 1;

    private final long ring;
    private final int mask;
    private final int shift;
    private final int entryBytes;
    private final long doorbell;
    private final int maxBatch;

    /** Where the driver keeps the state of the queue pair. */
    private final long state;

    private final int maxSegments;
    private final int maxInline;
    private final boolean reliable;
    private final boolean signalAll;
    private final RingLock lock;
    private final RequestIds ids;
    private final AddressNumbers addresses = new AddressNumbers();

    /** Where entries are built, each in the place that it has in the ring. */
    private final MemorySegment draft;

    private final long draftStart;

    /** The next entry, counted on without wrapping around. */
    private int position;

    /** How often the ring had come to its end when {@link #position} was 0: the device counts on. */
    private int rounds;

    /** Up to where entries were announced. */
    private int announced;

    // The work request under construction.
    private long entry;
    private long control;
    private long data;
    private long immediate;
    private long destination;
    private int qkey;
    private long remoteKey;
    private int segmentsAllowed;

    /**
     * Where the ring of a queue pair is.
     *
     * @param entries how many it has, a power of two
     * @param maxBatch how many entries a doorbell may announce
     */
    record Place(long ring, int entries, int entryBytes, long doorbell, int maxBatch) {}

    SendQueueRing(Place place, long state, QueuePairType type, QueuePairParts parts, AtomicInteger generations) {
        ring = place.ring();
        mask = place.entries() - 1;
        shift = Integer.numberOfTrailingZeros(place.entries());
        entryBytes = place.entryBytes();
        doorbell = place.doorbell();
        maxBatch = Math.max(1, place.maxBatch());
        this.state = state;
        maxSegments = parts.granted().maxSendSegments();
        maxInline = parts.granted().maxInlineData();
        reliable = type == QueuePairType.DRIVER;
        signalAll = parts.signalAll();
        lock = new RingLock(parts.shared());
        ids = new RequestIds(place.entries(), generations);
        draft = Arena.ofAuto().allocate((long) place.entries() * entryBytes, LARGE_ENTRY_BYTES);
        draftStart = draft.address();
    }

    /** Returns the work requests that are outstanding. */
    RequestIds ids() {
        return ids;
    }

    /** Takes the lock, where there is one: {@link #post} does it itself. */
    void lock() {
        lock.lock();
    }

    /** Ends {@link #lock}. */
    void unlock() {
        lock.unlock();
    }

    /** Posts a chain of {@code struct ibv_send_wr}, as ibv_post_send does. */
    int post(long first, long bad) {
        lock();
        try {
            int error = 0;
            for (long wr = first; wr != 0; wr = RingMemory.getLong(RingMemory.known(wr) + NEXT)) {
                error = encode(RingMemory.known(wr));
                if (error != 0) {
                    RingMemory.putLong(bad, wr);
                    break;
                }
                if (position - announced == maxBatch) {
                    announce(position);
                }
            }
            if (position != announced) {
                announce(position);
            }
            return error;
        } catch (RuntimeException | Error e) {
            // Memory of inline data may be that of a file which has become shorter.
            rollBack();
            throw e;
        } finally {
            unlock();
        }
    }

    private int encode(long wr) {
        int flags = RingMemory.getInt(wr + FLAGS);
        int error = refusal(flags);
        if (error != 0) {
            return error;
        }
        int opcode = RingMemory.getInt(wr + OPCODE);
        if (opcode != WR_SEND && opcode != WR_SEND_WITH_IMM) {
            return -Errno.EINVAL;
        }
        int count = RingMemory.getInt(wr + SEGMENTS);
        boolean usual = (flags & INLINE) == 0 && entryBytes == ENTRY_BYTES && count <= USUAL_SEGMENTS;
        return usual ? encodeUsual(wr, opcode, count) : encodeRare(wr, opcode, flags, count);
    }

    /**
     * Stores an entry into the device. It keeps everything in local variables, and stores each word once: the compiler stops
     * inlining into a method once it has become too large, and an access to memory is large.
     */
    private int encodeUsual(long wr, int opcode, int count) {
        if (count > maxSegments) {
            return -Errno.EINVAL;
        }
        long firstLength = 0;
        long firstAddress = 0;
        long secondLength = 0;
        long secondAddress = 0;
        if (count > 0) {
            long list = RingMemory.known(RingMemory.getLong(wr + LIST));
            firstLength = RingMemory.getLong(list + SGE_LENGTH) & LENGTH_AND_KEY;
            firstAddress = RingMemory.getLong(list + SGE_ADDRESS);
            if (count > 1) {
                secondLength = RingMemory.getLong(list + SGE_BYTES + SGE_LENGTH) & LENGTH_AND_KEY;
                secondAddress = RingMemory.getLong(list + SGE_BYTES + SGE_ADDRESS);
            }
        }
        long second = addressBits(RingMemory.getLong(wr + HANDLE));
        long first = control(OP_SEND)
                | (long) count << LENGTH_SHIFT
                | queuePairBits(RingMemory.getInt(wr + REMOTE_QPN))
                | ids.take(RingMemory.getLong(wr + WR_ID));
        if (opcode == WR_SEND_WITH_IMM) {
            first |= HAS_IMMEDIATE;
            second |= immediateBits(RingMemory.getInt(wr + IMMEDIATE));
        }
        long third = Integer.toUnsignedLong(RingMemory.getInt(wr + REMOTE_QKEY));
        long to = RingMemory.known(ring + ((long) (position & mask) << ENTRY_SHIFT));
        RingMemory.putToDevice(to, first);
        RingMemory.putToDevice(to + SECOND_WORD, second);
        RingMemory.putToDevice(to + THIRD_WORD, third);
        RingMemory.putToDevice(to + FOURTH_WORD, 0);
        RingMemory.putToDevice(to + DATA, firstLength);
        RingMemory.putToDevice(to + DATA + BUFFER_ADDRESS, firstAddress);
        RingMemory.putToDevice(to + DATA + BUFFER_BYTES, secondLength);
        RingMemory.putToDevice(to + DATA + BUFFER_BYTES + BUFFER_ADDRESS, secondAddress);
        position++;
        return 0;
    }

    private int encodeRare(long wr, int opcode, int flags, int count) {
        begin(OP_SEND);
        if (opcode == WR_SEND_WITH_IMM) {
            immediate(RingMemory.getInt(wr + IMMEDIATE));
        }
        long list = RingMemory.getLong(wr + LIST);
        int error = (flags & INLINE) == 0 ? putSegments(list, count) : putInline(list, count);
        if (error != 0) {
            return error;
        }
        putAddress(
                RingMemory.getLong(wr + HANDLE),
                RingMemory.getInt(wr + REMOTE_QPN),
                RingMemory.getInt(wr + REMOTE_QKEY));
        finish(RingMemory.getLong(wr + WR_ID));
        copy(position - 1);
        return 0;
    }

    /** Whether the queue pair can do an operation of the device. */
    boolean allows(int operation) {
        return operation == OP_SEND || reliable;
    }

    /** Returns why no work request with these flags may begin, a negated errno, or 0. */
    int refusal(int flags) {
        int now = RingMemory.getInt(state);
        if (now != READY && now != DRAINED) {
            return -Errno.EINVAL;
        }
        if (((flags & SIGNALED) == 0 && !signalAll) || (flags & ~(SIGNALED | INLINE)) != 0) {
            return -Errno.EINVAL;
        }
        return ids.isFull() ? -Errno.ENOMEM : 0;
    }

    /**
     * Begins a work request. It is written by words of eight bytes, as it is read when it is copied: the processor waits where it
     * reads a word that was stored in parts.
     */
    void begin(int operation) {
        entry = RingMemory.known(draftStart + (long) (position & mask) * entryBytes);
        RingMemory.zero(entry + DATA, entryBytes - DATA);
        control = control(operation);
        data = entry + DATA;
        immediate = 0;
        destination = 0;
        qkey = 0;
        remoteKey = 0;
        segmentsAllowed = maxSegments;
    }

    /** Returns the first word of the next entry, without what differs between work requests of the same operation. */
    private long control(int operation) {
        long phase = Integer.toUnsignedLong(rounds + (position >>> shift)) & 1;
        return IS_META | FIRST_LAST_AND_SIGNALED | phase << PHASE_SHIFT | (long) operation << OPERATION_SHIFT;
    }

    /** Begins a work request that reads or writes remote memory, by one segment. */
    void begin(int operation, int rkey, long remote) {
        begin(operation);
        remoteKey = (long) rkey << Integer.SIZE;
        RingMemory.putLong(data + BUFFER_ADDRESS, remote);
        data += BUFFER_BYTES;
        segmentsAllowed = REMOTE_SEGMENTS;
    }

    private boolean isRemote() {
        return data != entry + DATA;
    }

    /** Sets the immediate data, as it is in memory. */
    void immediate(int value) {
        control |= HAS_IMMEDIATE;
        immediate = immediateBits(value);
    }

    private static long immediateBits(int value) {
        return Integer.toUnsignedLong(Integer.reverseBytes(value));
    }

    /** Sets the destination. */
    void putAddress(long handle, int queuePair, int key) {
        control |= queuePairBits(queuePair);
        destination = addressBits(handle);
        qkey = key;
    }

    private static long queuePairBits(int number) {
        return (long) (number & NUMBER_MASK) << NUMBER_SHIFT;
    }

    private long addressBits(long handle) {
        return (long) addresses.of(handle) << Integer.SIZE;
    }

    /** Stores the data segments. Returns a negated errno if they are too many, or 0. */
    int putSegments(long list, int count) {
        if (count > segmentsAllowed) {
            return -Errno.EINVAL;
        }
        int bytes = 0;
        for (int i = 0; i < count; i++) {
            long sge = list + i * SGE_BYTES;
            long lengthAndKey = RingMemory.getLong(sge + SGE_LENGTH);
            putBuffer(data + i * BUFFER_BYTES, lengthAndKey, RingMemory.getLong(sge + SGE_ADDRESS));
            bytes += (int) lengthAndKey;
        }
        endData(count, bytes);
        return 0;
    }

    /**
     * Stores the only data segment.
     *
     * @param lengthAndKey length and local key of the data, the length in the low half
     */
    void putSegment(long lengthAndKey, long address) {
        putBuffer(data, lengthAndKey, address);
        endData(1, (int) lengthAndKey);
    }

    private static void putBuffer(long to, long lengthAndKey, long address) {
        RingMemory.putLong(to, lengthAndKey & LENGTH_AND_KEY);
        RingMemory.putLong(to + BUFFER_ADDRESS, address);
    }

    /**
     * Notes how much data there is.
     *
     * @param length the number of segments, or of inline bytes
     * @param bytes the number of bytes
     */
    private void endData(int length, int bytes) {
        control |= (long) length << LENGTH_SHIFT;
        if (isRemote()) {
            RingMemory.putLong(entry + DATA, remoteKey | Integer.toUnsignedLong(bytes));
        }
    }

    private int putInline(long list, int count) {
        long total = 0;
        for (int i = 0; i < count; i++) {
            total += Integer.toUnsignedLong(RingMemory.getInt(list + i * SGE_BYTES + SGE_LENGTH));
        }
        if (!takesInline(total)) {
            return -Errno.EINVAL;
        }
        long to = data;
        for (int i = 0; i < count; i++) {
            long sge = list + i * SGE_BYTES;
            int length = RingMemory.getInt(sge + SGE_LENGTH);
            putInline(RingMemory.getLong(sge + SGE_ADDRESS), to, length);
            to += length;
        }
        endInline((int) total);
        return 0;
    }

    /** Whether the work request may have so much inline data: reads and writes have none. */
    boolean takesInline(long bytes) {
        return bytes <= maxInline && !isRemote();
    }

    /** Returns where inline data begins. */
    long inlineStart() {
        return data;
    }

    /** Copies inline data, of which {@link #takesInline} has been asked. */
    static void putInline(long from, long to, long bytes) {
        RingMemory.copy(from, to, bytes);
    }

    /** Ends inline data. */
    void endInline(int bytes) {
        control |= IS_INLINE;
        endData(bytes, bytes);
    }

    /** Ends a work request: {@link #ring} announces it. */
    void finish(long id) {
        RingMemory.putLong(entry, control | ids.take(id));
        RingMemory.putLong(entry + SECOND_WORD, immediate | destination);
        RingMemory.putLong(entry + THIRD_WORD, Integer.toUnsignedLong(qkey));
        position++;
    }

    /** Hands finished work requests to the device. */
    void ring() {
        for (int at = announced; at != position; ) {
            copy(at);
            at++;
            if (at - announced == maxBatch || at == position) {
                announce(at);
            }
        }
    }

    private void copy(int at) {
        long offset = (long) (at & mask) * entryBytes;
        RingMemory.copyToDevice(draftStart + offset, ring + offset, entryBytes);
    }

    /** Tells the device of the entries before a position, which were stored there. */
    private void announce(int to) {
        ids.announce();
        announced = to;
        RingMemory.flush(draftStart);
        RingMemory.ring(doorbell, to & NUMBER_MASK);
    }

    /** Forgets work requests that were not handed to the device. */
    void rollBack() {
        ids.untake(position - announced);
        position = announced;
    }

    /** Forgets everything: the queue pair is in state RESET. */
    void reset() {
        lock();
        try {
            rounds += position >>> shift;
            position = 0;
            announced = 0;
            ids.reset();
        } finally {
            unlock();
        }
    }
}
