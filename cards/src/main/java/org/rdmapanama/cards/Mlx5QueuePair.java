package org.rdmapanama.cards;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;

/**
 * A queue pair of a ConnectX card. The provider counts in the doorbell record what it has posted. Layouts: {@code
 * infiniband/mlx5dv.h}.
 */
final class Mlx5QueuePair extends PostingQueuePair {
    static final Layout REQUEST = Layout.of("""
            buf_addr:8 db_addr:8 sq_wqe_count:4 rq_wqe_count:4 rq_wqe_shift:4 flags:4 uidx:4 bfreg_index:4
            sq_buf_addr:8 ece_options:4 dci_streams:2 reserved:2""");

    /** A unit of the send queue's ring. */
    private static final int UNIT = 64;

    private static final int SEGMENT = 16;

    // Opcodes.
    private static final int SEND_INVALIDATE = 0x01;
    private static final int WRITE = 0x08;
    private static final int WRITE_IMM = 0x09;
    private static final int SEND = 0x0a;
    private static final int SEND_IMM = 0x0b;
    private static final int READ = 0x10;
    private static final int COMPARE_SWAP = 0x11;
    private static final int FETCH_ADD = 0x12;
    private static final int UPDATE_REGION = 0x25;

    // Of an update of a memory key.
    private static final int KEY_FREE = 1 << 6;
    private static final int CHECKS_PAIR = 1 << 3;

    // Flags of the control segment.
    private static final int SOLICITED = 1 << 1;
    private static final int COMPLETION = 3 << 2;
    private static final int FENCE = 3 << 6;

    private static final int INLINE = 0x8000_0000;

    /** The key that ends the segments of a receive. */
    private static final int NO_KEY = 0x100;

    private final long sendRing;
    private final int sendUnits;
    private final long receiveRing;
    private final int receives;
    private final int receiveShift;
    private final long record;
    private final int userIndex;

    /** Where its doorbell is, or null. */
    private final Mlx5RegisterPage registers;

    /** How many work requests were in a register as a whole. */
    private int taken;

    /** Null if this is of another type. */
    private final Mlx5DcInitiator initiator;

    /** Addresses that datagrams went to, by GID and index of the source. */
    private final Map<String, Long> addresses = new HashMap<>();

    /**
     * Creates a queue pair.
     *
     * @param registers where its doorbell is, or null
     * @param initiates whether it is an initiator of the dynamically connected transport
     */
    Mlx5QueuePair(
            Mlx5Card card,
            DeviceFile file,
            Card.QueuePairRequest request,
            Mlx5RegisterPage registers,
            boolean initiates) {
        super(file, request);
        this.registers = registers;
        View in = REQUEST.at(request.in());
        receives = in.getInt("rq_wqe_count");
        receiveShift = in.getInt("rq_wqe_shift");
        receiveRing = in.get("buf_addr");
        sendRing = receiveRing + ((long) receives << receiveShift);
        sendUnits = in.getInt("sq_wqe_count");
        record = in.get("db_addr");
        userIndex = in.getInt("uidx");
        initiator = initiates ? new Mlx5DcInitiator(card, file, this) : null;
        // libmlx5 ignores this number where it allocates registers itself.
        Memory.putInt(request.out(), 0);
    }

    @Override
    public int userIndex() {
        return userIndex;
    }

    @Override
    public int softMask(MemorySegment attributes, int mask) throws CommandException {
        return initiator == null ? mask : initiator.softMask(attributes, mask);
    }

    @Override
    public boolean completed(long id, int status) {
        boolean success = status == rdma_h.IBV_WC_SUCCESS();
        if (initiator != null) {
            initiator.completed(success);
        }
        return !success || !WorkId.isSilent(id);
    }

    @Override
    public void modified(MemorySegment attributes, int mask) {
        if (initiator != null) {
            initiator.modified(attributes, mask);
        }
        super.modified(attributes, mask);
    }

    @Override
    public void correctQuery(int mask, MemorySegment attributes) {
        if (initiator != null) {
            initiator.correctQuery(attributes);
        }
    }

    @Override
    public GivenToCard given() {
        Mlx5CompletionQueue completions = (Mlx5CompletionQueue) request.sendCompletions();
        return new GivenToCard(
                completions.entryBytes(), completions.isPadded(), registers == null ? -1 : registers.rungBy(number()));
    }

    @Override
    public void fail() {
        super.fail();
        if (initiator != null) {
            initiator.fail();
        }
    }

    @Override
    int countOfSends() {
        return sendUnits == 0 ? 0 : Rings.readCounter(record + Integer.BYTES);
    }

    @Override
    int countOfReceives() {
        return receives == 0 ? 0 : Rings.readCounter(record);
    }

    /** The driver clears the record after the command. */
    @Override
    Start startAfterReset() {
        return new Start(0, 0);
    }

    @Override
    int opcodeOf(int counter) {
        return Memory.getNetInt(segment(counter, 0)) & 0xff;
    }

    @Override
    int unitsOf(int counter) {
        return (segmentsOf(counter) * SEGMENT + UNIT - 1) / UNIT;
    }

    private int segmentsOf(int counter) {
        return Memory.getNetInt(segment(counter, 0) + 4) & 0x3f;
    }

    @Override
    public int takenFromRegister() {
        return taken;
    }

    @Override
    InjectedError readReceive(int counter) {
        long entry = receiveRing + ((long) (counter & receives - 1) << receiveShift);
        for (int i = 0; i < (1 << receiveShift) / SEGMENT; i++) {
            long segment = entry + (long) i * SEGMENT;
            int key = Memory.getNetInt(segment + 4);
            if (key == NO_KEY) {
                break;
            }
            post.segment(Memory.getNetLong(segment + 8), Memory.getNetInt(segment), key);
        }
        return null;
    }

    @Override
    public void close() {
        if (initiator != null) {
            initiator.close();
        }
        addresses.values().forEach(file.soft()::destroyAddressHandle);
        super.close();
    }

    private long segment(int counter, int number) {
        return sendRing
                + ((long) (counter & sendUnits - 1) * UNIT + (long) number * SEGMENT) % ((long) sendUnits * UNIT);
    }

    @Override
    boolean postSend(int counter) {
        long control = segment(counter, 0);
        long ringBytes = (long) sendUnits * UNIT;
        if (registers != null
                && registers.take(sendRing, ringBytes, control - sendRing, segmentsOf(counter) * SEGMENT)) {
            taken++;
        }
        int opcode = opcodeOf(counter);
        int segments = segmentsOf(counter);
        int flags = Memory.getByte(control + 11) & 0xff;
        post.flags((flags & COMPLETION) != 0, (flags & SOLICITED) != 0, (flags & FENCE) != 0);
        int next = 1;
        long pair = request.softPair();
        if (initiator != null) {
            if (opcode == UPDATE_REGION) {
                if (initiator.isBusy()) {
                    return false;
                }
                // This card has no memory windows for such queue pairs.
                failSend(rdma_h.IBV_WC_LOC_QP_OP_ERR());
                return true;
            }
            pair = connected(counter);
            if (pair <= 0) {
                if (pair < 0) {
                    failSend((int) -pair);
                }
                return pair < 0;
            }
            post.completeAlways((flags & COMPLETION) != 0);
            next += 3;
        } else if (request.type() == rdma_h.IBV_QPT_UD()) {
            addressed(counter, next);
            next += 3;
        }
        switch (opcode) {
            case SEND -> post.opcode(rdma_h.IBV_WR_SEND());
            case SEND_IMM -> post.opcode(rdma_h.IBV_WR_SEND_WITH_IMM()).immediate(Memory.getInt(control + 12));
            case SEND_INVALIDATE ->
                post.opcode(rdma_h.IBV_WR_SEND_WITH_INV()).immediate(Memory.getNetInt(control + 12));
            case WRITE, WRITE_IMM, READ -> {
                post.opcode(
                        opcode == READ
                                ? rdma_h.IBV_WR_RDMA_READ()
                                : opcode == WRITE ? rdma_h.IBV_WR_RDMA_WRITE() : rdma_h.IBV_WR_RDMA_WRITE_WITH_IMM());
                post.immediate(Memory.getInt(control + 12));
                post.remote(Memory.getNetLong(segment(counter, next)), Memory.getNetInt(segment(counter, next) + 8));
                next++;
            }
            case COMPARE_SWAP, FETCH_ADD -> {
                boolean swap = opcode == COMPARE_SWAP;
                post.opcode(swap ? rdma_h.IBV_WR_ATOMIC_CMP_AND_SWP() : rdma_h.IBV_WR_ATOMIC_FETCH_AND_ADD());
                long operands = segment(counter, next + 1);
                post.atomic(
                        Memory.getNetLong(segment(counter, next)),
                        Memory.getNetInt(segment(counter, next) + 8),
                        swap ? Memory.getNetLong(operands + 8) : Memory.getNetLong(operands),
                        swap ? Memory.getNetLong(operands) : 0);
                next += 2;
            }
            case UPDATE_REGION -> {
                return update(counter);
            }
            default ->
                throw new IllegalStateException("opcode 0x" + Integer.toHexString(opcode)
                        + " of a work request is not one that this card knows");
        }
        data(counter, next, segments);
        int result = post.send(pair);
        if (initiator != null && result == 0) {
            initiator.posted();
        }
        boolean mustWait = result != 0 && initiator != null && initiator.isBusy();
        return !mustWait && finish(result);
    }

    /** Returns what {@link Mlx5DcInitiator#pairFor} says to the target that a work request names. */
    private long connected(int counter) {
        long vector = segment(counter, 1);
        int number = Memory.getNetInt(vector + 8) & 0xff_ffff;
        int sourceIndex = Memory.getNetInt(segment(counter, 2) + 12) >>> 20 & 0xff;
        return initiator.pairFor(number, Memory.getNetLong(vector), segment(counter, 3), sourceIndex);
    }

    /** Binds or invalidates a memory window, by what changes a memory key. Returns false if soft0 has no room. */
    private boolean update(int counter) {
        int oldKey = Memory.getNetInt(segment(counter, 0) + 12);
        long context = segment(counter, 4);
        boolean invalidates = (Memory.getByte(context) & KEY_FREE) != 0;
        int newKey = (oldKey & ~0xff) | (Memory.getNetInt(context + 4) & 0xff);
        if (invalidates && (Memory.getByte(segment(counter, 1)) & CHECKS_PAIR) != 0) {
            post.opcode(rdma_h.IBV_WR_LOCAL_INV()).immediate(oldKey);
            return finish(post.send(request.softPair()));
        }
        long window = file.windowOf(oldKey);
        long start = invalidates ? 0 : Memory.getNetLong(context + 16);
        long length = invalidates ? 0 : Memory.getNetLong(segment(counter, 5) + 8);
        int access = 0;
        int granted = Memory.getByte(context + 2);
        access |= (granted & 1 << 3) != 0 ? rdma_h.IBV_ACCESS_LOCAL_WRITE() : 0;
        access |= (granted & 1 << 4) != 0 ? rdma_h.IBV_ACCESS_REMOTE_READ() : 0;
        access |= (granted & 1 << 5) != 0 ? rdma_h.IBV_ACCESS_REMOTE_WRITE() : 0;
        access |= (granted & 1 << 6) != 0 ? rdma_h.IBV_ACCESS_REMOTE_ATOMIC() : 0;
        long region = 0;
        if (!invalidates) {
            region = file.regionOf(Memory.getNetInt(segment(counter, 8) + 4));
            long address = Memory.getNetLong(segment(counter, 8) + 8);
            if (start == 0 && address != 0) {
                access |= rdma_h.IBV_ACCESS_ZERO_BASED();
            }
            start = address;
        }
        post.bind(window, newKey, region, start, length, access);
        return finish(post.bind(request.softPair(), window));
    }

    private void data(int counter, int first, int segments) {
        for (int i = first; i < segments; ) {
            long segment = segment(counter, i);
            int length = Memory.getNetInt(segment);
            if ((length & INLINE) == 0) {
                post.segment(Memory.getNetLong(segment + 8), length, Memory.getNetInt(segment + 4));
                i++;
            } else {
                int bytes = length & ~INLINE;
                for (int at = 0; at < bytes; at++) {
                    int offset = Integer.BYTES + at;
                    post.inline(Memory.getByte(segment(counter, i + offset / SEGMENT) + offset % SEGMENT));
                }
                i += (Integer.BYTES + bytes + SEGMENT - 1) / SEGMENT;
            }
        }
    }

    private void addressed(int counter, int number) {
        long vector = segment(counter, number);
        int key = Memory.getNetInt(vector);
        int pair = Memory.getNetInt(vector + 8) & 0xff_ffff;
        long rest = segment(counter, number + 1);
        int sourceIndex = Memory.getNetInt(rest + 12) >>> 20 & 0xff;
        int hops = Memory.getByte(rest + 11) & 0xff;
        long gid = segment(counter, number + 2);
        String name = sourceIndex + "/" + Memory.getNetLong(gid) + "/" + Memory.getNetLong(gid + 8);
        long address = addresses.computeIfAbsent(
                name, unused -> post.addressHandle(request.protectionDomain(), gid, sourceIndex, hops));
        post.datagram(address, pair, key);
    }
}
