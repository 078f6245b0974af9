package org.rdmapanama.soft;

import java.util.ArrayDeque;

/**
 * The queue pair halves that have something to send at the end of a turn, in order. {@link ProgressEngine} owns it. Callers
 * must hold the lock of the device.
 */
final class DeferredSenders {
    /** More turns than anything can wait for: send everything now. */
    static final int NOW = Integer.MAX_VALUE;

    private final ArrayDeque<DeferredSender> ending = new ArrayDeque<>();

    /** Adds a half, unless it is queued. */
    void add(DeferredSender half) {
        if (!half.queued) {
            // Added first: if there is no memory for that, the next call must try again.
            ending.add(half);
            half.queued = true;
        }
    }

    /** Returns whether there are none. */
    boolean isEmpty() {
        return ending.isEmpty();
    }

    /** Removes a half, if it is queued. */
    void remove(DeferredSender half) {
        if (half.queued) {
            half.queued = false;
            ending.remove(half);
        }
    }

    /** Sends what is due, except what can wait for more than this many turns. Returns whether there was anything. */
    boolean send(int turns) {
        boolean any = !ending.isEmpty();
        for (int left = ending.size(); left > 0; left--) {
            DeferredSender each = ending.poll();
            if (each == null) {
                // An earlier one has removed the others.
                return any;
            }
            if (each.canWait(turns)) {
                ending.add(each);
            } else {
                each.queued = false;
                end(each);
            }
        }
        return any;
    }

    private static void end(DeferredSender each) {
        try {
            each.endTurn();
        } catch (RuntimeException | Error e) {
            // For example memory mapped from a truncated file. Only this queue pair must fail.
            each.failed(e);
        }
    }
}
