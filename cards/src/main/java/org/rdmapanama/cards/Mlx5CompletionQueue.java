package org.rdmapanama.cards;

import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;

/**
 * A completion queue of a ConnectX card: writes entries of 64 bytes, or the last 64 of 128, whose owner bit changes each
 * time around. Layouts: {@code struct mlx5_cqe64} and {@code mlx5_err_cqe} of {@code infiniband/mlx5dv.h}.
 */
final class Mlx5CompletionQueue extends ForwardingCompletionQueue {
    static final Layout REQUEST = Layout.of(
            "buf_addr:8 db_addr:8 cqe_size:4 cqe_comp_en:1 cqe_comp_res_format:1 flags:2 uar_page_index:2 reserved0:2"
                    + " reserved1:4");
    static final Layout RESIZE = Layout.of("buf_addr:8 cqe_size:2 reserved0:2 reserved1:4");

    // Of an entry.
    private static final int ENTRY = 64;
    private static final int FLAGS_QPN = 24;
    private static final int UIDX = 32;
    private static final int IMMEDIATE = 36;
    private static final int BYTES = 44;
    private static final int VENDOR_ERROR = 54;
    private static final int SYNDROME = 55;
    private static final int OPCODE_QPN = 56;
    private static final int COUNTER = 60;
    private static final int OP_OWN = 63;

    private static final int REQUESTER = 0;
    private static final int WRITE_IMM = 1;
    private static final int SEND = 2;
    private static final int SEND_IMM = 3;
    private static final int SEND_INVALIDATE = 4;
    private static final int RESIZED = 5;
    private static final int REQUESTER_ERROR = 13;
    private static final int RESPONDER_ERROR = 14;

    /** A flag of the command: all bytes of an entry are written. */
    private static final int PADS = 1;

    private static final int INDEX_MASK = (1 << INDEX_BITS) - 1;
    private static final int SOLICITED_ONLY = 1 << 24;
    private static final int SEQUENCE_SHIFT = 28;

    /** What this writes into the record of requests for events: a command that no program writes. */
    private static final int NOT_ARMED = 0xffff_ffff;

    private final long record;
    private final boolean padded;
    private long ring;
    private int entryBytes;
    private int capacity;

    private boolean failed;

    Mlx5CompletionQueue(DeviceFile file, Card.CompletionQueueRequest request) {
        super(file, request);
        View in = REQUEST.at(request.in());
        ring = in.get("buf_addr");
        record = in.get("db_addr");
        entryBytes = in.getInt("cqe_size");
        padded = (in.getInt("flags") & PADS) != 0;
        capacity = request.entries() + 1;
        Memory.putInt(record + Integer.BYTES, NOT_ARMED);
        Memory.putInt(request.out(), request.number());
    }

    int entryBytes() {
        return entryBytes;
    }

    /** Whether the program wants all bytes of an entry to be written. */
    boolean isPadded() {
        return padded;
    }

    @Override
    public int resize(int entries, long in) {
        View request = RESIZE.at(in);
        long newRing = request.get("buf_addr");
        int newBytes = request.getInt("cqe_size");
        int consumed = consumed();
        int kept = produced() - consumed & INDEX_MASK;
        if (kept > entries) {
            return -Errno.EINVAL;
        }
        // The provider copies what it has not read, each entry to the next place, until it comes to this one.
        write(RESIZED << 4);
        ring = newRing;
        entryBytes = newBytes;
        capacity = entries + 1;
        return entries;
    }

    private int consumed() {
        return Memory.getNetInt(record) & INDEX_MASK;
    }

    @Override
    int limit() {
        return failed ? BATCH : Math.min(BATCH, capacity - unread());
    }

    @Override
    boolean notifyIfArmed() {
        int written = Memory.getIntAcquire(record + Integer.BYTES);
        if (written == NOT_ARMED) {
            return false;
        }
        int request = Integer.reverseBytes(written);
        int sequence = request >>> SEQUENCE_SHIFT & 3;
        if (!isDue(sequence, request, (request & SOLICITED_ONLY) != 0)) {
            return false;
        }
        // So that the same request is seen when it is made again.
        Rings.replace(record + Integer.BYTES, written, NOT_ARMED);
        grant(sequence);
        return true;
    }

    /** Returns how many entries the program has not read. */
    private int unread() {
        return produced() - consumed() & INDEX_MASK;
    }

    /** If no entry is free, this has overrun. */
    @Override
    boolean hasRoom() {
        if (!failed && unread() >= capacity) {
            overrun();
        }
        return !failed;
    }

    /** From here on nothing is written. */
    private void overrun() {
        failed = true;
        file.completionQueueFailed(this);
    }

    @Override
    void write(CardQueuePair owner, long id, InjectedError error) {
        long entry = begin(owner, id);
        Memory.putByte(entry + SYNDROME, (byte) error.syndrome());
        Memory.putByte(entry + VENDOR_ERROR, (byte) error.vendorError());
        write((WorkId.isReceive(id) ? RESPONDER_ERROR : REQUESTER_ERROR) << 4);
    }

    /** Begins an entry, and returns its address. */
    private long begin(CardQueuePair owner, long id) {
        long entry = entry();
        Memory.zero(entry, OP_OWN);
        Memory.putNetInt(entry + UIDX, owner.userIndex());
        Memory.putNetShort(entry + COUNTER, (short) WorkId.counter(id));
        Memory.putNetInt(entry + OPCODE_QPN, WorkId.opcode(id) << 24 | owner.number());
        return entry;
    }

    @Override
    void write(CardQueuePair owner, long completion) {
        long requestId = Memory.getLong(completion + ibv_wc.wr_id$offset());
        int status = Memory.getInt(completion + ibv_wc.status$offset());
        int opcode = Memory.getInt(completion + ibv_wc.opcode$offset());
        int flags = Memory.getInt(completion + ibv_wc.wc_flags$offset());
        boolean received = WorkId.isReceive(requestId);
        long entry = begin(owner, requestId);
        int kind;
        if (status == rdma_h.IBV_WC_SUCCESS()) {
            Memory.putNetInt(entry + BYTES, Memory.getInt(completion + ibv_wc.byte_len$offset()));
            kind = received ? receiveKind(opcode, flags) : REQUESTER;
            if (received) {
                int grh = (flags & rdma_h.IBV_WC_GRH()) != 0 ? 1 << 28 : 0;
                Memory.putNetInt(entry + FLAGS_QPN, grh | Memory.getInt(completion + ibv_wc.src_qp$offset()));
                int immediate = Memory.getInt(completion + ibv_wc.imm_data$offset());
                if (kind == SEND_INVALIDATE) {
                    Memory.putNetInt(entry + IMMEDIATE, immediate);
                } else {
                    Memory.putInt(entry + IMMEDIATE, immediate);
                }
            }
        } else {
            Memory.putByte(entry + SYNDROME, (byte) Mlx5Syndrome.of(status));
            Memory.putByte(entry + VENDOR_ERROR, (byte) Memory.getInt(completion + ibv_wc.vendor_err$offset()));
            kind = received ? RESPONDER_ERROR : REQUESTER_ERROR;
        }
        write(kind << 4);
    }

    private static int receiveKind(int opcode, int flags) {
        boolean immediate = (flags & rdma_h.IBV_WC_WITH_IMM()) != 0;
        if (opcode == rdma_h.IBV_WC_RECV_RDMA_WITH_IMM()) {
            return WRITE_IMM;
        }
        if ((flags & rdma_h.IBV_WC_WITH_INV()) != 0) {
            return SEND_INVALIDATE;
        }
        return immediate ? SEND_IMM : SEND;
    }

    private long entry() {
        return ring + (long) (produced() & capacity - 1) * entryBytes + entryBytes - ENTRY;
    }

    /** Gives the entry that was filled in to the program. */
    private void write(int opcode) {
        int owner = (produced() & capacity) != 0 ? 1 : 0;
        Rings.publish(entry() + OP_OWN, (byte) (opcode | owner));
        countWritten();
    }
}
