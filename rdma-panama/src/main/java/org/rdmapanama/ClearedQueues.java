package org.rdmapanama;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * The completion queues that something reports to. When it comes, goes, or starts anew, a driver may lock them, to note
 * it there or to clear them of its completions: no batch may be open on them then.
 */
final class ClearedQueues {
    /** Of what reports to none. */
    static final ClearedQueues NONE = new ClearedQueues(new CompletionQueue[0]);

    private final CompletionQueue[] queues;

    /** Which of them are held for closing. Guarded by the arena's lock. */
    private final boolean[] held;

    private ClearedQueues(CompletionQueue[] queues) {
        this.queues = queues;
        held = new boolean[queues.length];
    }

    /** Of queues that may be the same, or null. */
    static ClearedQueues of(CompletionQueue... queues) {
        List<CompletionQueue> different = new ArrayList<>(queues.length);
        for (CompletionQueue queue : queues) {
            if (queue != null && !different.contains(queue)) {
                different.add(queue);
            }
        }
        different.sort(Comparator.comparingLong(queue -> queue.address));
        return new ClearedQueues(different.toArray(CompletionQueue[]::new));
    }

    /**
     * For {@link VerbsObject#prepareToClose}: from now on no batch begins, and those of other threads have ended.
     *
     * @throws IllegalStateException when one of another thread did not end in time
     */
    void prepareToClose() {
        for (int i = 0; i < queues.length; i++) {
            if (!held[i]) {
                queues[i].beginClosing();
                held[i] = true;
            }
        }
    }

    /** For {@link VerbsObject#closed} and {@link VerbsObject#stayOpen}: batches may begin again. */
    void release() {
        for (int i = 0; i < queues.length; i++) {
            if (held[i]) {
                held[i] = false;
                queues[i].endClosing();
            }
        }
    }

    /**
     * Makes a call in which the queues may be locked.
     *
     * @param reporting what the call is about, which has been entered or cannot close meanwhile
     * @throws IllegalStateException when a batch of another thread did not end in time, or something closes
     */
    long call(VerbsObject reporting, LongSupplier verb) {
        long start = System.nanoTime();
        while (true) {
            int begun = 0;
            while (begun < queues.length && queues[begun].tryBeginClearing()) {
                begun++;
            }
            try {
                if (begun == queues.length) {
                    return verb.getAsLong();
                }
            } finally {
                end(begun);
            }
            // Who closes this waits for this call, and has the queues shut.
            reporting.checkOpen();
            // With none of them taken: who has this one may be waiting for another.
            queues[begun].awaitClearing(start);
        }
    }

    private void end(int begun) {
        for (int i = begun - 1; i >= 0; i--) {
            queues[i].endClearing();
        }
    }
}
