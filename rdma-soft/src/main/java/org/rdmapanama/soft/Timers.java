package org.rdmapanama.soft;

import java.util.ArrayList;
import java.util.List;

/**
 * The running timers of the device. {@link ProgressEngine} owns it and runs the timers that are due. Callers must hold the
 * lock of the device.
 */
final class Timers {
    /** The running timers. */
    private List<Timed> waiting = new ArrayList<>();

    /** The timers that {@link #expire(long)} is iterating over. */
    private List<Timed> looked = new ArrayList<>();

    /** A lower bound of all deadlines. */
    private long earliest = Timed.NEVER;

    /** Adds a timer, or, if it is already waiting, takes note of its new deadline. */
    void add(Timed timed, boolean already) {
        if (!already) {
            waiting.add(timed);
        }
        hurry(timed.deadline());
    }

    void remove(Timed timed) {
        waiting.remove(timed);
        int place = looked.indexOf(timed);
        if (place >= 0) {
            looked.set(place, null);
        }
    }

    /** Runs the timers that are due. Returns the nanoseconds until the next one, or NEVER. */
    long expire(long now) {
        if (earliest == Timed.NEVER) {
            return Timed.NEVER;
        }
        if (earliest - now > 0) {
            return earliest - now;
        }
        earliest = Timed.NEVER;
        // The list may change while timers run.
        List<Timed> those = waiting;
        waiting = looked;
        looked = those;
        int seen = 0;
        try {
            while (seen < those.size()) {
                Timed each = those.get(seen++);
                if (each != null) {
                    expireOrKeep(each, now);
                }
            }
        } finally {
            // After a failure the others wait for the next turn.
            for (; seen < those.size(); seen++) {
                Timed each = those.get(seen);
                if (each != null) {
                    waiting.add(each);
                    hurry(now);
                }
            }
            those.clear();
        }
        return earliest == Timed.NEVER ? Timed.NEVER : Math.max(1, earliest - now);
    }

    private void expireOrKeep(Timed each, long now) {
        long deadline = each.deadline();
        if (deadline != Timed.NEVER && deadline - now > 0) {
            waiting.add(each);
            hurry(deadline);
        } else {
            expire(each);
        }
    }

    private void expire(Timed each) {
        try {
            each.expired();
        } catch (RuntimeException | Error e) {
            // As in DeferredSenders. Only the owner of the timer must fail.
            each.failed(e);
        }
    }

    private void hurry(long deadline) {
        if (earliest == Timed.NEVER || deadline - earliest < 0) {
            earliest = deadline;
        }
    }
}
