package org.rdmapanama.soft;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.internal.provider.Logging;

/**
 * Asks the silent peers of reliable connections whether they are still there, and tells when one is not. One timer serves
 * all queue pairs; it runs a few times in the shortest of their times, and not at all without any. Packets cost no more
 * than a mark at their queue pair.
 *
 * <p>Silence counts in steps of this timer, none of which counts for more than it should have taken. So a process that was
 * itself stopped for a while, or a machine that slept, does not take its peers for dead.
 *
 * <p>The connection manager adds queue pairs. Callers must hold the lock of the device.
 */
public final class KeepAlives implements Timed {
    private static final Logger LOG = Logging.logger(KeepAlives.class);

    /** How often to look in the shortest time of any queue pair, and how often to ask until it is over. */
    private static final int STEPS = 8;

    private static final long SHORTEST_STEP = 1_000_000;

    private final ProgressEngine engine;
    private final IntFunction<SoftQueuePair> queuePairs;

    /** By owner. */
    private final Map<Object, Watched> all = new HashMap<>();

    private long step;
    private long last;
    private boolean listed;

    /** A queue pair whose peer must not be silent for too long. */
    private static final class Watched {
        private final Object owner;
        private final int number;
        private final long time;
        private final long timeout;
        private final Runnable lost;
        private long silent;

        /** How long it had been silent when it was asked last; 0 if it has not been asked since. */
        private long asked;

        private Watched(Object owner, int number, long time, long timeout, Runnable lost) {
            this.owner = owner;
            this.number = number;
            this.time = time;
            this.timeout = timeout;
            this.lost = lost;
        }

        private long step() {
            return Math.max(SHORTEST_STEP, Math.min(time, timeout) / STEPS);
        }

        private boolean isDue() {
            return silent >= time && (asked == 0 || silent - asked >= timeout / STEPS);
        }
    }

    KeepAlives(ProgressEngine engine, IntFunction<SoftQueuePair> queuePairs) {
        this.engine = engine;
        this.queuePairs = queuePairs;
    }

    /**
     * Asks the peer of a queue pair, from now on, whenever it has been silent for some time.
     *
     * @param owner what asks for this, once
     * @param number the number of the queue pair
     * @param time how long it may be silent before it is asked, in nanoseconds
     * @param timeout how long it has to answer, in nanoseconds
     * @param lost called once when it does not, with the lock of the device held
     */
    public void add(Object owner, int number, long time, long timeout, Runnable lost) {
        Watched watched = new Watched(owner, number, time, timeout, lost);
        boolean first = all.isEmpty();
        all.put(owner, watched);
        if (first || watched.step() < step) {
            step = watched.step();
            last = System.nanoTime();
            schedule();
        }
    }

    /** Asks no more. */
    public void remove(Object owner) {
        all.remove(owner);
        if (all.isEmpty() && listed) {
            listed = false;
            engine.forget(this);
        }
    }

    private void schedule() {
        boolean already = listed;
        listed = true;
        engine.wakeAt(this, already);
    }

    @Override
    public long deadline() {
        return last + step;
    }

    @Override
    public void expired() {
        listed = false;
        long now = System.nanoTime();
        long passed = Math.min(now - last, 2 * step);
        last = now;
        long shortest = Long.MAX_VALUE;
        List<Watched> gone = new ArrayList<>(0);
        for (Watched each : all.values()) {
            shortest = Math.min(shortest, each.step());
            if (isLost(each, passed)) {
                gone.add(each);
            }
        }
        for (Watched each : gone) {
            all.remove(each.owner);
            each.lost.run();
        }
        if (!all.isEmpty()) {
            step = shortest;
            schedule();
        }
    }

    private boolean isLost(Watched each, long passed) {
        SoftQueuePair queuePair = queuePairs.apply(each.number);
        if (queuePair == null || queuePair.takeHeard()) {
            each.silent = 0;
            each.asked = 0;
            return false;
        }
        each.silent += passed;
        if (each.asked != 0 && each.silent - each.time >= each.timeout) {
            return true;
        }
        if (each.isDue()) {
            // In vain if the queue pair has failed: then its connection ends as well.
            each.asked = each.silent;
            queuePair.probe();
        }
        return false;
    }

    @Override
    public void failed(Throwable cause) {
        LOG.error("asking whether peers are there failed unexpectedly", cause);
        if (!all.isEmpty()) {
            schedule();
        }
    }
}
