package org.rdmapanama.efa.direct;

import static java.lang.foreign.ValueLayout.ADDRESS;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.DirectPath.QueuePairParts;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairType;

/** A program that posts to rings in memory and polls, until the second compiler has compiled all of that. */
final class RingLoop {
    private static final int ROUNDS = 30_000;
    private static final int ENTRIES = 64;
    private static final int NUMBER = 1;

    /** Shorter than the chain, which is therefore announced in two parts. */
    private static final int MAX_BATCH = 2;

    private static final int CHAIN = 3;
    private static final int SIGNALED = rdma_h.IBV_SEND_SIGNALED();

    private final CompletionQueueRing completions;
    private final SendQueueRing sends;
    private final RingSendVerbs builder;
    private final MemorySegment ring;
    private final MemorySegment entries;
    private final MemorySegment polled;

    /** A chain of sends with one segment to no address handle, which is number 0 without asking the driver. */
    private final MemorySegment send;

    private final MemorySegment bad;

    private int completed;

    private RingLoop(Arena arena) {
        ring = arena.allocate((long) ENTRIES * SendQueueRing.ENTRY_BYTES, SendQueueRing.ENTRY_BYTES);
        entries = arena.allocate((long) ENTRIES * CompletionQueueRing.ENTRY_BYTES, CompletionQueueRing.ENTRY_BYTES);
        polled = arena.allocate(ibv_wc.layout());
        MemorySegment last = MemorySegment.NULL;
        for (int i = 0; i < CHAIN; i++) {
            MemorySegment request = arena.allocate(ibv_send_wr.layout());
            ibv_send_wr.next(request, last);
            ibv_send_wr.opcode(request, rdma_h.IBV_WR_SEND());
            ibv_send_wr.send_flags(request, SIGNALED);
            ibv_send_wr.sg_list(request, arena.allocate(ibv_sge.layout()));
            ibv_send_wr.num_sge(request, 1);
            last = request;
        }
        send = last;
        bad = arena.allocate(ADDRESS);
        MemorySegment page = arena.allocate(2 * Integer.BYTES, Integer.BYTES);
        MemorySegment state = arena.allocate(Integer.BYTES, Integer.BYTES);
        RingMemory.putInt(state.address(), rdma_h.IBV_QPS_RTS());
        completions = new CompletionQueueRing(0, entries.address(), ENTRIES, page.address() + Integer.BYTES, 1, false);
        QueuePairParts parts = new QueuePairParts(
                new QueuePairCapabilities(ENTRIES, 0, 1, 0, 0), false, completions, completions, null, false, null);
        AtomicInteger generations = new AtomicInteger();
        sends = new SendQueueRing(
                new SendQueueRing.Place(ring.address(), ENTRIES, SendQueueRing.ENTRY_BYTES, page.address(), MAX_BATCH),
                state.address(),
                QueuePairType.DRIVER,
                parts,
                generations);
        RingQueuePair queuePair = new RingQueuePair(
                NUMBER,
                sends,
                new ReceiveQueueRing(0, 1, page.address(), state.address(), parts, generations),
                completions,
                completions);
        queuePair.join();
        builder = (RingSendVerbs) queuePair.sendVerbs();
    }

    /** Posts a chain and a batch, and polls their completions, which this writes as the device would. */
    private void round(int count) {
        for (long wr = send.address(); wr != 0; wr = RingMemory.getLong(wr + ibv_send_wr.next$offset())) {
            RingMemory.putLong(wr + ibv_send_wr.wr_id$offset(), count);
        }
        require(sends.post(send.address(), bad.address()) == 0);
        for (int i = 0; i < CHAIN; i++) {
            complete(count);
        }
        build(count);
        complete(count);
        require(completions.pollCompletionQueue(0, 1, polled.address()) == 0);
    }

    /** Completes the oldest work request, and polls that. */
    private void complete(int id) {
        long sent = ring.address() + (long) (completed % ENTRIES) * SendQueueRing.ENTRY_BYTES;
        int number = RingMemory.getShort(sent) & 0xffff;
        long entry = entries.address() + (long) (completed % ENTRIES) * CompletionQueueRing.ENTRY_BYTES;
        long phase = completed / ENTRIES % 2 == 0 ? 1 : 0;
        completed++;
        // Of a send; the queue pair, the flags and the number of the work request.
        RingMemory.putLong(entry, (long) NUMBER << Integer.SIZE | (1 << 1 | phase) << 24 | number);
        require(completions.pollCompletionQueue(0, 1, polled.address()) == 1);
        require(RingMemory.getLong(polled.address()) == id);
    }

    /** Builds a write without a destination. */
    private void build(int count) {
        builder.wrStart(0);
        builder.identify(0, count, SIGNALED);
        builder.wrRdmaWrite(0, 1, 2);
        builder.wrSetSge(0, 3, 4, 5);
        require(builder.wrComplete(0) == 0);
    }

    private static void require(boolean expected) {
        if (!expected) {
            throw new IllegalStateException("a ring does not work");
        }
    }

    /** Uses the rings. */
    public static void main(String[] args) {
        try (Arena arena = Arena.ofConfined()) {
            RingLoop loop = new RingLoop(arena);
            for (int i = 0; i < ROUNDS; i++) {
                loop.round(i);
            }
        }
    }
}
