package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.util.Arrays;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.samples.figures.LatencyRecord;

/**
 * Measures bandwidth like the bandwidth programs of perftest: every queue pair is kept full, and only one of every N
 * messages requests a completion.
 */
final class Bandwidth {
    /** Up to this number of messages, all times are kept to find the peak bandwidth, as perftest does. */
    private static final int MAX_FOR_PEAK = 20_000;

    /** At least one completion is requested in this number of bytes, or a slow network would look like a dead one. */
    static final long MAX_SILENT_BYTES = 64L << 20;

    /** Number of messages between two looks at the clock, if only the end of the test depends on it. */
    private static final int MESSAGES_PER_LOOK = 64;

    /** Once the peer has finished, messages still in flight arrive within this time. */
    private static final long QUIET_NANOS = 200_000_000L;

    private static final int COVERED_SHIFT = 32;
    private static final double NANOS = 1e9;

    private final TestSide side;
    private final TestSettings settings;
    private final Watch watch;
    private final PerfLink link;
    private final boolean source;
    private final boolean sink;
    private final LatencyRecord latencies;
    private final int count;
    private final int list;
    private final int moderation;

    // One element per queue pair. With post lists, silent[i] is a list that contains the signaled ones, too.
    private final Message[] silent;
    private final Message[] signaled;
    private final long[] sent;
    private final long[] completed;
    private final long[] limit;
    private final int[] sinceSignal;

    private final long[] postedAt;
    private final long[] completedAt;

    private long allSent;
    private long allCompleted;
    private long received;
    private long lastReceived;
    private long start;
    private long end;
    private long duration;
    private double interval;
    private int sinceLook;
    private boolean told;

    Bandwidth(
            TestSide side,
            TestSettings settings,
            Watch watch,
            PerfLink link,
            long size,
            boolean client,
            LatencyRecord latencies) {
        this.side = side;
        this.watch = watch;
        this.link = link;
        this.latencies = latencies;
        this.settings = settings;
        source = settings.isSource(client);
        sink = settings.isSink(client);
        count = settings.queuePairs();
        list = settings.postList();
        moderation = settings.all() && list == 1
                ? Math.clamp(MAX_SILENT_BYTES / size, 1, settings.moderation())
                : settings.moderation();
        silent = new Message[count];
        signaled = new Message[count];
        sent = new long[count];
        completed = new long[count];
        limit = new long[count];
        sinceSignal = new int[count];
        long all = settings.iterations() * count;
        boolean peak = source && settings.seconds() == 0 && all <= MAX_FOR_PEAK;
        postedAt = peak ? new long[(int) all] : null;
        completedAt = peak ? new long[(int) all] : null;
        for (int i = 0; source && i < count; i++) {
            if (list == 1) {
                silent[i] = side.message(i, size, false);
                signaled[i] = side.message(i, size, true);
            } else {
                silent[i] = side.list(i, size, list, moderation, id(i, moderation));
            }
        }
    }

    /** Returns the identifier of a work request whose completion covers the given number of messages. */
    private static long id(int queuePair, int covered) {
        return (long) covered << COVERED_SHIFT | queuePair;
    }

    /** Sends, receives, or both. Tells the peer when everything is sent. Returns what was sent, or null. */
    Outcome run() throws IOException, InterruptedException {
        watch.begin();
        long before = (TestRun.UNMEASURED + list - 1L) / list * list;
        long expected = settings.seconds() > 0 ? Long.MAX_VALUE : (before + settings.iterations()) * count;
        Outcome outcome = null;
        if (source) {
            if (before > 0) {
                drive(before, Long.MAX_VALUE, 0);
            }
            if (settings.seconds() > 0) {
                drive(Long.MAX_VALUE, settings.seconds() * 1_000_000_000L, settings.rate());
            } else {
                drive(settings.iterations(), Long.MAX_VALUE, settings.rate());
            }
            outcome = new Outcome(before * count + allSent, allSent, end - start, peak());
            link.send(PerfLink.Type.RESULT, outcome.toBytes());
        }
        if (sink) {
            lastReceived = System.nanoTime();
            while (received < expected && !isOver()) {
                rest(receive());
            }
        }
        return outcome;
    }

    long received() {
        return received;
    }

    private boolean isOver() {
        return watch.isPeerDone() && System.nanoTime() - lastReceived > QUIET_NANOS;
    }

    /** Sends a number of messages on each queue pair, or for a time, and waits until they have completed. */
    private void drive(long each, long nanos, int perSecond) throws IOException, InterruptedException {
        Arrays.fill(sent, 0);
        Arrays.fill(completed, 0);
        Arrays.fill(sinceSignal, 0);
        Arrays.fill(limit, each);
        allSent = 0;
        allCompleted = 0;
        latencies.clear();
        interval = perSecond > 0 ? NANOS / perSecond : 0;
        if (completedAt != null) {
            Arrays.fill(completedAt, 0);
        }
        start = System.nanoTime();
        end = start;
        duration = nanos;
        while (!isDone()) {
            for (int i = 0; i < count; i++) {
                fill(i);
            }
            boolean moved = allCompleted < allSent && complete();
            if (sink) {
                moved |= receive();
            }
            rest(moved);
        }
    }

    private void rest(boolean moved) throws IOException, InterruptedException {
        if (moved) {
            watch.moved();
        } else if (side.events == null || interval > 0) {
            watch.idle();
        } else if (told) {
            told = false;
            watch.sleep(side.events);
        } else {
            // A work request that completes after the next poll then causes an event.
            side.sendQueue.requestNotification(false);
            side.receiveQueue.requestNotification(false);
            told = true;
        }
    }

    private boolean isDone() {
        if (allCompleted < allSent) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            if (sent[i] < limit[i]) {
                return false;
            }
        }
        return true;
    }

    /** Posts as many messages as the queue holds and the rate allows. */
    private void fill(int index) {
        while (sent[index] < limit[index] && sent[index] + list - completed[index] <= settings.txDepth()) {
            long now = needsClock() ? System.nanoTime() : start;
            if (now - start >= duration) {
                // The last message is signaled, so that its completion covers all of them.
                limit[index] = sinceSignal[index] == 0 ? sent[index] : sent[index] + 1;
                if (sent[index] == limit[index]) {
                    return;
                }
            } else if (interval > 0 && now < due(index, sent[index])) {
                return;
            }
            if (postedAt != null && allSent < postedAt.length) {
                postedAt[(int) allSent] = now;
            }
            post(index);
            sent[index] += list;
            allSent += list;
        }
    }

    /** Whether to read the clock, which costs a fraction of a post. */
    private boolean needsClock() {
        if (postedAt != null || interval > 0) {
            return true;
        }
        return duration != Long.MAX_VALUE && ++sinceLook % MESSAGES_PER_LOOK == 0;
    }

    private void post(int index) {
        if (list > 1) {
            silent[index].post(id(index, moderation));
            return;
        }
        int covered = ++sinceSignal[index];
        if (covered < moderation && sent[index] + 1 < limit[index]) {
            silent[index].post(index);
            return;
        }
        sinceSignal[index] = 0;
        signaled[index].post(id(index, covered));
    }

    /** Returns when a message of a queue pair is due: the rate is that of all queue pairs together. */
    private long due(int index, long message) {
        return start + (long) ((message * count + index) * interval);
    }

    private boolean complete() {
        WorkCompletions completions = side.completions;
        int ready = side.sendQueue.poll(completions);
        if (ready == 0) {
            return false;
        }
        side.check(ready);
        long now = System.nanoTime();
        end = now;
        for (int i = 0; i < ready; i++) {
            long id = completions.id(i);
            int index = (int) id;
            long covered = id >>> COVERED_SHIFT;
            completed[index] += covered;
            allCompleted += covered;
            if (completedAt != null && allCompleted <= completedAt.length) {
                completedAt[(int) allCompleted - 1] = now;
            }
            if (interval > 0) {
                latencies.record(now - due(index, completed[index] - 1));
            }
        }
        return true;
    }

    /** Drains the receive completions, because the peer waits for new receives. */
    private boolean receive() {
        WorkCompletions completions = side.completions;
        boolean moved = false;
        int ready;
        do {
            ready = side.receiveQueue.poll(completions);
            side.check(ready);
            for (int i = 0; i < ready; i++) {
                side.postReceive((int) completions.id(i));
            }
            received += ready;
            moved |= ready > 0;
        } while (ready == completions.capacity());
        if (moved) {
            lastReceived = System.nanoTime();
        }
        return moved;
    }

    private double peak() {
        return postedAt == null ? 0 : peak(postedAt, completedAt, list);
    }

    /** Returns the shortest time per message between any post and any later completion; 0 means not completed. */
    static double peak(long[] postedAt, long[] completedAt, int list) {
        double best = Double.MAX_VALUE;
        for (int from = 0; from < postedAt.length; from += list) {
            for (int to = from; to < completedAt.length; to++) {
                if (completedAt[to] != 0) {
                    best = Math.min(best, (double) (completedAt[to] - postedAt[from]) / (to - from + 1));
                }
            }
        }
        return best;
    }
}
