package org.rdmapanama.mlx5.direct;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.RingLock;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairType;

/**
 * The send queue of a queue pair: blocks of 64 bytes. A work request begins with a block and may wrap around at the end.
 * {@link #post} encodes chains of {@code struct ibv_send_wr}; {@link RingSendVerbs} encodes the calls of a work request
 * builder.
 *
 * <p>Threads: one at a time posts, by a lock where several may. The thread that takes completions calls {@link #complete}
 * at the same time.
 */
final class SendQueueRing {
    private static final long NEXT = ibv_send_wr.next$offset();
    private static final long WR_ID = ibv_send_wr.wr_id$offset();
    private static final long OPCODE = ibv_send_wr.opcode$offset();
    private static final long FLAGS = ibv_send_wr.send_flags$offset();
    private static final long SEGMENTS = ibv_send_wr.num_sge$offset();
    private static final long LIST = ibv_send_wr.sg_list$offset();
    private static final long IMMEDIATE = ibv_send_wr.imm_data$offset();
    private static final long KIND = ibv_send_wr.wr$offset();
    private static final long REMOTE_ADDRESS = KIND + ibv_send_wr.wr.rdma.remote_addr$offset();
    private static final long RKEY = KIND + ibv_send_wr.wr.rdma.rkey$offset();
    private static final long COMPARE_ADD = KIND + ibv_send_wr.wr.atomic.compare_add$offset();
    private static final long SWAP = KIND + ibv_send_wr.wr.atomic.swap$offset();
    private static final long ATOMIC_RKEY = KIND + ibv_send_wr.wr.atomic.rkey$offset();
    private static final long HANDLE = KIND + ibv_send_wr.wr.ud.ah$offset();
    private static final long REMOTE_QPN = KIND + ibv_send_wr.wr.ud.remote_qpn$offset();
    private static final long REMOTE_QKEY = KIND + ibv_send_wr.wr.ud.remote_qkey$offset();

    static final long SGE_BYTES = ibv_sge.sizeof();
    static final long SGE_ADDRESS = ibv_sge.addr$offset();

    /** The length, and behind it the local key. */
    static final long SGE_LENGTH = ibv_sge.length$offset();

    private static final int SIGNALED = rdma_h.IBV_SEND_SIGNALED();
    private static final int SOLICITED = rdma_h.IBV_SEND_SOLICITED();
    private static final int FENCE = rdma_h.IBV_SEND_FENCE();
    private static final int INLINE = rdma_h.IBV_SEND_INLINE();

    static final int OP_SEND = mlx5dv_h.MLX5_OPCODE_SEND();
    static final int OP_SEND_IMM = mlx5dv_h.MLX5_OPCODE_SEND_IMM();
    static final int OP_SEND_INVAL = mlx5dv_h.MLX5_OPCODE_SEND_INVAL();
    static final int OP_WRITE = mlx5dv_h.MLX5_OPCODE_RDMA_WRITE();
    static final int OP_WRITE_IMM = mlx5dv_h.MLX5_OPCODE_RDMA_WRITE_IMM();
    static final int OP_READ = mlx5dv_h.MLX5_OPCODE_RDMA_READ();
    static final int OP_COMPARE_SWAP = mlx5dv_h.MLX5_OPCODE_ATOMIC_CS();
    static final int OP_FETCH_ADD = mlx5dv_h.MLX5_OPCODE_ATOMIC_FA();
    private static final int OP_NONE = -1;

    private static final long PLAIN = 1L << OP_SEND
            | 1L << OP_SEND_IMM
            | 1L << OP_SEND_INVAL
            | 1L << OP_WRITE
            | 1L << OP_WRITE_IMM
            | 1L << OP_READ;
    private static final long ATOMIC = 1L << OP_COMPARE_SWAP | 1L << OP_FETCH_ADD;

    private static final int CQ_UPDATE = mlx5dv_h.MLX5_WQE_CTRL_CQ_UPDATE();
    private static final int SOLICIT = mlx5dv_h.MLX5_WQE_CTRL_SOLICITED();
    private static final int ORDER = mlx5dv_h.MLX5_WQE_CTRL_FENCE();
    private static final int INLINE_SEGMENT = mlx5dv_h.MLX5_INLINE_SEG();
    private static final int EXTENDED_ADDRESS = mlx5dv_h.MLX5_EXTENDED_UD_AV();
    private static final int ADDRESS_BYTES = 48;

    /** Of the first eight bytes of a work request, how many segments it has. */
    private static final int SEGMENT_COUNT = 0x3f;

    private static final int ATOMIC_BYTES = 8;

    /** The doorbell record of sends is behind that of receives. */
    private static final long RECORD = (long) mlx5dv_h.MLX5_SND_DBR() * Integer.BYTES;

    /** By enum ibv_wr_opcode. */
    private static final int[] OPERATIONS = operations();

    private static final VarHandle TAIL;

    static {
        try {
            TAIL = MethodHandles.lookup().findVarHandle(SendQueueRing.class, "tail", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final AddressVectors vectors;
    private final long start;
    private final long end;
    private final int mask;
    private final long record;
    private final long doorbell;
    private final boolean uncached;

    /** Null outside thread domains, and where the register takes no work requests. */
    private final BlueFlame blueFlame;

    private final int numberBits;
    private final int mostPosted;
    private final int maxSegments;
    private final int maxInline;
    private final boolean datagrams;

    /** The operations of the device that the queue pair can do: one bit for each. */
    private final long allowed;

    /** Those of them that {@link #encodePlain} takes. */
    private final long plain;

    private final int alwaysSignaled;

    private final RingLock lock;

    /** By the block in which the work request begins. */
    private final long[] ids;

    /** The number of the work request, counted from 0, by the block in which it begins. */
    private final int[] numbers;

    /** The next block, counted on without wrapping around. */
    private int position;

    /** How many work requests were written to the ring, with those that are not yet handed to the device. */
    private int head;

    /** {@link #position} and {@link #head} at the last {@link #mark}. */
    private int markedPosition;

    private int markedHead;

    /** How many work requests have completed. */
    @SuppressWarnings("unused") // through TAIL
    private int tail;

    /** The first eight bytes of the last work request: what rings the doorbell. */
    private long lastWord;

    /** The block in which the last work request with inline data begins, counted as {@link #position}. */
    private int inlinePosition = -1;

    // The work request under construction.
    private long control;
    private long at;
    private int units;
    private int operation;
    private int immediate;
    private int controlFlags;
    private int index;
    private long inlineHeader;
    private long inlineBytes;

    /** Where the rings of a queue pair are. */
    record Place(long ring, int blocks, long records, Doorbell doorbell) {}

    /**
     * Where the doorbell is.
     *
     * @param uncached whether its page is known not to be cached; it may be write-combining otherwise
     * @param blueFlame its register, if it is that of a thread domain and takes work requests; null otherwise
     */
    record Doorbell(long address, boolean uncached, BlueFlame blueFlame) {}

    SendQueueRing(
            Place place,
            int number,
            QueuePairType type,
            QueuePairCapabilities granted,
            boolean signalAll,
            boolean atomics,
            AddressVectors vectors,
            boolean shared) {
        start = place.ring();
        end = start + ((long) place.blocks() << RingMemory.BLOCK_SHIFT);
        mask = Math.max(0, place.blocks() - 1);
        record = place.records() + RECORD;
        doorbell = place.doorbell().address();
        uncached = place.doorbell().uncached();
        blueFlame = place.doorbell().blueFlame();
        numberBits = number << 8;
        mostPosted = granted.maxSendWorkRequests();
        maxSegments = granted.maxSendSegments();
        maxInline = granted.maxInlineData();
        datagrams = type == QueuePairType.UD;
        alwaysSignaled = signalAll ? CQ_UPDATE : 0;
        allowed = atomics ? PLAIN | ATOMIC : PLAIN;
        plain = datagrams ? 0 : PLAIN;
        this.vectors = vectors;
        lock = new RingLock(shared);
        ids = new long[mask + 1];
        numbers = new int[mask + 1];
    }

    private static int[] operations() {
        int[] operations = new int[rdma_h.IBV_WR_ATOMIC_WRITE() + 1];
        Arrays.fill(operations, OP_NONE);
        operations[rdma_h.IBV_WR_SEND()] = OP_SEND;
        operations[rdma_h.IBV_WR_SEND_WITH_IMM()] = OP_SEND_IMM;
        operations[rdma_h.IBV_WR_SEND_WITH_INV()] = OP_SEND_INVAL;
        operations[rdma_h.IBV_WR_RDMA_WRITE()] = OP_WRITE;
        operations[rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM()] = OP_WRITE_IMM;
        operations[rdma_h.IBV_WR_RDMA_READ()] = OP_READ;
        operations[rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP()] = OP_COMPARE_SWAP;
        operations[rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD()] = OP_FETCH_ADD;
        return operations;
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
            mark();
            int error = encodeChain(first, bad);
            ring();
            return error;
        } finally {
            unlock();
        }
    }

    /** Begins a chain or a batch: {@link #ring} hands over what is written from here on, or {@link #rollBack} forgets it. */
    void mark() {
        markedPosition = position;
        markedHead = head;
    }

    private int encodeChain(long first, long bad) {
        try {
            for (long wr = first; wr != 0; wr = RingMemory.getLong(RingMemory.known(wr) + NEXT)) {
                int error = encode(RingMemory.known(wr));
                if (error != 0) {
                    RingMemory.putLong(bad, wr);
                    return error;
                }
            }
            return 0;
        } catch (RuntimeException | Error e) {
            // Memory of inline data may be that of a file which has become shorter.
            rollBack();
            throw e;
        }
    }

    private int encode(long wr) {
        int opcode = RingMemory.getInt(wr + OPCODE);
        int op = opcode >= 0 && opcode < OPERATIONS.length ? OPERATIONS[opcode] : OP_NONE;
        int flags = RingMemory.getInt(wr + FLAGS);
        // The queue pair can do all that are plain.
        boolean isPlain = contains(plain, op) && (flags & INLINE) == 0;
        if (!isPlain && !allows(op)) {
            return -Errno.EOPNOTSUPP;
        }
        if (isFull()) {
            return -Errno.ENOMEM;
        }
        int count = RingMemory.getInt(wr + SEGMENTS);
        if (count > maxSegments) {
            return -Errno.EINVAL;
        }
        return isPlain ? encodePlain(wr, op, flags, count) : encodeRare(wr, op, flags, count);
    }

    /**
     * Sends, writes and reads with data segments. It keeps everything in local variables, and calls few methods within
     * each other, because the compiler would not inline them.
     */
    private int encodePlain(long wr, int op, int flags, int count) {
        int block = position & (ids.length - 1);
        long first = addressOf(block);
        note(block, RingMemory.getLong(wr + WR_ID));
        RingMemory.putLong(first + Long.BYTES, flagsWord(controlFlags(flags), immediateOf(wr, op)));
        int segments = 1;
        if (movesRemoteData(op)) {
            RingMemory.putLong(
                    first + RingMemory.SEGMENT_BYTES, Long.reverseBytes(RingMemory.getLong(wr + REMOTE_ADDRESS)));
            RingMemory.putLong(first + RingMemory.SEGMENT_BYTES + Long.BYTES, rkeyWord(RingMemory.getInt(wr + RKEY)));
            segments++;
        }
        if (count > 0) {
            long to = first + (long) segments * RingMemory.SEGMENT_BYTES;
            long sge = RingMemory.getLong(wr + LIST);
            long listEnd = sge + count * SGE_BYTES;
            // Not a loop that counts: the compiler would split it, which costs more than a few segments.
            do {
                long segment = RingMemory.known(sge);
                long lengthAndKey = RingMemory.getLong(segment + SGE_LENGTH);
                if ((int) lengthAndKey != 0) {
                    to = RingMemory.known(to == end ? start : to);
                    RingMemory.putLong(to, RingMemory.dataWord(lengthAndKey));
                    RingMemory.putLong(to + Long.BYTES, Long.reverseBytes(RingMemory.getLong(segment + SGE_ADDRESS)));
                    to += RingMemory.SEGMENT_BYTES;
                    segments++;
                }
                sge += SGE_BYTES;
            } while (sge != listEnd);
        }
        end(first, op, segments);
        return 0;
    }

    /**
     * Writes a whole work request with one data segment, which never wraps around.
     *
     * @param op a send, a write or a read, without immediate data
     * @param lengthAndKey length and local key of the data, the length in the low half
     */
    void put(int op, int flags, int rkey, long remote, long lengthAndKey, long address, long id) {
        int block = position & (ids.length - 1);
        long first = addressOf(block);
        note(block, id);
        RingMemory.putLong(first + Long.BYTES, flagsWord(controlFlags(flags), 0));
        int segments = 1;
        if (op != OP_SEND) {
            RingMemory.putLong(first + RingMemory.SEGMENT_BYTES, Long.reverseBytes(remote));
            RingMemory.putLong(first + RingMemory.SEGMENT_BYTES + Long.BYTES, rkeyWord(rkey));
            segments++;
        }
        if ((int) lengthAndKey != 0) {
            long to = first + (long) segments * RingMemory.SEGMENT_BYTES;
            RingMemory.putLong(to, RingMemory.dataWord(lengthAndKey));
            RingMemory.putLong(to + Long.BYTES, Long.reverseBytes(address));
            segments++;
        }
        end(first, op, segments);
    }

    private int encodeRare(long wr, int op, int flags, int count) {
        begin(op, flags);
        if (datagrams) {
            putAddress(
                    RingMemory.getLong(wr + HANDLE),
                    RingMemory.getInt(wr + REMOTE_QPN),
                    RingMemory.getInt(wr + REMOTE_QKEY));
            skipAddress();
        } else if (movesRemoteData(op)) {
            putRemote(RingMemory.getLong(wr + REMOTE_ADDRESS), RingMemory.getInt(wr + RKEY));
        } else if (op == OP_COMPARE_SWAP) {
            putRemote(RingMemory.getLong(wr + REMOTE_ADDRESS), RingMemory.getInt(wr + ATOMIC_RKEY));
            putAtomic(RingMemory.getLong(wr + SWAP), RingMemory.getLong(wr + COMPARE_ADD));
        } else if (op == OP_FETCH_ADD) {
            putRemote(RingMemory.getLong(wr + REMOTE_ADDRESS), RingMemory.getInt(wr + ATOMIC_RKEY));
            putAtomic(RingMemory.getLong(wr + COMPARE_ADD));
        }
        immediate = immediateOf(wr, op);
        long list = RingMemory.getLong(wr + LIST);
        if ((flags & INLINE) != 0 && count != 0) {
            int error = putInline(list, count);
            if (error != 0) {
                return error;
            }
        } else {
            putSegments(list, count);
        }
        finish(RingMemory.getLong(wr + WR_ID));
        return 0;
    }

    /** Returns what stands in the place of immediate data, as it is in memory. */
    private static int immediateOf(long wr, int op) {
        if (op == OP_SEND_IMM || op == OP_WRITE_IMM) {
            return RingMemory.getInt(wr + IMMEDIATE);
        }
        return op == OP_SEND_INVAL ? Integer.reverseBytes(RingMemory.getInt(wr + IMMEDIATE)) : 0;
    }

    /** Whether the queue pair can do an operation of the device. */
    boolean allows(int op) {
        return contains(allowed, op);
    }

    /** Whether a set has an operation of the device. {@link #OP_NONE} asks for the last bit, which no set has. */
    private static boolean contains(long set, int op) {
        return (set >>> op & 1) != 0;
    }

    /** Whether an operation of the device is an atomic one. */
    static boolean isAtomic(int op) {
        return op == OP_COMPARE_SWAP || op == OP_FETCH_ADD;
    }

    private static boolean movesRemoteData(int op) {
        return op == OP_WRITE || op == OP_READ || op == OP_WRITE_IMM;
    }

    /** Whether there is no room for one more work request. */
    boolean isFull() {
        return head - (int) TAIL.getAcquire(this) >= mostPosted;
    }

    /** Begins a work request. */
    void begin(int op, int flags) {
        operation = op;
        immediate = 0;
        index = position & mask;
        control = addressOf(index);
        at = control + RingMemory.SEGMENT_BYTES;
        units = 1;
        controlFlags = controlFlags(flags);
    }

    private int controlFlags(int flags) {
        return alwaysSignaled
                | ((flags & SIGNALED) != 0 ? CQ_UPDATE : 0)
                | ((flags & SOLICITED) != 0 ? SOLICIT : 0)
                | ((flags & FENCE) != 0 ? ORDER : 0);
    }

    /** Sets the immediate data, as it is in memory. */
    void immediate(int value) {
        immediate = value;
    }

    void putRemote(long address, int rkey) {
        RingMemory.putNetworkLong(at, address);
        RingMemory.putLong(at + Long.BYTES, rkeyWord(rkey));
        advance(RingMemory.SEGMENT_BYTES);
    }

    /** Returns the second half of a {@code struct mlx5_wqe_raddr_seg}. */
    private static long rkeyWord(int rkey) {
        return Integer.toUnsignedLong(Integer.reverseBytes(rkey));
    }

    void putAtomic(long swap, long compare) {
        RingMemory.putNetworkLong(at, swap);
        RingMemory.putNetworkLong(at + Long.BYTES, compare);
        advance(RingMemory.SEGMENT_BYTES);
    }

    void putAtomic(long add) {
        RingMemory.putNetworkLong(at, add);
        advance(RingMemory.SEGMENT_BYTES);
    }

    /** Stores the destination of a datagram behind the control segment. */
    void putAddress(long handle, int queuePair, int qkey) {
        long vector = vectors.of(handle);
        long to = control + RingMemory.SEGMENT_BYTES;
        long second = RingMemory.getLong(vector) & ~0xffff_ffffL;
        RingMemory.putLong(to, second | Integer.toUnsignedLong(Integer.reverseBytes(qkey)));
        long third = RingMemory.getLong(vector + Long.BYTES) & ~0xffff_ffffL;
        RingMemory.putLong(
                to + Long.BYTES, third | Integer.toUnsignedLong(Integer.reverseBytes(queuePair | EXTENDED_ADDRESS)));
        for (int i = 2 * Long.BYTES; i < ADDRESS_BYTES; i += Long.BYTES) {
            RingMemory.putLong(to + i, RingMemory.getLong(vector + i));
        }
    }

    private void skipAddress() {
        advance(ADDRESS_BYTES);
    }

    /** Leaves the place of the destination, if work requests of this queue pair have one. */
    void skipDestination() {
        if (datagrams) {
            skipAddress();
        }
    }

    private void advance(int bytes) {
        at += bytes;
        units += bytes / RingMemory.SEGMENT_BYTES;
        if (at == end) {
            at = start;
        }
    }

    void putSegments(long list, int count) {
        boolean atomic = isAtomic(operation);
        long sge = list;
        for (int i = 0; i < count; i++, sge += SGE_BYTES) {
            long lengthAndKey = RingMemory.getLong(sge + SGE_LENGTH);
            if ((int) lengthAndKey != 0) {
                putSegment(
                        atomic ? (lengthAndKey & ~0xffff_ffffL) | ATOMIC_BYTES : lengthAndKey,
                        RingMemory.getLong(sge + SGE_ADDRESS));
            }
        }
    }

    /** Stores a segment whose length is not 0. */
    void putSegment(long lengthAndKey, long address) {
        RingMemory.putData(at, lengthAndKey, address);
        advance(RingMemory.SEGMENT_BYTES);
    }

    private int putInline(long list, int count) {
        beginInline();
        long sge = list;
        for (int i = 0; i < count; i++, sge += SGE_BYTES) {
            if (!addInline(
                    RingMemory.getLong(sge + SGE_ADDRESS),
                    Integer.toUnsignedLong(RingMemory.getInt(sge + SGE_LENGTH)))) {
                return -Errno.EINVAL;
            }
        }
        endInline();
        return 0;
    }

    void beginInline() {
        inlineHeader = at;
        inlineBytes = 0;
        at += Integer.BYTES;
    }

    /** Copies data behind what is there. Returns false if that is more than the queue pair takes. */
    boolean addInline(long from, long bytes) {
        inlineBytes += bytes;
        if (inlineBytes > maxInline) {
            return false;
        }
        long first = Math.min(bytes, end - at);
        RingMemory.copy(from, at, first);
        at += first;
        if (first < bytes) {
            RingMemory.copy(from + first, start, bytes - first);
            at = start + bytes - first;
        }
        return true;
    }

    /** Data of no bytes needs no segment. */
    void endInline() {
        inlinePosition = position;
        if (inlineBytes != 0) {
            RingMemory.putNetworkInt(inlineHeader, (int) inlineBytes | INLINE_SEGMENT);
            units += (int) ((inlineBytes + Integer.BYTES + RingMemory.SEGMENT_BYTES - 1) / RingMemory.SEGMENT_BYTES);
        }
    }

    /** Ends a work request: the device may read it once the doorbell rings. */
    void finish(long id) {
        note(index, id);
        RingMemory.putLong(control + Long.BYTES, flagsWord(controlFlags, immediate));
        end(control, operation, units);
    }

    /** Records the identifier and the number of the work request that begins in a block, for {@link #complete}. */
    private void note(int block, long id) {
        ids[block] = id;
        numbers[block] = head;
    }

    /** Ends the work request whose first block is at an address: everything else of it is stored. */
    private void end(long first, int op, int segments) {
        long word = controlWord(position, op, segments);
        RingMemory.putLong(first, word);
        lastWord = word;
        position += blocks(segments);
        head++;
    }

    /** Returns the first half of a {@code struct mlx5_wqe_ctrl_seg}, as it is in memory. */
    private long controlWord(int block, int op, int segments) {
        return Long.reverseBytes(
                ((long) ((block & 0xffff) << 8 | op) << Integer.SIZE) | Integer.toUnsignedLong(numberBits | segments));
    }

    /** Returns its second half. */
    private static long flagsWord(int flags, int immediateData) {
        return (long) immediateData << Integer.SIZE | Integer.toUnsignedLong(flags << (3 * Byte.SIZE));
    }

    private long addressOf(int block) {
        // As an unsigned number, so that the compiler knows the range.
        return RingMemory.known(start) + (Integer.toUnsignedLong(block) << RingMemory.BLOCK_SHIFT);
    }

    /** Returns how many blocks a work request takes. */
    private static int blocks(int segments) {
        return (segments * RingMemory.SEGMENT_BYTES + RingMemory.BLOCK_BYTES - 1) >> RingMemory.BLOCK_SHIFT;
    }

    /** Hands the work requests that were written since {@link #mark} to the device, if there are any. */
    void ring() {
        int count = head - markedHead;
        if (count == 0) {
            return;
        }
        RingMemory.publish(record, position & 0xffff);
        if (uncached) {
            RingMemory.ringUncached(doorbell, lastWord);
        } else if (blueFlame == null) {
            RingMemory.ring(record, doorbell, lastWord);
        } else {
            // Not in a method of its own: the compiler would not inline what is below it.
            int segments = (int) Long.reverseBytes(lastWord) & SEGMENT_COUNT;
            int first = position - blocks(segments);
            long half = blueFlame.half();
            if (count == 1 && blueFlame.takes(segments, inlinePosition == first)) {
                RingMemory.ringWhole(record, half, addressOf(first & mask), addressOf(position & mask), start, end);
            } else {
                RingMemory.ring(record, half, lastWord);
            }
            blueFlame.turn();
        }
    }

    /** Forgets the work requests that were written since {@link #mark}. */
    void rollBack() {
        position = markedPosition;
        head = markedHead;
        inlinePosition = position - 1;
    }

    /**
     * Frees the place of the work request that a completion names by its block, and of all before it.
     *
     * @return its identifier
     */
    long complete(int counter) {
        int block = counter & (ids.length - 1);
        long id = ids[block];
        TAIL.setRelease(this, numbers[block] + 1);
        return id;
    }

    /** Forgets everything: the queue pair is in state RESET. */
    void reset() {
        lock();
        try {
            position = 0;
            inlinePosition = -1;
            head = 0;
            mark();
            TAIL.setOpaque(this, 0);
        } finally {
            unlock();
        }
    }
}
