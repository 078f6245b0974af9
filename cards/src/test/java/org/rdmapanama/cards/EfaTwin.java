package org.rdmapanama.cards;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.efa.EfaDevice;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.efa.efadv_cq_attr;
import org.rdmapanama.ffm.efa.efadv_h;
import org.rdmapanama.ffm.efa.efadv_wq_attr;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.soft.memory.Memory;

/**
 * An SRD queue pair with a completion queue of its own, and the rings of both, which a test reads and writes in place of the
 * device. One twin is used through the driver, the other one directly.
 */
final class EfaTwin {
    static final int RECEIVE_BYTES = 16;

    static final int SEGMENTS = 2;

    private static final int CAPACITY = 256;
    private static final int COMPLETION_BYTES = 32;
    private static final int FLAGS = 3;

    /** The lower two bytes of an entry, which name the work request: each twin has its own. */
    private static final long REQUEST = 0xffff;

    private static final long REQUEST_OF_RECEIVE = 0xffff;

    final ExtendedCompletionQueue queue;
    final ExtendedQueuePair queuePair;
    final WorkCompletions completions;
    final SendWorkRequest[] sends = new SendWorkRequest[EfaRingsCardTest.LONGEST_CHAIN];
    final ReceiveWorkRequest[] receives = new ReceiveWorkRequest[EfaRingsCardTest.LONGEST_CHAIN];

    private final long sendRing;
    private final int sendEntries;
    private final int sendBytes;
    private final long sendDoorbell;
    private final long receiveRing;
    private final int receiveEntries;
    private final long receiveDoorbell;
    private final long completionRing;
    private final int completionEntries;
    private final long completionDoorbell;

    /** How many completions were written to each ring. */
    private final int[] produced = new int[EfaCard.SUB_QUEUES];

    EfaTwin(Context context, ProtectionDomain domain, CompletionChannel channel, int inline, boolean direct) {
        NativeLibrary.EFA.load();
        queue = context.createCompletionQueue(new CompletionQueueOptions(CAPACITY)
                .channel(channel)
                .fields(
                        CompletionField.BYTE_LEN,
                        CompletionField.IMM,
                        CompletionField.QP_NUM,
                        CompletionField.SRC_QP,
                        CompletionField.SLID,
                        CompletionField.SL,
                        CompletionField.DLID_PATH_BITS)
                .direct(direct));
        queuePair = EfaDevice.of(context)
                .createExtendedQueuePair(
                        domain,
                        new QueuePairOptions(QueuePairType.DRIVER, queue)
                                .maxSendWorkRequests(60)
                                .maxReceiveWorkRequests(30)
                                .maxSegments(SEGMENTS, SEGMENTS)
                                .maxInlineData(inline)
                                .sendOperations(
                                        SendOperation.SEND,
                                        SendOperation.SEND_WITH_IMM,
                                        SendOperation.RDMA_READ,
                                        SendOperation.RDMA_WRITE,
                                        SendOperation.RDMA_WRITE_WITH_IMM));
        completions = new WorkCompletions(queue, CAPACITY);
        for (int i = 0; i < sends.length; i++) {
            sends[i] = SendWorkRequest.allocate(queuePair, SEGMENTS);
            receives[i] = ReceiveWorkRequest.allocate(queuePair, SEGMENTS);
        }
        queuePair.activate();
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment sq = temporary.allocate(efadv_wq_attr.layout());
            MemorySegment rq = temporary.allocate(efadv_wq_attr.layout());
            MemorySegment cq = temporary.allocate(efadv_cq_attr.layout());
            int result = efadv_h.efadv_query_qp_wqs(
                            MemorySegment.ofAddress(queuePair.nativeAddress()), sq, rq, (int) efadv_wq_attr.sizeof())
                    + efadv_h.efadv_query_cq(
                            MemorySegment.ofAddress(queue.nativeAddress()), cq, (int) efadv_cq_attr.sizeof());
            if (result != 0) {
                throw new IllegalStateException("the driver does not tell where the rings are: " + result);
            }
            sendRing = efadv_wq_attr.buffer(sq).address();
            sendEntries = efadv_wq_attr.num_entries(sq);
            sendBytes = efadv_wq_attr.entry_size(sq);
            sendDoorbell = efadv_wq_attr.doorbell(sq).address();
            receiveRing = efadv_wq_attr.buffer(rq).address();
            receiveEntries = efadv_wq_attr.num_entries(rq);
            receiveDoorbell = efadv_wq_attr.doorbell(rq).address();
            completionRing = efadv_cq_attr.buffer(cq).address();
            completionEntries = efadv_cq_attr.num_entries(cq);
            completionDoorbell = efadv_cq_attr.doorbell(cq).address();
        }
    }

    /** Has the card believe that nothing was posted, and begins anew. */
    void reset() {
        Memory.putInt(sendDoorbell, 0);
        Memory.putInt(receiveDoorbell, 0);
        queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
    }

    // ---- what was posted

    int sendBytes() {
        return sendBytes;
    }

    int sendCounter() {
        return Memory.getInt(sendDoorbell);
    }

    int receiveCounter() {
        return Memory.getInt(receiveDoorbell);
    }

    int completionCommand() {
        return Memory.getInt(completionDoorbell);
    }

    /** Returns eight bytes of an entry, the first ones without the number of the work request. */
    long sendWord(int position, int index) {
        long word = Memory.getLong(send(position) + (long) index * Long.BYTES);
        return index == 0 ? word & ~REQUEST : word;
    }

    /** Returns the number by which the device knows a send. */
    int sendRequest(int position) {
        return (int) (Memory.getLong(send(position)) & REQUEST);
    }

    private long send(int position) {
        return sendRing + (long) (position & (sendEntries - 1)) * sendBytes;
    }

    /** Returns eight bytes of a descriptor, the second ones without the number of the work request. */
    long receiveWord(int position, int index) {
        long word = Memory.getLong(receive(position) + (long) index * Long.BYTES);
        return index == 1 ? word & ~REQUEST_OF_RECEIVE : word;
    }

    /** Returns the number by which the device knows a receive, at its first descriptor. */
    int receiveRequest(int position) {
        return (int) (Memory.getLong(receive(position) + Long.BYTES) & REQUEST_OF_RECEIVE);
    }

    private long receive(int position) {
        return receiveRing + (long) (position & (receiveEntries - 1)) * RECEIVE_BYTES;
    }

    // ---- what the device writes

    /**
     * Writes a completion.
     *
     * @param ring of sends or of receives
     * @param noise what all fields contain that are not named here
     * @param flags all but the phase
     */
    void complete(int ring, long[] noise, int request, int status, int flags, int number) {
        int index = produced[ring]++;
        long entry = completionRing
                + ((long) ring * completionEntries + (index & (completionEntries - 1))) * COMPLETION_BYTES;
        int phase = index / completionEntries % 2 == 0 ? 1 : 0;
        long first = (noise[0] & 0xffff_0000_0000_0000L)
                | (long) number << Integer.SIZE
                | (long) status << Short.SIZE
                | request;
        // The old phase stays until the rest is there.
        long old = Memory.getByte(entry + FLAGS) & 1L;
        Memory.putLong(entry, first | old << 24);
        for (int i = 1; i < noise.length; i++) {
            Memory.putLong(entry + (long) i * Long.BYTES, noise[i]);
        }
        VarHandle.releaseFence();
        Memory.putByte(entry + FLAGS, (byte) (flags | phase));
    }
}
