package org.rdmapanama.efa.direct;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The identifiers of the work requests that a queue has outstanding. The device knows each by a number of 16 bits, which its
 * completion returns; completions come in any order. The low bits of a number are a place here, and the high ones are the same
 * for all work requests of this queue, until it begins anew: a completion of an earlier queue of the same number has others.
 *
 * <p>Threads: one at a time takes places, and one at a time, perhaps another one, returns them.
 */
final class RequestIds {
    private static final int NUMBER_MASK = 0xffff;

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
    private final long[] ids;

    /** Free places, in the order in which they became free: a place is used again as late as possible. */
    private final char[] free;

    /** The high bits of the numbers. */
    private volatile int generation;

    /** How many places were taken. */
    private int taken;

    /** How many were returned. */
    @SuppressWarnings("unused") // through RETURNED
    private int returned;

    /**
     * @param capacity how many work requests may be outstanding, up to 0x8000
     * @param generations counts the queues of the device, and how often they began anew
     */
    RequestIds(int capacity, AtomicInteger generations) {
        this.capacity = capacity;
        this.generations = generations;
        int places = capacity <= 1 ? 1 : Integer.highestOneBit(capacity - 1) << 1;
        mask = places - 1;
        ids = new long[places];
        free = new char[places];
        reset();
    }

    boolean isFull() {
        return taken - (int) RETURNED.getAcquire(this) >= capacity;
    }

    /** Takes a place, of which there must be one, and returns the number for the device. */
    int take(long id) {
        int place = free[taken & mask];
        taken++;
        ids[place] = id;
        return place | generation;
    }

    /** Undoes the last calls of {@link #take}. */
    void untake(int count) {
        taken -= count;
    }

    /** Whether a number of the device may be that of a work request of this queue. */
    boolean isKnown(int number) {
        return (number & ~mask) == generation && (number & mask) < capacity;
    }

    /** Returns the place of a number, which must be known, and the identifier that it had. */
    long giveBack(int number) {
        int place = number & mask;
        int count = (int) RETURNED.getOpaque(this);
        long id = ids[place];
        // Behind all free places, which are fewer than the array has elements.
        free[count + capacity & mask] = (char) place;
        RETURNED.setRelease(this, count + 1);
        return id;
    }

    /** Forgets everything. No other call may be in progress. */
    void reset() {
        for (int i = 0; i < capacity; i++) {
            free[i] = (char) i;
        }
        taken = 0;
        RETURNED.setRelease(this, 0);
        generation = generations.incrementAndGet() * (mask + 1) & NUMBER_MASK;
    }
}
