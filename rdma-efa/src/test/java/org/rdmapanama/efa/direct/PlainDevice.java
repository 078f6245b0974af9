package org.rdmapanama.efa.direct;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.DirectPath.QueuePairParts;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairType;

/**
 * Queues whose rings are plain memory: a test posts and polls, and takes the place of the device, which may write any completion.
 * The completion queue has one ring, that is as large as the queues of a queue pair.
 */
final class PlainDevice {
    private static final int QUEUE_SHIFT = 25;
    private static final int SEND = 1;
    private static final int RECEIVE = 2;
    private static final int PHASE_SHIFT = 24;
    private static final int SIGNALED = rdma_h.IBV_SEND_SIGNALED();

    private final Arena arena;
    private final int entries;
    private final MemorySegment ring;
    private final MemorySegment state;
    private final MemorySegment doorbell;
    private final MemorySegment completionDoorbell;
    private final MemorySegment extended;
    private final MemorySegment polled;
    private final Generations generations = new Generations();

    /** How many completions were written. */
    private int produced;

    final CompletionQueueRing completions;

    PlainDevice(Arena arena, int entries) {
        this.arena = arena;
        this.entries = entries;
        ring = arena.allocate((long) entries * CompletionQueueRing.ENTRY_BYTES, CompletionQueueRing.ENTRY_BYTES);
        state = arena.allocate(Integer.BYTES, Integer.BYTES);
        RingMemory.putInt(state.address(), rdma_h.IBV_QPS_RTS());
        doorbell = arena.allocate(Integer.BYTES, Integer.BYTES);
        completionDoorbell = arena.allocate(Integer.BYTES, Integer.BYTES);
        extended = arena.allocate(2 * ibv_cq_ex.sizeof(), Long.BYTES);
        polled = arena.allocate(ibv_wc.layout());
        completions = new CompletionQueueRing(
                extended.address(), ring.address(), entries, completionDoorbell.address(), 1, true);
    }

    Cursor cursor() {
        return new Cursor((RingCompletionVerbs) completions.completionVerbs());
    }

    /** Polls one completion into {@link #polled}. Returns how many there were, or a negated errno. */
    int poll() {
        return completions.pollCompletionQueue(0, 1, polled.address());
    }

    /** Whether the last value of the doorbell asks for an event. */
    boolean isArmed() {
        return RingMemory.getInt(completionDoorbell.address()) < 0;
    }

    long id() {
        return ibv_wc.wr_id(polled);
    }

    int bytes() {
        return ibv_wc.byte_len(polled);
    }

    int source() {
        return ibv_wc.src_qp(polled);
    }

    int immediate() {
        return Integer.reverseBytes(ibv_wc.imm_data(polled));
    }

    /** A cursor, without the addresses that it ignores. */
    record Cursor(RingCompletionVerbs verbs) {
        int start() {
            return verbs.startPoll(0, 0);
        }

        int next() {
            return verbs.nextPoll(0);
        }

        void end() {
            verbs.endPoll(0);
        }
    }

    /** Writes a completion, with a number in all fields that tell of a message. */
    private void complete(int queue, int queuePair, int number, int value) {
        long at = ring.address() + (long) (produced % entries) * CompletionQueueRing.ENTRY_BYTES;
        long phase = produced / entries % 2 == 0 ? 1 : 0;
        produced++;
        int message = value & 0x7fff;
        RingMemory.putInt(at + 8, message << Short.SIZE | message);
        RingMemory.putInt(at + 12, message);
        RingMemory.putInt(at + 4, message << Short.SIZE | queuePair);
        int immediate = 1 << 27;
        int first = queue << QUEUE_SHIFT | immediate | (int) phase << PHASE_SHIFT | number;
        VarHandle.releaseFence();
        RingMemory.putInt(at, first);
    }

    /** A queue pair of this device. */
    final class Pair {
        private final int number;
        private final MemorySegment sendRing;
        private final MemorySegment receiveRing;
        private final MemorySegment receive = arena.allocate(ibv_recv_wr.layout());
        private final MemorySegment bad = arena.allocate(Long.BYTES, Long.BYTES);
        private final RingSendVerbs builder;
        private int sent;
        private int received;
        final RingQueuePair rings;

        Pair(int number) {
            this.number = number;
            sendRing = arena.allocate((long) entries * SendQueueRing.ENTRY_BYTES, SendQueueRing.ENTRY_BYTES);
            receiveRing = arena.allocate((long) entries * ReceiveQueueRing.ENTRY_BYTES, ReceiveQueueRing.ENTRY_BYTES);
            MemorySegment part = arena.allocate(ibv_sge.layout());
            ibv_recv_wr.sg_list(receive, part);
            ibv_recv_wr.num_sge(receive, 1);
            QueuePairParts parts = new QueuePairParts(
                    new QueuePairCapabilities(entries, entries, 1, 1, 0),
                    false,
                    completions,
                    completions,
                    null,
                    false,
                    null);
            rings = new RingQueuePair(
                    number,
                    new SendQueueRing(
                            new SendQueueRing.Place(
                                    sendRing.address(),
                                    entries,
                                    SendQueueRing.ENTRY_BYTES,
                                    doorbell.address(),
                                    entries),
                            state.address(),
                            QueuePairType.DRIVER,
                            parts,
                            generations.ofSends(number)),
                    new ReceiveQueueRing(
                            receiveRing.address(),
                            entries,
                            doorbell.address(),
                            state.address(),
                            parts,
                            generations.ofReceives(number)),
                    completions,
                    completions);
            rings.join();
            builder = (RingSendVerbs) rings.sendVerbs();
        }

        /** Posts a send. Returns the number by which the device knows it, or a negated errno. */
        int send(long id) {
            builder.wrStart(0);
            builder.identify(0, id, SIGNALED);
            builder.wrSend(0);
            builder.wrSetSge(0, 3, 4, 5);
            int error = builder.wrComplete(0);
            if (error != 0) {
                return error;
            }
            return RingMemory.getShort(sendRing.address() + (long) (sent++ % entries) * SendQueueRing.ENTRY_BYTES)
                    & 0xffff;
        }

        /** Posts a receive. Returns the number by which the device knows it, or a negated errno. */
        int receive(long id) {
            ibv_recv_wr.wr_id(receive, id);
            int error = rings.postReceive(0, receive.address(), bad.address());
            if (error != 0) {
                return error;
            }
            long descriptor = receiveRing.address() + (long) (received++ % entries) * ReceiveQueueRing.ENTRY_BYTES;
            return RingMemory.getShort(descriptor + Long.BYTES) & 0xffff;
        }

        void completeSend(int request) {
            complete(SEND, number, request, 0);
        }

        /** Completes a receive of a message whose length, sender and immediate data are a value, up to 0x7fff. */
        void completeReceive(int request, int value) {
            complete(RECEIVE, number, request, value);
        }

        /** The device has put this into state RESET. */
        void reset() {
            rings.cleared(false);
            begin();
        }

        /** The same while the caller holds the lock of the completion queue. */
        void resetUnderLock() {
            rings.forget(completions);
            begin();
        }

        private void begin() {
            sent = 0;
            received = 0;
        }
    }
}
