package org.rdmapanama.efa.direct;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The identifiers of the work requests that a queue has outstanding. The device knows each by a number of 16 bits, which its
 * completion returns; completions come in any order. A number is known from {@link #announce} to {@link #giveBack}. A
 * completion with another number, or one that comes twice, is refused.
 *
 * <p>The low bits of a number are a place here. Half of the others count how often the place was used, so that a completion
 * that comes twice is also refused when its place is in use again. The rest, which is more if their count is odd, is the
 * generation, which differs from that of the previous queue with the same number. Above 0x4000 places one bit is left, for the
 * generation, and above 0x8000 none.
 *
 * <p>Threads: one at a time takes and announces places, and one at a time, perhaps another one, returns them.
 */
final class RequestIds {
    /** How many work requests can be told apart. */
    static final int MAX_CAPACITY = 1 << Character.SIZE;

    /** The number of a place that is not outstanding. */
    private static final int NONE = -1;

    private static final VarHandle RETURNED;

    static {
        try {
            RETURNED = MethodHandles.lookup().findVarHandle(RequestIds.class, "returned", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final AtomicInteger generations;
    private final int capacity;
    private final int mask;

    /** Which bits of a number count the uses of its place. */
    private final int uses;

    private final long[] ids;

    /** By place, the number that the device may complete, or NONE. */
    private final int[] outstanding;

    /** The next numbers of the free places, in the order in which they became free: a place is used again as late as possible. */
    private final char[] free;

    /** How many places were taken. */
    private int taken;

    /** How many of these the device may complete. */
    private int announced;

    /** How many were returned. */
    @SuppressWarnings("unused") // through RETURNED
    private int returned;

    /**
     * @param capacity how many work requests may be outstanding, up to {@link #MAX_CAPACITY}
     * @param generations counts how often a queue of this kind began, of the queue pairs that have this number one after the
     *     other
     */
    RequestIds(int capacity, AtomicInteger generations) {
        if (capacity > MAX_CAPACITY) {
            throw new UnsupportedOperationException("the direct path of efa has numbers for " + MAX_CAPACITY
                    + " work requests of a queue, not for " + capacity
                    + "; create the completion queues without CompletionQueueOptions.direct");
        }
        this.capacity = capacity;
        this.generations = generations;
        int placeBits = Integer.SIZE - Integer.numberOfLeadingZeros(Math.max(1, capacity) - 1);
        int places = 1 << placeBits;
        mask = places - 1;
        uses = ((1 << ((Character.SIZE - placeBits) / 2)) - 1) << placeBits;
        ids = new long[places];
        outstanding = new int[places];
        free = new char[places];
        reset();
    }

    boolean isFull() {
        return taken - (int) RETURNED.getAcquire(this) >= capacity;
    }

    /** Takes a place, of which there must be one, and returns the number for the device. */
    int take(long id) {
        int number = free[taken & mask];
        taken++;
        ids[number & mask] = id;
        return number;
    }

    /** Undoes the last calls of {@link #take}, which were not announced. */
    void untake(int count) {
        taken -= count;
    }

    /** Makes all taken numbers known, before the device is told of them. */
    void announce() {
        while (announced != taken) {
            int number = free[announced & mask];
            outstanding[number & mask] = number;
            announced++;
        }
    }

    /** Whether a number of the device is that of a work request which is outstanding. */
    boolean isKnown(int number) {
        return outstanding[number & mask] == number;
    }

    /** Returns the identifier of a number, which must be known. */
    long id(int number) {
        return ids[number & mask];
    }

    /** Returns the place of a number, which is not known any more. All reads before it are made before the place is taken again. */
    void giveBack(int number) {
        int place = number & mask;
        // The queue may have begun anew since it was known.
        if (outstanding[place] != number) {
            return;
        }
        outstanding[place] = NONE;
        int count = (int) RETURNED.getOpaque(this);
        // In the element of a place that was taken.
        free[count & mask] = (char) ((number & ~uses) | ((number + mask + 1) & uses));
        RETURNED.setRelease(this, count + 1);
    }

    /** Forgets everything. No other call may be in progress. */
    void reset() {
        int generation = generations.incrementAndGet() * (uses + mask + 1);
        for (int i = 0; i <= mask; i++) {
            free[i] = (char) (generation | i);
        }
        Arrays.fill(outstanding, NONE);
        taken = 0;
        announced = 0;
        RETURNED.setRelease(this, 0);
    }
}
