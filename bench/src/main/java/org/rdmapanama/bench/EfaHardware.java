package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.QueuePair;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.efa.efadv_cq_attr;
import org.rdmapanama.ffm.efa.efadv_h;
import org.rdmapanama.ffm.efa.efadv_wq_attr;
import org.rdmapanama.ffm.internal.Native;

/**
 * Completes what is posted to one of the two queues of an SRD queue pair, instead of its card: a load of the number of each
 * work request and a store, in the thread that posts. {@code efaloops.c} does the same for C, and has the layout of {@code
 * struct hardware}. The card must have executed nothing.
 */
final class EfaHardware extends CardHardware {
    /** The library that {@code bin/bench direct} compiles. */
    static final String LIBRARY = "libefaloops.so";

    private static final MemorySegment MEMORY = Native.MEMORY;

    // Without checks of alignment and bounds, as in C: this is not what is measured.
    private static final VarHandle SHORT = JAVA_SHORT_UNALIGNED.varHandle();
    private static final VarHandle INT = JAVA_INT_UNALIGNED.varHandle();
    private static final VarHandle LONG = JAVA_LONG_UNALIGNED.varHandle();
    private static final long ADDRESSES = 0x00ff_ffff_ffff_ffffL;

    private static final int PHASE_SHIFT = 24;
    private static final int ENTRY = 32;

    /** Where the descriptor of a receive has its number. */
    private static final int NUMBER_OF_RECEIVE = 8;

    // Of a completion: the kind of queue, the operation, the queue pair and the length of what was received.
    private static final long OF_SEND = 1L << 25;
    private static final long OF_RECEIVE = 2L << 25;
    private static final long OF_WRITE = 2L << 28;
    private static final int QUEUE_PAIR_SHIFT = 32;
    private static final int LENGTH_SHIFT = 48;

    /** Of {@code struct hardware}: four of eight bytes, five of four, and padding. */
    private static final long BYTES = 4 * 8 + 6 * 4;

    private final long doorbell;
    private final long numbers;
    private final long entries;
    private final long completion;
    private final int requestCount;
    private final long requestBytes;
    private final int entryCount;
    private int executed;
    private int produced;

    private EfaHardware(
            VerbsArena arena, MemorySegment requests, long numberOffset, MemorySegment ring, long index, long first) {
        super(arena, BYTES);
        requestCount = efadv_wq_attr.num_entries(requests);
        requestBytes = efadv_wq_attr.entry_size(requests);
        doorbell = efadv_wq_attr.doorbell(requests).address();
        numbers = efadv_wq_attr.buffer(requests).address() + numberOffset;
        entryCount = efadv_cq_attr.num_entries(ring);
        entries = efadv_cq_attr.buffer(ring).address() + index * entryCount * ENTRY;
        completion = first;
        struct.set(JAVA_LONG, 0, doorbell);
        struct.set(JAVA_LONG, 8, numbers);
        struct.set(JAVA_LONG, 16, entries);
        struct.set(JAVA_LONG, 24, completion);
        struct.set(JAVA_INT, 32, requestCount);
        struct.set(JAVA_INT, 36, (int) requestBytes);
        struct.set(JAVA_INT, 40, entryCount);
    }

    /** Takes over the send queue, all of whose requests are writes, or all sends. Its completions are in the first ring. */
    static EfaHardware ofSends(VerbsArena arena, QueuePair queuePair, CompletionQueue queue, boolean writes) {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment requests = temporary.allocate(efadv_wq_attr.layout());
            find(queuePair, requests, temporary.allocate(efadv_wq_attr.layout()));
            long first = OF_SEND | (writes ? OF_WRITE : 0) | (long) queuePair.number() << QUEUE_PAIR_SHIFT;
            return new EfaHardware(arena, requests, 0, find(queue, temporary), 0, first);
        }
    }

    /** Takes over the receive queue. Its completions, of messages of so many bytes, are in the second ring. */
    static EfaHardware ofReceives(VerbsArena arena, QueuePair queuePair, CompletionQueue queue, int bytes) {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment requests = temporary.allocate(efadv_wq_attr.layout());
            find(queuePair, temporary.allocate(efadv_wq_attr.layout()), requests);
            // The driver need not tell it.
            efadv_wq_attr.entry_size(requests, 2 * Long.BYTES);
            long first = OF_RECEIVE | (long) queuePair.number() << QUEUE_PAIR_SHIFT | (long) bytes << LENGTH_SHIFT;
            return new EfaHardware(arena, requests, NUMBER_OF_RECEIVE, find(queue, temporary), 1, first);
        }
    }

    private static void find(QueuePair queuePair, MemorySegment sends, MemorySegment receives) {
        NativeLibrary.EFA.load();
        int result = efadv_h.efadv_query_qp_wqs(
                MemorySegment.ofAddress(queuePair.nativeAddress()), sends, receives, (int) efadv_wq_attr.sizeof());
        if (result != 0) {
            throw new IllegalStateException("efadv_query_qp_wqs failed: " + result);
        }
    }

    private static MemorySegment find(CompletionQueue queue, Arena arena) {
        MemorySegment ring = arena.allocate(efadv_cq_attr.layout());
        int result = efadv_h.efadv_query_cq(
                MemorySegment.ofAddress(queue.nativeAddress()), ring, (int) efadv_cq_attr.sizeof());
        if (result != 0 || efadv_cq_attr.entry_size(ring) != ENTRY) {
            throw new IllegalStateException("efadv_query_cq: result " + result + ", entries of "
                    + efadv_cq_attr.entry_size(ring) + " bytes, not " + ENTRY);
        }
        return ring;
    }

    @Override
    void complete() {
        short announced = (short) (int) INT.get(MEMORY, doorbell & ADDRESSES);
        while ((short) executed != announced) {
            long request = numbers + (executed & (requestCount - 1)) * requestBytes;
            long number = Short.toUnsignedLong((short) SHORT.get(MEMORY, request & ADDRESSES));
            long entry = entries + (long) (produced & (entryCount - 1)) * ENTRY;
            long phase = (produced & entryCount) == 0 ? 1L << PHASE_SHIFT : 0;
            LONG.set(MEMORY, entry & ADDRESSES, completion | phase | number);
            executed++;
            produced++;
        }
    }
}
