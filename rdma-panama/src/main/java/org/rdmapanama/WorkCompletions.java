package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * A batch of work completions, an array of {@code struct ibv_wc}, that {@link CompletionQueue#poll} fills again and
 * again; see ibv_poll_cq(3).
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

    /** A wrong number should not ask for gigabytes. */
    private static final int MAX_CAPACITY = 1 << 20;

    /** Set in the opcodes of receives, and of nothing else. */
    private static final int RECEIVE = rdma_h.IBV_WC_RECV();

    private final VerbsArena arena;
    /** A buffer, and no segment: reading completions in a loop takes half the time, for its offsets are of 32 bits. */
    private final ByteBuffer batch;

    private final long address;
    private final int capacity;
    private int count;

    /**
     * Makes room for completions.
     *
     * @param arena of the completion queues that will be polled
     * @param capacity how many one poll may take, 1 to 1048576
     * @throws IllegalArgumentException when the capacity is out of its range
     * @throws IllegalStateException when the arena is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public WorkCompletions(VerbsArena arena, int capacity) {
        if (capacity < 1 || capacity > MAX_CAPACITY) {
            throw new IllegalArgumentException(
                    "a batch holds 1 to " + MAX_CAPACITY + " completions, and not " + capacity);
        }
        this.arena = arena;
        this.capacity = capacity;
        MemorySegment memory = arena.allocate((long) SIZE * capacity, 64);
        address = memory.address();
        batch = memory.asByteBuffer().order(ByteOrder.nativeOrder());
    }

    long address(VerbsArena queueArena) {
        if (queueArena != arena) {
            throw new IllegalArgumentException("these completions belong to another arena than the queue");
        }
        return address;
    }

    /**
     * Where the completion of a datagram is.
     *
     * @throws IllegalArgumentException when it is of none that arrived well, or these belong to another arena
     */
    long addressOfDatagram(VerbsArena otherArena, int index) {
        long start = address(otherArena);
        if (!succeeded(index)) {
            throw new IllegalArgumentException("only what succeeded tells a sender: " + describe(index));
        }
        if ((batch.getInt(at(index, OPCODE)) & RECEIVE) == 0) {
            throw new IllegalArgumentException("only what was received tells a sender: " + describe(index));
        }
        return start + at(index, 0);
    }

    void polled(int completions) {
        count = completions;
    }

    /**
     * How many one poll may take.
     *
     * @return the number given when this was made
     */
    public int capacity() {
        return capacity;
    }

    /**
     * How many the last poll took.
     *
     * @return 0 to {@link #capacity()}
     */
    public int count() {
        return count;
    }

    private int at(int index, int field) {
        return Objects.checkIndex(index, count) * SIZE + field;
    }

    /**
     * Identifier of the work request, as its poster gave it.
     *
     * @param index which completion
     * @return any 64 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public long id(int index) {
        return batch.getLong(at(index, WR_ID));
    }

    /**
     * How the work request ended.
     *
     * @param index which completion
     * @return the status
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public CompletionStatus status(int index) {
        return CompletionStatus.of(batch.getInt(at(index, STATUS)));
    }

    /**
     * Whether the work request succeeded.
     *
     * @param index which completion
     * @return true when the status is {@link CompletionStatus#SUCCESS}
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean succeeded(int index) {
        return batch.getInt(at(index, STATUS)) == 0;
    }

    /**
     * What kind of work request it was. Valid on success.
     *
     * @param index which completion
     * @return the kind; after a failure the device may leave anything
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public CompletionOpcode opcode(int index) {
        return CompletionOpcode.of(batch.getInt(at(index, OPCODE)));
    }

    /**
     * What the driver adds to a failure, in the vendor's own numbers.
     *
     * @param index which completion
     * @return the number, 0 when there is none
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int vendorError(int index) {
        return batch.getInt(at(index, VENDOR_ERR));
    }

    /**
     * How much data came: of a receive, an RDMA read or an atomic. A datagram counts the 40 bytes in front of it.
     *
     * @param index which completion
     * @return size in bytes, unsigned
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int byteLength(int index) {
        return batch.getInt(at(index, BYTE_LEN));
    }

    /**
     * The immediate data that came with a receive, as its sender gave it.
     *
     * @param index which completion
     * @return 32 bits; without meaning unless {@link #hasImmediate}
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int immediate(int index) {
        return ExtendedCompletionQueue.hostOrder(batch.getInt(at(index, IMM_DATA)));
    }

    /**
     * Whether immediate data came.
     *
     * @param index which completion
     * @return true when {@link #immediate} has a meaning
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean hasImmediate(int index) {
        return has(index, CompletionFlag.WITH_IMM);
    }

    /**
     * The remote key of this side that a send with invalidation made invalid.
     *
     * @param index which completion
     * @return the key; without meaning unless {@link #hasInvalidatedRkey}
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int invalidatedRkey(int index) {
        return batch.getInt(at(index, INVALIDATED_RKEY));
    }

    /**
     * Whether a send with invalidation came. Valid on success. Soft-RoCE sets {@link #checksumOk} in its place, at least
     * up to kernel 6.1.
     *
     * @param index which completion
     * @return true when {@link #invalidatedRkey} has a meaning
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean hasInvalidatedRkey(int index) {
        return has(index, CompletionFlag.WITH_INV);
    }

    /**
     * Whether the device found the checksums of a received IPv4 packet right, of its header and of TCP or UDP.
     *
     * @param index which completion
     * @return true when they are right; a device that does not look never says so
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean checksumOk(int index) {
        return has(index, CompletionFlag.IP_CSUM_OK);
    }

    /**
     * Whether something is said of a completion. Valid on success.
     *
     * @param index which completion
     * @param flag what
     * @return true when it is
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean has(int index, CompletionFlag flag) {
        int code = flag.code();
        return (flags(index) & code) != 0;
    }

    /**
     * Whether a global routing header lies in the first 40 bytes of a received datagram. The 40 bytes are kept for it
     * in any case.
     *
     * @param index which completion
     * @return true when it is there
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public boolean hasGlobalRoutingHeader(int index) {
        return has(index, CompletionFlag.GRH);
    }

    /**
     * The flags as C gives them, {@code enum ibv_wc_flags}.
     *
     * @param index which completion
     * @return bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int flags(int index) {
        return batch.getInt(at(index, WC_FLAGS));
    }

    /**
     * Number of the local queue pair.
     *
     * @param index which completion
     * @return 24 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int queuePairNumber(int index) {
        return batch.getInt(at(index, QP_NUM));
    }

    /**
     * Number of the queue pair that a datagram came from.
     *
     * @param index which completion
     * @return 24 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int sourceQueuePair(int index) {
        return batch.getInt(at(index, SRC_QP));
    }

    /**
     * Place of the partition key that a datagram carried, on queue pairs that get all of them.
     *
     * @param index which completion
     * @return an index into the port's P_Key table
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int pkeyIndex(int index) {
        return Short.toUnsignedInt(batch.getShort(at(index, PKEY_INDEX)));
    }

    /**
     * Local identifier that a datagram came from, on InfiniBand.
     *
     * @param index which completion
     * @return 16 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int sourceLid(int index) {
        return Short.toUnsignedInt(batch.getShort(at(index, SLID)));
    }

    /**
     * Service level of a received datagram.
     *
     * @param index which completion
     * @return 0 to 15
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int serviceLevel(int index) {
        return batch.get(at(index, SL));
    }

    /**
     * Low bits of the local identifier that a datagram was sent to, on InfiniBand.
     *
     * @param index which completion
     * @return 7 bits
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public int destinationPathBits(int index) {
        return batch.get(at(index, DLID_PATH_BITS));
    }

    /**
     * One line about a completion, for logs and exceptions.
     *
     * @param index which completion
     * @return such as {@code RETRY_EXC_ERR (vendor error 0x81) on queue pair 17, work request 3}
     * @throws IndexOutOfBoundsException when the index is not below {@link #count()}
     */
    public String describe(int index) {
        int vendorError = vendorError(index);
        return status(index) + (vendorError == 0 ? "" : " (vendor error 0x" + Integer.toHexString(vendorError) + ")")
                + " on queue pair " + queuePairNumber(index) + ", work request " + id(index);
    }

    /** What the last poll took. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder().append(count).append(" completions");
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? ": " : "; ").append(describe(i));
        }
        return text.toString();
    }
}
