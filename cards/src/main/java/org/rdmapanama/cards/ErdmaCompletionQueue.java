package org.rdmapanama.cards;

import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;

/**
 * A completion queue of an eRDMA card: a ring of entries whose owner bit changes each time around. The driver tells what the
 * program has read only with a request for an event, so that a queue which is too small loses entries. Layout: {@code struct
 * erdma_cqe} of the driver's erdma_hw.h.
 */
final class ErdmaCompletionQueue extends ForwardingCompletionQueue {
    static final Layout REQUEST = Layout.of("db_record_va:8 qbuf_va:8 qbuf_len:4 rsvd0:4");
    static final Layout RESPONSE = Layout.of("cq_id:4 num_cqe:4");

    // Of an entry, all in the order of the network but the immediate data. The first four bytes are a number: the bit
    // of
    // the owner, the opcode, the kind of queue and the status.
    private static final int ENTRY = 32;
    private static final int OWNER = 0;
    private static final int OPCODE = 1;
    private static final int QUEUE = 2;
    private static final int STATUS = 3;
    private static final int INDEX = 4;
    private static final int PAIR = 8;
    private static final int IMMEDIATE = 12;
    private static final int BYTES = 16;

    private static final byte OWNED = (byte) 0x80;
    private static final byte SENDS = 0;
    private static final byte RECEIVES = 1;

    private static final int RECEIVED = 4;
    private static final int WRITTEN_IMM = 5;
    private static final int RECEIVED_IMM = 12;

    // Of a request for an event.
    private static final long ARMED = 1L << 31;
    private static final long SOLICITED_ONLY = 1L << 30;
    private static final int SEQUENCE_SHIFT = 28;

    private final long ring;
    private final int capacity;
    private final long record;

    /** The request for an event that was granted last. Each has a number of its own, of 8 bits. */
    private long answered;

    ErdmaCompletionQueue(DeviceFile file, Card.CompletionQueueRequest request) {
        super(file, request);
        View in = REQUEST.at(request.in());
        ring = in.get("qbuf_va");
        record = in.get("db_record_va");
        // The provider makes it a power of two, and the memory whole pages.
        capacity = request.entries();
        // The driver clears it after the command; until then it may have anything.
        Memory.putLong(record, 0);
        RESPONSE.at(request.out()).set("cq_id", request.number()).set("num_cqe", capacity);
    }

    @Override
    public int resize(int wanted, long in) {
        return -Errno.EOPNOTSUPP;
    }

    @Override
    boolean notifyIfArmed() {
        long request = Memory.getLongAcquire(record);
        int sequence = (int) request >>> SEQUENCE_SHIFT & 3;
        if ((request & ARMED) == 0
                || request == answered
                || !isDue(sequence, (int) request, (request & SOLICITED_ONLY) != 0)) {
            return false;
        }
        answered = request;
        grant(sequence);
        return true;
    }

    @Override
    void write(CardQueuePair owner, long id, InjectedError error) {
        begin(owner, id);
        end(WorkId.isReceive(id) ? RECEIVED : WorkId.opcode(id), id, error.syndrome());
    }

    @Override
    void write(CardQueuePair owner, long completion) {
        long id = Memory.getLong(completion + ibv_wc.wr_id$offset());
        int status = Memory.getInt(completion + ibv_wc.status$offset());
        boolean received = WorkId.isReceive(id);
        long entry = begin(owner, id);
        int opcode = received ? RECEIVED : WorkId.opcode(id);
        if (status == rdma_h.IBV_WC_SUCCESS()) {
            Memory.putNetInt(entry + BYTES, Memory.getInt(completion + ibv_wc.byte_len$offset()));
            int flags = Memory.getInt(completion + ibv_wc.wc_flags$offset());
            if (received && (flags & rdma_h.IBV_WC_WITH_IMM()) != 0) {
                // soft0 has it in the order of the network, this card in that of the machine.
                Memory.putInt(entry + IMMEDIATE, Memory.getNetInt(completion + ibv_wc.imm_data$offset()));
                boolean written =
                        Memory.getInt(completion + ibv_wc.opcode$offset()) == rdma_h.IBV_WC_RECV_RDMA_WITH_IMM();
                opcode = written ? WRITTEN_IMM : RECEIVED_IMM;
            }
        }
        end(opcode, id, ErdmaStatus.of(status, received).code());
    }

    private long entry() {
        return ring + (long) (produced() & capacity - 1) * ENTRY;
    }

    /** Begins an entry, and returns its address. */
    private long begin(CardQueuePair owner, long id) {
        long entry = entry();
        Memory.putNetInt(entry + INDEX, WorkId.counter(id));
        Memory.putNetInt(entry + PAIR, owner.number());
        Memory.zero(entry + IMMEDIATE, ENTRY - IMMEDIATE);
        return entry;
    }

    /** Gives the entry that was filled in to the program: the owner bit is that of its time around, 1 at first. */
    private void end(int opcode, long id, int status) {
        long entry = entry();
        Memory.putByte(entry + OPCODE, (byte) opcode);
        Memory.putByte(entry + QUEUE, WorkId.isReceive(id) ? RECEIVES : SENDS);
        Memory.putByte(entry + STATUS, (byte) status);
        Rings.publish(entry + OWNER, (produced() & capacity) == 0 ? OWNED : 0);
        countWritten();
    }
}
