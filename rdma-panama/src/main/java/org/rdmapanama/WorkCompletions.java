package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionFlag;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.NetworkOrder;

/**
 * A batch of work completions, an array of {@code struct ibv_wc}, that {@link CompletionQueue#poll} fills repeatedly;
 * see ibv_poll_cq(3).
 *
 * <p>Fields are read by index, from 0 to {@link #count()}, and nothing is allocated. Status, request identifier, queue
 * pair number and vendor error are valid whatever the status; the rest only on success.
 *
 * <p>Threads: one at a time.
 */
public final class WorkCompletions {
    private static final int SIZE = (int) ibv_wc.sizeof();
    private static final int WR_ID = (int) ibv_wc.wr_id$offset();
    private static final int STATUS = (int) ibv_wc.status$offset();
    private static final int OPCODE = (int) ibv_wc.opcode$offset();
    private static final int VENDOR_ERR = (int) ibv_wc.vendor_err$offset();
    private static final int BYTE_LEN = (int) ibv_wc.byte_len$offset();
    private static final int IMM_DATA = (int) ibv_wc.imm_data$offset();
    private static final int QP_NUM = (int) ibv_wc.qp_num$offset();
    private static final int SRC_QP = (int) ibv_wc.src_qp$offset();
    private static final int WC_FLAGS = (int) ibv_wc.wc_flags$offset();
    private static final int PKEY_INDEX = (int) ibv_wc.pkey_index$offset();
    private static final int SLID = (int) ibv_wc.slid$offset();
    private static final int SL = (int) ibv_wc.sl$offset();
    private static final int DLID_PATH_BITS = (int) ibv_wc.dlid_path_bits$offset();
    private static final int INVALIDATED_RKEY = (int) ibv_wc.invalidated_rkey$offset();

    /** Keeps a wrong number from allocating gigabytes. */
    private static final int MAX_CAPACITY = 1 << 20;

    /** Set in the opcodes of receives, and of nothing else. */
    private static final int RECEIVE = rdma_h.IBV_WC_RECV();

    private final VerbsArena arena;

    /** What this may be used for: the arena for all of its queues, or the queue that frees the memory. */
    private final Object home;

    /**
     * A buffer instead of a segment: its offsets have 32 bits, and reading completions in a loop takes half the time.
     */
    private final ByteBuffer batch;

    private final long address;
    private final int capacity;
    private int count;

    /** Where completions with an error status were polled last; null before. Not set on the good path. */
    private @Nullable CompletionQueue failedQueue;

    /**
     * Creates a batch.
     *
     * @param arena the arena of the completion queues that will be polled
     * @param capacity the maximum number of completions of one poll, 1 to 1048576
     * @throws IllegalArgumentException when the capacity is out of its range
     * @throws IllegalStateException when the arena is closed
     */
    public WorkCompletions(VerbsArena arena, int capacity) {
        this(arena, arena, checkedCapacity(capacity), arena.allocate((long) SIZE * capacity, 64));
    }

    /**
     * Creates a batch for one queue: its memory is freed when the queue closes, not only with the arena. So a program whose
     * queues come and go needs no more of it with time.
     *
     * @param queue the only queue that will be polled; once it is closed, the methods throw IllegalStateException
     * @param capacity the maximum number of completions of one poll, 1 to 1048576
     * @throws IllegalArgumentException when the capacity is out of its range
     * @throws IllegalStateException when the queue is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public WorkCompletions(CompletionQueue queue, int capacity) {
        this(queue.arena, queue, checkedCapacity(capacity), queue.allocate((long) SIZE * capacity, 64));
    }

    private WorkCompletions(VerbsArena arena, Object home, int capacity, MemorySegment memory) {
        this.arena = arena;
        this.home = home;
        this.capacity = capacity;
        address = memory.address();
        batch = memory.asByteBuffer().order(ByteOrder.nativeOrder());
    }

    private static int checkedCapacity(int capacity) {
        if (capacity < 1 || capacity > MAX_CAPACITY) {
            throw new IllegalArgumentException("capacity must be between 1 and " + MAX_CAPACITY + ": " + capacity);
        }
        return capacity;
    }

    @SuppressWarnings("ReferenceEquality") // arenas and queues are compared by identity
    long address(CompletionQueue queue) {
        if (home != queue.arena && home != queue) {
            throw elsewhere(queue.arena);
        }
        return address;
    }

    @SuppressWarnings("ReferenceEquality") // arenas are compared by identity
    private IllegalArgumentException elsewhere(VerbsArena wanted) {
        return new IllegalArgumentException(
                wanted == arena
                        ? "completions were created for " + home + " only; create them with the arena"
                        : "completions belong to another arena than the queue; create them with the arena of the queue");
    }

    /**
     * Returns a copy of the completion of a datagram, which stays if the queue of these closes.
     *
     * @throws IllegalArgumentException when it is not that of a datagram received without error, or these belong to
     *     another arena
     */
    @SuppressWarnings("ReferenceEquality") // arenas are compared by identity
    MemorySegment copyOfDatagram(VerbsArena otherArena, int index, Arena temporary) {
        if (otherArena != arena) {
            throw elsewhere(otherArena);
        }
        if (!succeeded(index)) {
            throw new IllegalArgumentException("only a successful completion names a sender: " + describe(index));
        }
        if ((batch.getInt(at(index, OPCODE)) & RECEIVE) == 0) {
            throw new IllegalArgumentException("only the completion of a receive names a sender: " + describe(index));
        }
        MemorySegment copy = temporary.allocate(ibv_wc.layout());
        copy.copyFrom(MemorySegment.ofBuffer(batch.duplicate().clear()).asSlice(at(index, 0), SIZE));
        return copy;
    }

    /** Returns whether a completion has an error status. Called only within a call on the queue, which keeps the memory alive. */
    boolean polled(int completions) {
        count = completions;
        int statuses = 0;
        long end = address + (long) completions * SIZE;
        for (long at = address; at != end; at += SIZE) {
            statuses |= Native.getInt(at + STATUS);
        }
        return statuses != 0;
    }

    /** Tells the queue pairs of completions with an error status. */
    void noteFailures(CompletionQueue queue) {
        failedQueue = queue;
        for (int i = 0; i < count; i++) {
            if (!succeeded(i)) {
                queue.noteFailure(
                        queue.context().queuePair(queue, queuePairNumber(i)), status(i), id(i), vendorError(i));
            }
        }
    }

    /** Tells the queue pairs of successful completions. */
    void noteTraffic(CompletionQueue queue) {
        for (int i = 0; i < count; i++) {
            QueuePair queuePair = succeeded(i) ? queue.context().queuePair(queue, queuePairNumber(i)) : null;
            if (queuePair != null) {
                boolean receive = (batch.getInt(at(i, OPCODE)) & RECEIVE) != 0;
                queuePair.trafficCounts().completed(receive, receive ? byteLength(i) : 0);
            }
        }
    }

    /** {@return the number of completions that one poll may take} */
    public int capacity() {
        return capacity;
    }

    /** {@return the number of completions that the last poll took, 0 to {@link #capacity()}} */
    public int count() {
        return count;
    }

    private int at(int index, int field) {
        return Objects.checkIndex(index, count) * SIZE + field;
    }

    /**
     * Returns the identifier that the work request was posted with.
     *
     * @param index the index of the completion
     * @return any 64 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public long id(int index) {
        return batch.getLong(at(index, WR_ID));
    }

    /**
     * Returns how the work request ended.
     *
     * @param index the index of the completion
     * @return the status
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public CompletionStatus status(int index) {
        return CompletionStatus.of(batch.getInt(at(index, STATUS)));
    }

    /**
     * Returns whether the work request succeeded.
     *
     * @param index the index of the completion
     * @return true when the status is {@link CompletionStatus#SUCCESS}
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean succeeded(int index) {
        return batch.getInt(at(index, STATUS)) == 0;
    }

    /**
     * Returns what kind of work request it was. Valid on success.
     *
     * @param index the index of the completion
     * @return the kind; after a failure the device may leave anything
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public CompletionOpcode opcode(int index) {
        return CompletionOpcode.of(batch.getInt(at(index, OPCODE)));
    }

    /**
     * Returns the vendor-specific error code of a failure.
     *
     * @param index the index of the completion
     * @return the code, 0 if there is none
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int vendorError(int index) {
        return batch.getInt(at(index, VENDOR_ERR));
    }

    /**
     * Returns the length of the data of a receive, an RDMA read or an atomic. For a datagram it includes the 40 bytes
     * in front of it.
     *
     * @param index the index of the completion
     * @return the length in bytes, unsigned
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int byteLength(int index) {
        return batch.getInt(at(index, BYTE_LEN));
    }

    /**
     * Returns the immediate data of a receive, as its sender set it.
     *
     * @param index the index of the completion
     * @return 32 bits; undefined unless {@link #hasImmediate}
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int immediate(int index) {
        return NetworkOrder.convert(batch.getInt(at(index, IMM_DATA)));
    }

    /**
     * Returns whether the completion is that of a receive with immediate data. Some drivers, mlx5 among them, set the flag
     * for the send as well, whose completion has no data.
     *
     * @param index the index of the completion
     * @return true if {@link #immediate} is defined
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean hasImmediate(int index) {
        return has(index, CompletionFlag.WITH_IMM) && (batch.getInt(at(index, OPCODE)) & RECEIVE) != 0;
    }

    /**
     * Returns the remote key of this side that a send with invalidation made invalid.
     *
     * @param index the index of the completion
     * @return the key; undefined unless {@link #hasInvalidatedRkey}
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int invalidatedRkey(int index) {
        return batch.getInt(at(index, INVALIDATED_RKEY));
    }

    /**
     * Returns whether a send with invalidation arrived. Valid on success. Soft-RoCE sets {@link #checksumOk} instead,
     * at least up to kernel 6.1.
     *
     * @param index the index of the completion
     * @return true if {@link #invalidatedRkey} is defined
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean hasInvalidatedRkey(int index) {
        return has(index, CompletionFlag.WITH_INV);
    }

    /**
     * Returns whether the device verified the checksums of a received IPv4 packet, in its header and in TCP or UDP.
     *
     * @param index the index of the completion
     * @return true if they are correct; always false on a device that does not verify them
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean checksumOk(int index) {
        return has(index, CompletionFlag.IP_CSUM_OK);
    }

    /**
     * Returns whether a completion has a flag. Valid on success.
     *
     * @param index the index of the completion
     * @param flag the flag
     * @return true if so
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean has(int index, CompletionFlag flag) {
        int code = flag.code();
        return (flags(index) & code) != 0;
    }

    /**
     * Returns whether a global routing header lies in the first 40 bytes of a received datagram. The 40 bytes are
     * reserved for it in any case.
     *
     * @param index the index of the completion
     * @return true if there is one
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean hasGlobalRoutingHeader(int index) {
        return has(index, CompletionFlag.GRH);
    }

    /**
     * Returns the flags as a C bit mask, {@code enum ibv_wc_flags}.
     *
     * @param index the index of the completion
     * @return bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int flags(int index) {
        return batch.getInt(at(index, WC_FLAGS));
    }

    /**
     * Returns the number of the local queue pair.
     *
     * @param index the index of the completion
     * @return 24 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int queuePairNumber(int index) {
        return batch.getInt(at(index, QP_NUM));
    }

    /**
     * Returns the number of the queue pair that a datagram came from.
     *
     * @param index the index of the completion
     * @return 24 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int sourceQueuePair(int index) {
        return batch.getInt(at(index, SRC_QP));
    }

    /**
     * Returns the index of the partition key of a datagram, on queue pairs that receive all of them.
     *
     * @param index the index of the completion
     * @return the index in the port's P_Key table
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int pkeyIndex(int index) {
        return Short.toUnsignedInt(batch.getShort(at(index, PKEY_INDEX)));
    }

    /**
     * Returns the local identifier that a datagram came from, on InfiniBand.
     *
     * @param index the index of the completion
     * @return 16 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int sourceLid(int index) {
        return Short.toUnsignedInt(batch.getShort(at(index, SLID)));
    }

    /**
     * Returns the service level of a received datagram.
     *
     * @param index the index of the completion
     * @return 0 to 15
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int serviceLevel(int index) {
        return batch.get(at(index, SL));
    }

    /**
     * Returns the low bits of the local identifier that a datagram was sent to, on InfiniBand.
     *
     * @param index the index of the completion
     * @return 7 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int destinationPathBits(int index) {
        return batch.get(at(index, DLID_PATH_BITS));
    }

    /**
     * Returns one line about a completion, for logs and exceptions.
     *
     * @param index the index of the completion
     * @return status, what it means, queue pair and work request; of a failure also which operations end so, the peer if
     *     the queue pair is connected, and what to do, such as {@code RETRY_EXC_ERR (peer does not answer, and the retries
     *     are used up; vendor error 0x81) of a send, RDMA write, read or atomic on queue pair 0x000011 to
     *     10.77.0.2:7471, work request 3; check that the peer's process runs ...}. A flushed completion names the first
     *     failure of its queue pair, if that is known
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public String describe(int index) {
        CompletionStatus status = status(index);
        QueuePair queuePair = status == CompletionStatus.SUCCESS || failedQueue == null
                ? null
                : failedQueue.context().queuePair(failedQueue, queuePairNumber(index));
        return queuePair == null
                ? CompletionText.of(
                        " on queue pair 0x%06x".formatted(queuePairNumber(index)),
                        status,
                        vendorError(index),
                        id(index))
                : CompletionText.of(queuePair, failedQueue, status, vendorError(index), id(index));
    }

    /**
     * Checks that a work request succeeded. Allocates nothing if it did.
     *
     * @param index the index of the completion
     * @throws FailedCompletionException when it did not, with the text of {@link #describe}
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public void check(int index) {
        if (!succeeded(index)) {
            throw new FailedCompletionException(describe(index), status(index), id(index));
        }
    }

    /** The completions of the last poll. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder().append(count).append(" completions");
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? ": " : "; ").append(describe(i));
        }
        return text.toString();
    }

    /** Returns the name, and unless it is SUCCESS also the meaning and the vendor error, for messages. */
    static String explained(CompletionStatus status, int vendorError) {
        if (status == CompletionStatus.SUCCESS) {
            return status.name();
        }
        return status.name() + " (" + status.description()
                + (vendorError == 0 ? "" : "; vendor error 0x" + Integer.toHexString(vendorError)) + ")";
    }
}
