package org.rdmapanama;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.internal.WaitLimits;

/**
 * The queues that a thread needs at the same time and has found in use. They are marked, so that other threads leave
 * them alone until all are free. But an open batch may wait for one of those threads, and no thread should wait as long
 * as a call may take. So when a batch or a call takes longer, only its own queue stays marked until it ends. Then all
 * are marked again, for twice as long as before.
 *
 * <p>Each round begins with a look at all needed queues: {@link #look}, and {@link #found} for each queue in use.
 */
final class WantedQueues implements AutoCloseable {
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final long batchNanos;
    private final long allBatchesNanos;
    private final long callNanos;
    private final Map<Batch, Use> uses = new LinkedHashMap<>();
    private int looks;

    /** The time of the last look. */
    private long now;

    private boolean inUse;

    /** How long a batch or a call may take before the marks on the other queues are removed. */
    private long patience = PATIENCE_NANOS;

    /** Whether this waits for queues, and since when. */
    private boolean waits;

    private long start;

    /** What other threads do with a queue. */
    private static final class Use {
        /** The last look that found it in use. */
        private int look;

        private boolean inABatch;
        private long since;

        /** What the look before found. */
        private boolean wasInUse;

        private boolean wasInABatch;
        private long wasSince;
        private boolean isLong;
        private boolean marked;
    }

    WantedQueues(WaitLimits limits) {
        batchNanos = limits.batch().toNanos();
        allBatchesNanos = limits.allBatches().toNanos();
        callNanos = limits.call().toNanos();
    }

    /**
     * Begins a look at all needed queues.
     *
     * @param nanoTime now
     */
    void look(long nanoTime) {
        now = nanoTime;
        looks++;
        inUse = false;
    }

    /** Notes that another thread uses a queue: in a batch, or for a call. In one look it may be both; a batch counts. */
    void found(Batch queue, boolean inABatch) {
        if (!waits) {
            waits = true;
            start = now;
        }
        Use use = uses.computeIfAbsent(queue, key -> new Use());
        if (use.look != looks) {
            use.wasInUse = use.look != 0 && use.look == looks - 1;
            use.wasInABatch = use.inABatch;
            use.wasSince = use.since;
            use.look = looks;
            use.inABatch = false;
        }
        use.inABatch |= inABatch;
        use.since = use.wasInUse && use.wasInABatch == use.inABatch ? use.wasSince : now;
        inUse = true;
    }

    /** Whether this look has found any in use. */
    boolean isInUse() {
        return inUse;
    }

    /**
     * One on which the same batch has been open for two seconds; or any with a batch after ten without a gap; or null.
     */
    @Nullable
    Batch withEndlessBatch() {
        long limit = now - start > allBatchesNanos ? 0 : batchNanos;
        return longerThan(limit, true);
    }

    /** One on which a call has been under way for too long, or null. */
    @Nullable
    Batch withEndlessCall() {
        return longerThan(callNanos, false);
    }

    private @Nullable Batch longerThan(long limit, boolean inABatch) {
        for (Map.Entry<Batch, Use> each : uses.entrySet()) {
            Use use = each.getValue();
            if (use.look == looks && use.inABatch == inABatch && now - use.since > limit) {
                return each.getKey();
            }
        }
        return null;
    }

    /** Marks the queues that this wait needs now. Called repeatedly, because others may have removed a mark. */
    void mark() {
        boolean anyIsLong = false;
        for (Use use : uses.values()) {
            boolean isLong = use.look == looks && now - use.since > patience;
            if (use.isLong && !isLong) {
                patience = Math.min(2 * patience, batchNanos);
            }
            use.isLong = isLong;
            anyIsLong |= isLong;
        }
        for (Map.Entry<Batch, Use> each : uses.entrySet()) {
            Use use = each.getValue();
            mark(each.getKey(), use, !anyIsLong || use.isLong);
        }
    }

    private static void mark(Batch queue, Use use, boolean wanted) {
        if (wanted) {
            queue.want();
        } else if (use.marked) {
            queue.unwant();
        }
        use.marked = wanted;
    }

    /** Removes all marks, while something else is awaited. */
    void unmark() {
        waits = false;
        uses.forEach((queue, use) -> mark(queue, use, false));
    }

    @Override
    public void close() {
        unmark();
    }
}
