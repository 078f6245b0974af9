package org.rdmapanama;

import java.util.ArrayList;
import java.util.List;

/**
 * A wait for batches or calls of other threads on extended queues. Those may wait for a batch of the calling thread in
 * turn: so one that another thread wants is paused meanwhile.
 */
final class BatchWait implements AutoCloseable {
    private final ShortWait wait = new ShortWait();
    private final VerbsArena arena;

    /** The completion queues that the calling thread reads in batches; null before it is asked. */
    private List<ExtendedCompletionQueue> read;

    /** Whether the calling thread has a batch open, of whichever kind. */
    private boolean inABatch;

    BatchWait(VerbsArena arena) {
        this.arena = arena;
    }

    private void look() {
        read = new ArrayList<>();
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

    /** Whether the calling thread has a batch open, for whose end another thread may wait. */
    boolean isInABatch() {
        if (read == null) {
            look();
        }
        return inABatch;
    }

    /** A moment, after which the caller looks again. */
    void pause() {
        if (isInABatch()) {
            read.forEach(ExtendedCompletionQueue::pauseIfWanted);
        }
        wait.pause();
    }

    /** How long this wait has taken. */
    long nanos() {
        return wait.nanos();
    }

    @Override
    public void close() {
        wait.close();
    }
}
