package org.rdmapanama.cards;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.mlx5.mlx5dv_cq;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.mlx5.mlx5dv_obj;
import org.rdmapanama.ffm.mlx5.mlx5dv_qp;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.soft.memory.Memory;

/**
 * A queue pair with a completion queue of its own, and the rings of both, which a test reads and writes in place of the
 * device. One twin is used through the driver, the other one directly.
 */
final class TwinQueuePair {
    static final int RECEIVES = 30;

    /** What a register contains where nothing was stored since {@link #clearRegister}. */
    static final long UNTOUCHED = 0x5555_5555_5555_5555L;

    private static final int ENTRIES = 255;
    private static final int UNIT = 64;
    private static final int SEGMENT = 16;
    private static final long LIMIT_NANOS = 5_000_000_000L;
    private static final int MASK_24 = 0xff_ffff;

    // Fields of a completion.
    private static final int USER_INDEX = 32;
    private static final int APPLICATION = 40;
    private static final int SYNDROME = 55;
    private static final int NUMBER = 56;
    private static final int COUNTER = 60;
    private static final int OWNER = 63;

    /** From this kind on, completions tell of errors. */
    static final int FIRST_ERROR = 13;

    final ExtendedCompletionQueue queue;
    final ExtendedQueuePair queuePair;
    final WorkCompletions completions;
    final SendWorkRequest[] sends = new SendWorkRequest[DirectRingsCardTest.LONGEST_CHAIN];
    final ReceiveWorkRequest[] receives = new ReceiveWorkRequest[DirectRingsCardTest.LONGEST_CHAIN];

    private final long records;
    private final long sendRing;
    private final int sendUnits;
    private final long receiveRing;
    private final int receiveEntries;
    private final int receiveBytes;
    private final long doorbell;
    private final int doorbellBytes;
    private final long completionRing;
    private final int completionEntries;
    private final int completionBytes;
    private final long completionRecords;
    private final int userIndex;

    private final int maxSegments;
    private long rung;
    private long rungInSecondHalf;

    /** How many completions were written. */
    private int produced;

    /** How many sends it takes, and how much each of them has. */
    record Sizes(int sends, int segments, int inline) {}

    /**
     * Creates a queue pair and connects it to itself.
     *
     * @param domain a parent domain, if it shall be in a thread domain
     * @param direct false for one that is used through the driver
     */
    TwinQueuePair(
            Context context,
            ProtectionDomain domain,
            MemoryRegion region,
            QueuePairType type,
            Sizes sizes,
            boolean direct) {
        maxSegments = sizes.segments();
        NativeLibrary.MLX5.load();
        queue = context.createCompletionQueue(new CompletionQueueOptions(ENTRIES)
                .fields(
                        CompletionField.BYTE_LEN,
                        CompletionField.IMM,
                        CompletionField.QP_NUM,
                        CompletionField.SRC_QP,
                        CompletionField.SLID,
                        CompletionField.SL,
                        CompletionField.DLID_PATH_BITS)
                .direct(direct));
        queuePair = domain.createExtendedQueuePair(new QueuePairOptions(type, queue)
                .maxSendWorkRequests(sizes.sends())
                .maxReceiveWorkRequests(RECEIVES)
                .maxSegments(maxSegments, maxSegments)
                .maxInlineData(sizes.inline())
                .sendOperations(operations(type)));
        completions = new WorkCompletions(queue, ENTRIES);
        for (int i = 0; i < sends.length; i++) {
            sends[i] = SendWorkRequest.allocate(queuePair, maxSegments);
            receives[i] = ReceiveWorkRequest.allocate(queuePair, maxSegments);
        }
        connect();
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment object = temporary.allocate(mlx5dv_obj.layout());
            MemorySegment qp = temporary.allocate(mlx5dv_qp.layout());
            MemorySegment cq = temporary.allocate(mlx5dv_cq.layout());
            mlx5dv_obj.qp.in(mlx5dv_obj.qp(object), MemorySegment.ofAddress(queuePair.nativeAddress()));
            mlx5dv_obj.qp.out(mlx5dv_obj.qp(object), qp);
            mlx5dv_obj.cq.in(mlx5dv_obj.cq(object), MemorySegment.ofAddress(queue.nativeAddress()));
            mlx5dv_obj.cq.out(mlx5dv_obj.cq(object), cq);
            int result = mlx5dv_h.mlx5dv_init_obj(object, mlx5dv_h.MLX5DV_OBJ_QP() | mlx5dv_h.MLX5DV_OBJ_CQ());
            if (result != 0) {
                throw new IllegalStateException("mlx5dv_init_obj: " + result);
            }
            records = mlx5dv_qp.dbrec(qp).address();
            sendRing = mlx5dv_qp.sq.buf(mlx5dv_qp.sq(qp)).address();
            sendUnits = mlx5dv_qp.sq.wqe_cnt(mlx5dv_qp.sq(qp));
            receiveRing = mlx5dv_qp.rq.buf(mlx5dv_qp.rq(qp)).address();
            receiveEntries = mlx5dv_qp.rq.wqe_cnt(mlx5dv_qp.rq(qp));
            receiveBytes = mlx5dv_qp.rq.stride(mlx5dv_qp.rq(qp));
            doorbell = mlx5dv_qp.bf.reg(mlx5dv_qp.bf(qp)).address();
            doorbellBytes = mlx5dv_qp.bf.size(mlx5dv_qp.bf(qp));
            completionRing = mlx5dv_cq.buf(cq).address();
            completionEntries = mlx5dv_cq.cqe_cnt(cq);
            completionBytes = mlx5dv_cq.cqe_size(cq);
            completionRecords = mlx5dv_cq.dbrec(cq).address();
        }
        userIndex = completeOne(region);
        reset();
        connect();
        Memory.zero(sendRing, (long) sendUnits * UNIT);
        Memory.zero(receiveRing, (long) receiveEntries * receiveBytes);
    }

    private static SendOperation[] operations(QueuePairType type) {
        SendOperation[] all = {
            SendOperation.SEND,
            SendOperation.SEND_WITH_IMM,
            SendOperation.SEND_WITH_INV,
            SendOperation.RDMA_WRITE,
            SendOperation.RDMA_WRITE_WITH_IMM,
            SendOperation.RDMA_READ,
            SendOperation.ATOMIC_CMP_AND_SWP,
            SendOperation.ATOMIC_FETCH_AND_ADD
        };
        return Arrays.copyOf(all, operationCount(type));
    }

    /** Returns how many operations queue pairs of a type have: each type has the first ones of the next. */
    static int operationCount(QueuePairType type) {
        return switch (type) {
            case UD -> 2;
            case UC -> 5;
            default -> 8;
        };
    }

    /** Has the card flush a receive, and returns the index by which completions name this queue pair. */
    private int completeOne(MemoryRegion region) {
        queuePair.postReceive(receives[0].id(1).clear().add(region, 0, 1));
        queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        long start = System.nanoTime();
        while (queue.poll(completions) == 0) {
            if (System.nanoTime() - start > LIMIT_NANOS) {
                throw new IllegalStateException("the card does not flush a receive of " + queuePair);
            }
            Thread.onSpinWait();
        }
        int index = Memory.getNetInt(entry(0) + USER_INDEX) & MASK_24;
        produced = 1;
        return index;
    }

    /** Has the card believe that nothing was posted, and forgets what was. */
    void forget() {
        Memory.putInt(records, 0);
        Memory.putInt(records + Integer.BYTES, 0);
        reset();
    }

    private void reset() {
        queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
    }

    private void connect() {
        if (queuePair.type() == QueuePairType.UD) {
            queuePair.activate();
        } else {
            queuePair.connect(queuePair.localEndpoint(new ConnectOptions()));
        }
    }

    // ---- what was posted

    int sendUnits() {
        return sendUnits;
    }

    int sendCounter() {
        return Memory.getNetInt(records + Integer.BYTES);
    }

    int receiveCounter() {
        return Memory.getNetInt(records);
    }

    int armRecord() {
        return Memory.getNetInt(completionRecords + Integer.BYTES);
    }

    int consumedRecord() {
        return Memory.getNetInt(completionRecords);
    }

    /** Returns where a unit of the send queue is, counted on without wrapping around. */
    long unit(int position) {
        return sendRing + (long) (position & (sendUnits - 1)) * UNIT;
    }

    /** Returns how many units the work request has that begins at a position. */
    int unitsOf(int position) {
        return (segmentsOf(position) * SEGMENT + UNIT - 1) / UNIT;
    }

    /**
     * Returns eight bytes of a work request, the first ones without the number of the queue pair.
     *
     * @param position where the work request begins
     * @param index from 0
     */
    long word(int position, int index) {
        int words = UNIT / Long.BYTES;
        long value = Memory.getNetLong(unit(position + index / words) + (long) (index % words) * Long.BYTES);
        return index == 0 ? withoutNumber(value) : value;
    }

    private long withoutNumber(long first) {
        return first - ((long) queuePair.number() << Byte.SIZE);
    }

    /** Returns how many segments, of 16 bytes, the work request has that begins at a position. */
    int segmentsOf(int position) {
        return Memory.getNetInt(unit(position) + Integer.BYTES) & 0x3f;
    }

    /** Returns how many words of eight bytes a half of the doorbell register has. */
    int halfWords() {
        return doorbellBytes / Long.BYTES;
    }

    /**
     * Returns eight bytes of the doorbell register, the first ones of a half without the number of the queue pair.
     *
     * @param index from 0, over both halves
     */
    long registerWord(int index) {
        long value = Memory.getNetLong(doorbell + (long) index * Long.BYTES);
        return index % halfWords() == 0 && value != UNTOUCHED ? withoutNumber(value) : value;
    }

    /** Forgets what the doorbell was rung with. */
    void clearRegister() {
        for (int i = 0; i < 2 * halfWords(); i++) {
            Memory.putLong(doorbell + (long) i * Long.BYTES, UNTOUCHED);
        }
    }

    void zeroUnits(int position, int count) {
        for (int i = 0; i < count; i++) {
            Memory.zero(unit(position + i), UNIT);
        }
    }

    int receiveBytes() {
        return receiveBytes;
    }

    long receiveWord(int number, int index) {
        return Memory.getLong(
                receiveRing + (long) (number & (receiveEntries - 1)) * receiveBytes + (long) index * Long.BYTES);
    }

    /** Reads the doorbell, before another queue pair uses it. The driver may use its two halves in turn. */
    void noteDoorbell() {
        rung = Memory.getLong(doorbell);
        rungInSecondHalf = Memory.getLong(doorbell + doorbellBytes);
    }

    /** Whether the doorbell was rung with the first eight bytes of a work request. */
    boolean rangWith(int position) {
        long expected = Memory.getLong(unit(position));
        return rung == expected || rungInSecondHalf == expected;
    }

    // ---- what the device writes

    private long entry(int number) {
        return completionRing + (long) (number & (completionEntries - 1)) * completionBytes + completionBytes - UNIT;
    }

    /**
     * Writes a completion.
     *
     * @param noise what all other fields contain
     * @param known whether it is of this queue pair
     */
    void complete(int kind, int operation, int counter, int syndrome, long[] noise, boolean known) {
        long entry = entry(produced);
        for (int i = 0; i < noise.length; i++) {
            Memory.putLong(entry + (long) i * Long.BYTES, noise[i]);
        }
        int stranger = known ? 0 : 0x55_5555;
        Memory.putNetInt(entry + USER_INDEX, userIndex ^ stranger);
        Memory.putByte(entry + APPLICATION, (byte) 0);
        Memory.putNetInt(entry + NUMBER, operation << 24 | (queuePair.number() ^ stranger));
        Memory.putNetShort(entry + COUNTER, (short) counter);
        if (kind >= FIRST_ERROR) {
            Memory.putByte(entry + SYNDROME, (byte) syndrome);
        }
        int owner = (produced & completionEntries) == 0 ? 0 : 1;
        VarHandle.releaseFence();
        Memory.putByte(entry + OWNER, (byte) (kind << 4 | owner));
        produced++;
    }
}
