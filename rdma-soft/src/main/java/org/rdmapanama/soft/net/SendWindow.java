package org.rdmapanama.soft.net;

import java.util.ArrayDeque;

/**
 * How much all queue pairs together may have in flight to one peer, whose socket has one buffer for all of them. The
 * window grows while packets arrive and halves after a loss, as that of TCP does (RFC 5681). Queue pairs that find it full
 * wait in line. It also measures how long answers take (RFC 6298). Callers must hold the lock of the device.
 */
public final class SendWindow {
    /** The window at first: what every receive buffer holds. */
    private static final int FIRST_BYTES = 64 << 10;

    private static final int LEAST_BYTES = 32 << 10;

    /** By how much the window grows in a round trip, once it has been too large. */
    private static final int STEP_BYTES = 4096;

    /** The largest window, in bytes: more has no use on one machine, and floods the queues of other devices. */
    public static final int MOST_BYTES = 512 << 10;

    /** What a queue pair may send when its turn comes while others wait, in bytes: as much as the smallest window. */
    public static final int TURN_BYTES = LEAST_BYTES;

    /** The limits of the time after which an answer is overdue. The clock of waiting threads counts milliseconds. */
    private static final long SHORTEST_DELAY_NANOS = 2_000_000;

    private static final long LONGEST_DELAY_NANOS = 1_000_000_000;

    /** Losses that are closer together have one cause. */
    private static final long SHORTEST_PAUSE_NANOS = 1_000_000;

    /** Waits for the window. */
    public interface Waiter {
        /** Called when it may send up to {@link #TURN_BYTES}. It must not send before it returns. */
        void resume();
    }

    private final ArrayDeque<Waiter> waiting = new ArrayDeque<>();
    private int limit = FIRST_BYTES;

    /** Below this limit, the window doubles in each round trip. */
    private int threshold = MOST_BYTES;

    private int inFlight;

    /** How long answers take, and how much that varies, in nanoseconds; 0 before the first one. */
    private long usual;

    private long deviation;

    /** When the window was halved last. */
    private long halved = System.nanoTime() - LONGEST_DELAY_NANOS;

    /**
     * Returns whether there is room for some more bytes. Without anything in flight there always is, and what does not fit
     * the smallest window counts less, so that it is not overtaken for ever.
     */
    public boolean admits(int bytes) {
        return inFlight == 0 || inFlight + Math.min(bytes, LEAST_BYTES) <= limit;
    }

    /** Notes that bytes were sent. */
    public void sent(int bytes) {
        inFlight += bytes;
    }

    /** Notes that bytes arrived. */
    public void acknowledged(int bytes) {
        // Only a window that was used up proves that there is room for more.
        if (2 * inFlight > limit) {
            int growth = limit < threshold ? bytes : (int) ((long) STEP_BYTES * bytes / limit);
            limit = Math.min(limit + growth, MOST_BYTES);
        }
        returned(bytes);
    }

    /** Notes that bytes are not in flight any more, because they were lost or nobody waits for them. */
    public void returned(int bytes) {
        inFlight -= bytes;
        int free = limit - inFlight;
        while (free > 0 && !waiting.isEmpty()) {
            waiting.poll().resume();
            free -= TURN_BYTES;
        }
    }

    /** Called when the turn of a queue pair is over though it was not refused: the next one goes on if there is room. */
    public void pass() {
        if (!waiting.isEmpty() && inFlight < limit) {
            waiting.poll().resume();
        }
    }

    /** Notes a loss. Those within one round trip, and at least a millisecond, count once. */
    public void lost() {
        long now = System.nanoTime();
        if (now - halved > Math.max(usual, SHORTEST_PAUSE_NANOS)) {
            halved = now;
            limit = Math.max(limit / 2, LEAST_BYTES);
            threshold = limit;
        }
    }

    /** Opens the window as far as it goes, because nothing gets lost on the way and there is room for that. */
    void open() {
        limit = MOST_BYTES;
        threshold = MOST_BYTES;
    }

    /** Begins anew, because packets take another way. */
    void begin() {
        limit = FIRST_BYTES;
        threshold = MOST_BYTES;
    }

    /** Notes how long an answer took, in nanoseconds. */
    public void answered(long nanos) {
        if (usual == 0) {
            usual = nanos;
            deviation = nanos / 2;
        } else {
            deviation += (Math.abs(nanos - usual) - deviation) / 4;
            usual += (nanos - usual) / 8;
        }
    }

    /** Returns after how many nanoseconds without an answer the sender should ask whether something was lost. */
    public long patience() {
        return Math.clamp(2 * usual + 4 * deviation, SHORTEST_DELAY_NANOS, LONGEST_DELAY_NANOS);
    }

    /** Lets a queue pair wait, which must not wait already. */
    public void await(Waiter waiter) {
        waiting.add(waiter);
    }

    /** Stops the waiting of a queue pair. */
    public void forget(Waiter waiter) {
        waiting.remove(waiter);
    }

    /** Returns whether queue pairs wait. */
    public boolean isContended() {
        return !waiting.isEmpty();
    }
}
