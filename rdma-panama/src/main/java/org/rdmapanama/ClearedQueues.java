package org.rdmapanama;

import java.util.Objects;
import java.util.function.IntSupplier;
import java.util.stream.Stream;

/**
 * The completion queues that something reports to. When it goes, or starts anew, a driver may clear them of its
 * completions, with its locks of the queues held: no batch may be open on them then.
 */
final class ClearedQueues {
    private final CompletionQueue[] queues;

    /** Which of them are held for closing. Guarded by the arena's lock. */
    private final boolean[] held;

    private ClearedQueues(CompletionQueue[] queues) {
        this.queues = queues;
        held = new boolean[queues.length];
    }

    /** Of queues that may be the same, or null. */
    static ClearedQueues of(CompletionQueue... queues) {
        return new ClearedQueues(
                Stream.of(queues).filter(Objects::nonNull).distinct().toArray(CompletionQueue[]::new));
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
     * Makes a call in which the queues may be cleared.
     *
     * @throws IllegalStateException when a batch of another thread did not end in time
     */
    int call(IntSupplier verb) {
        return call(0, verb);
    }

    private int call(int first, IntSupplier verb) {
        if (first == queues.length) {
            return verb.getAsInt();
        }
        boolean begun = queues[first].beginClearing();
        try {
            return call(first + 1, verb);
        } finally {
            if (begun) {
                queues[first].endCall();
            }
        }
    }
}
