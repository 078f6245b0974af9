package org.rdmapanama.cards;

import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;

/**
 * A queue pair of an eRDMA card. The provider writes the same into a doorbell and into a record in memory: what it has counted,
 * and the number of the queue pair. This reads the records only, because queue pairs share doorbells, and of what they write into
 * one, memory keeps the last. Layouts: {@code struct erdma_..._sqe} and {@code erdma_rqe} of the driver's erdma_hw.h.
 *
 * <p>Work requests have the last 20 bits of the number, and completions all 24 of a number of soft0.
 */
final class ErdmaQueuePair extends PostingQueuePair {
    static final Layout REQUEST = Layout.of("db_record_va:8 qbuf_va:8 qbuf_len:4 rsvd0:4");
    static final Layout RESPONSE = Layout.of("qp_id:4 num_sqe:4 num_rqe:4 rq_offset:4");

    private static final Layout RECEIVE = Layout.of("qe_idx:2 rsvd:2 qpn:4 rsvd2:4 rsvd3:4 to:8 length:4 stag:4");

    /** Of a send or a write, up to the buffers or the data. A send has none of the remote memory. */
    private static final Layout SEND = Layout.of("hdr:8 imm_data:4 length:4");

    private static final Layout WRITE =
            Layout.of("hdr:8 imm_data:4 length:4 sink_stag:4 sink_to_low:4 sink_to_high:4 rsvd:4");

    /** A read, whose buffer is where a write has the remote memory, and which has that as a buffer. */
    private static final Layout READ =
            Layout.of("hdr:8 invalid_stag:4 length:4 sink_stag:4 sink_to_low:4 sink_to_high:4 rsvd:4");

    private static final Layout ATOMIC = Layout.of("hdr:8 rsvd:8 fetchadd_swap_data:8 cmp_data:8");
    private static final Layout BUFFER = Layout.of("addr:8 length:4 key:4");

    /** A unit of the ring of sends. */
    private static final int UNIT = 32;

    /** As many units has the largest send. */
    private static final int MAX_UNITS = 4;

    private static final int OP_WRITE = 0;
    private static final int OP_READ = 1;
    private static final int OP_SEND = 2;
    private static final int OP_SEND_IMM = 3;
    private static final int OP_WRITE_IMM = 9;
    private static final int OP_COMPARE_SWAP = 17;
    private static final int OP_FETCH_ADD = 18;

    // Of the header of a send.
    private static final int OPCODE_SHIFT = 27;
    private static final int OPCODE_MASK = 0x1f;
    private static final int INLINE = 1 << 25;
    private static final int FENCE = 1 << 24;
    private static final int SOLICITED = 1 << 23;
    private static final int COMPLETION = 1 << 22;
    private static final int COUNTER = 0xffff;
    private static final int NUMBER_MASK = 0xf_ffff;
    private static final int UNITS_SHIFT = 52;
    private static final int UNITS_MASK = 7;
    private static final int BUFFERS_SHIFT = 56;

    private final long sendRing;
    private final int sendUnits;
    private final long receiveRing;
    private final int receives;
    private final long record;

    ErdmaQueuePair(DeviceFile file, Card.QueuePairRequest request) {
        super(file, request);
        View in = REQUEST.at(request.in());
        record = in.get("db_record_va");
        // The driver clears them after the command; until then they may have anything.
        Memory.putLong(record, 0);
        Memory.putLong(record + Long.BYTES, 0);
        sendUnits = powerOfTwo(request.sends() * MAX_UNITS);
        receives = powerOfTwo(request.receives());
        sendRing = in.get("qbuf_va");
        long offset = (((long) sendUnits * UNIT + ErdmaCard.PAGE - 1) / ErdmaCard.PAGE) * ErdmaCard.PAGE;
        receiveRing = sendRing + offset;
        RESPONSE.at(request.out())
                .set("qp_id", number())
                .set("num_sqe", sendUnits)
                .set("num_rqe", receives)
                .set("rq_offset", offset);
    }

    /** Rounds a positive number up. */
    private static int powerOfTwo(int number) {
        return number == 1 ? 1 : Integer.highestOneBit(number - 1) << 1;
    }

    @Override
    public int userIndex() {
        return number();
    }

    @Override
    public void inject(boolean receive, InjectedError error) {
        if (error.vendorError() != 0) {
            throw new IllegalArgumentException(
                    "vendorError is " + error.vendorError() + "; completions of eRDMA have none, so it must be 0");
        }
        super.inject(receive, error);
    }

    @Override
    int countOfSends() {
        return Memory.getIntAcquire(record) & COUNTER;
    }

    @Override
    int countOfReceives() {
        return Memory.getIntAcquire(record + Long.BYTES) & COUNTER;
    }

    /** The driver knows nothing of that state, and goes on counting. */
    @Override
    Start startAfterReset() {
        return new Start(countOfSends(), countOfReceives());
    }

    @Override
    int opcodeOf(int counter) {
        return (int) header(counter) >>> OPCODE_SHIFT & OPCODE_MASK;
    }

    @Override
    int unitsOf(int counter) {
        return ((int) (header(counter) >>> UNITS_SHIFT) & UNITS_MASK) + 1;
    }

    private long header(int counter) {
        return Memory.getLong(unit(counter));
    }

    private long unit(int counter) {
        return sendRing + (long) (counter & sendUnits - 1) * UNIT;
    }

    @Override
    InjectedError readReceive(int counter) {
        View receive = RECEIVE.at(receiveRing + (long) (counter & receives - 1) * RECEIVE.size());
        if (receive.getInt("qe_idx") != (counter + 1 & COUNTER) || receive.getInt("qpn") != number()) {
            return ErdmaStatus.RECV_WQE_FORMAT_ERR.error();
        }
        int length = receive.getInt("length");
        if (length != 0) {
            // Where there is none, the rest is that of an earlier receive.
            post.segment(receive.get("to"), length, receive.getInt("stag"));
        }
        return null;
    }

    @Override
    boolean postSend(int counter) {
        long header = header(counter);
        boolean isWhole = ((int) header & COUNTER) == (counter + unitsOf(counter) & COUNTER)
                && ((int) (header >>> Integer.SIZE) & NUMBER_MASK) == (number() & NUMBER_MASK);
        // What the driver writes is always whole, unless it has written over it.
        if (!isWhole || !read(counter, header)) {
            failSend(ErdmaStatus.SEND_WQE_FORMAT_ERR.error());
            return true;
        }
        return finish(post.send(request.softPair()));
    }

    /** Reads a send. Returns false if its opcode is not one that this card knows. */
    private boolean read(int counter, long header) {
        post.flags((header & COMPLETION) != 0, (header & SOLICITED) != 0, (header & FENCE) != 0);
        int opcode = opcodeOf(counter);
        switch (opcode) {
            case OP_SEND, OP_SEND_IMM -> {
                post.opcode(opcode == OP_SEND ? rdma_h.IBV_WR_SEND() : rdma_h.IBV_WR_SEND_WITH_IMM())
                        .immediate(SEND.at(unit(counter)).getInt("imm_data"));
                data(counter, header, SEND.size());
            }
            case OP_WRITE, OP_WRITE_IMM -> {
                View write = WRITE.at(unit(counter));
                post.opcode(opcode == OP_WRITE ? rdma_h.IBV_WR_RDMA_WRITE() : rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM())
                        .immediate(write.getInt("imm_data"));
                post.remote(sink(write), write.getInt("sink_stag"));
                data(counter, header, WRITE.size());
            }
            case OP_READ -> {
                View read = READ.at(unit(counter));
                View remote = BUFFER.at(unit(counter + 1));
                post.opcode(rdma_h.IBV_WR_RDMA_READ());
                post.remote(remote.get("addr"), remote.getInt("key"));
                post.segment(sink(read), read.getInt("length"), read.getInt("sink_stag"));
            }
            case OP_COMPARE_SWAP, OP_FETCH_ADD -> {
                View atomic = ATOMIC.at(unit(counter));
                View remote = BUFFER.at(unit(counter + 1));
                View local = BUFFER.at(remote.end());
                boolean swap = opcode == OP_COMPARE_SWAP;
                long first = atomic.get("fetchadd_swap_data");
                post.opcode(swap ? rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP() : rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD());
                post.atomic(
                        remote.get("addr"),
                        remote.getInt("key"),
                        swap ? atomic.get("cmp_data") : first,
                        swap ? first : 0);
                post.segment(local.get("addr"), local.getInt("length"), local.getInt("key"));
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static long sink(View request) {
        return request.get("sink_to_high") << Integer.SIZE | request.get("sink_to_low");
    }

    /** Adds the buffers of a send, or its own data, which begin behind the fixed part. */
    private void data(int counter, long header, int fixed) {
        int count = (int) (header >>> BUFFERS_SHIFT);
        boolean isInline = (header & INLINE) != 0;
        for (int i = 0; i < count; i++) {
            int offset = fixed + i * (isInline ? 1 : BUFFER.size());
            long at = unit(counter + offset / UNIT) + offset % UNIT;
            if (isInline) {
                post.inline(Memory.getByte(at));
            } else {
                View buffer = BUFFER.at(at);
                post.segment(buffer.get("addr"), buffer.getInt("length"), buffer.getInt("key"));
            }
        }
    }
}
