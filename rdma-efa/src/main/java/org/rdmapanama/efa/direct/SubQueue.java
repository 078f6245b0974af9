package org.rdmapanama.efa.direct;

import java.lang.invoke.VarHandle;

/**
 * One ring of a completion queue: entries of 32 bytes, {@code struct efa_io_rx_cdesc_ex}. An entry belongs to the program when
 * its phase says in which round the device has written it. The program cannot write here: which entries count no more is noted
 * beside.
 *
 * <p>Threads: one at a time.
 */
final class SubQueue {
    private static final int ENTRY_SHIFT = 5;
    private static final int PHASE = 1;

    private final long start;
    private final int mask;
    private final int shift;

    /** By entry, whether it is of a queue pair that was reset or destroyed. */
    private final boolean[] stale;

    private int staleCount;

    /** How many entries were taken. */
    private int index;

    /** @param entries how many there are, a power of two */
    SubQueue(long start, int entries) {
        this.start = start;
        mask = entries - 1;
        shift = Integer.numberOfTrailingZeros(entries);
        stale = new boolean[entries];
    }

    /** Returns the address of the next entry that the device has written, or 0. It stays the next one. */
    long peek() {
        return entry(index);
    }

    /** Takes the entry that {@link #peek} has returned. Returns whether it counts. */
    boolean take() {
        int place = index & mask;
        index++;
        if (staleCount == 0 || !stale[place]) {
            return true;
        }
        stale[place] = false;
        staleCount--;
        return false;
    }

    private long entry(int at) {
        long entry = RingMemory.known(start + ((long) (at & mask) << ENTRY_SHIFT));
        int phase = (at >>> shift & 1) ^ 1;
        if ((RingMemory.getOpaque(entry + CompletionQueueRing.FLAGS) & PHASE) != phase) {
            return 0;
        }
        // What else the entry says is read after it is known to be complete.
        VarHandle.acquireFence();
        return entry;
    }

    /**
     * Marks the entries of a queue pair that were not taken yet as stale. Those at the head are
     * taken at once: the device, which does not know what was taken, may write over them before anybody polls.
     *
     * @return how many entries were taken
     */
    int clear(int queuePair) {
        mark(queuePair);
        int before = index;
        while (staleCount > 0 && stale[index & mask]) {
            take();
        }
        return index - before;
    }

    private void mark(int queuePair) {
        for (int at = index; at - index <= mask; at++) {
            long entry = entry(at);
            if (entry == 0) {
                return;
            }
            if (CompletionQueueRing.queuePairNumber(RingMemory.getLong(entry)) == queuePair && !stale[at & mask]) {
                stale[at & mask] = true;
                staleCount++;
            }
        }
    }
}
