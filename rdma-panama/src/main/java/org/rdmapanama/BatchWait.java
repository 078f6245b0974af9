package org.rdmapanama;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.rdmapanama.internal.ShortWait;

/**
 * A wait for batches or calls of other threads on extended queues. Those threads may in turn wait for a batch of the
 * calling thread, so a batch that another thread wants is paused meanwhile.
 */
final class BatchWait implements AutoCloseable {
    /** Long enough for several looks of the thread that is given way to. */
    private static final long GIVING_WAY_NANOS = TimeUnit.MILLISECONDS.toNanos(4);

    private final ShortWait wait = new ShortWait();
    private final VerbsArena arena;

    /** The completion queues that the calling thread reads in batches. */
    private final List<ExtendedCompletionQueue> read = new ArrayList<>();

    /** Whether they were looked for. */
    private boolean looked;

    /** Whether the calling thread has a batch of any kind open. */
    private boolean inABatch;

    /** The time since which the calling thread gives way, or -1. */
    private long givesWay = -1;

    BatchWait(VerbsArena arena) {
        this.arena = arena;
    }

    private void look() {
        looked = true;
        arena.forEachContext(context -> context.forEachObject(object -> {
            Batch batch = object.batch();
            if (batch != null && batch.isMine()) {
                inABatch = true;
                if (object instanceof ExtendedCompletionQueue queue) {
                    read.add(queue);
                }
            }
        }));
    }

    /**
     * Whether the calling thread has given way long enough to a thread that waits for a queue. That thread may be
     * waiting for a batch of the calling thread.
     */
    boolean hasGivenWay() {
        if (!isInABatch()) {
            return false;
        }
        if (givesWay < 0) {
            givesWay = wait.nanos();
        }
        return wait.nanos() - givesWay > GIVING_WAY_NANOS;
    }

    private boolean isInABatch() {
        if (!looked) {
            look();
        }
        return inABatch;
    }

    /** Waits briefly, after which the caller looks again. */
    void pause() {
        if (isInABatch()) {
            read.forEach(ExtendedCompletionQueue::pauseIfWanted);
        }
        wait.pause();
    }

    @Override
    public void close() {
        wait.close();
    }
}
