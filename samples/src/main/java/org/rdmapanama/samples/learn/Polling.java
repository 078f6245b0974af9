package org.rdmapanama.samples.learn;

import static org.rdmapanama.samples.learn.Lesson.LIMIT;

import org.rdmapanama.CompletionQueue;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.samples.Failure;

/** How lessons wait without sleeping. */
final class Polling {
    private Polling() {}

    /** Polls a queue until it has some completions, and returns how many. */
    static int await(CompletionQueue queue, WorkCompletions completions) {
        long start = System.nanoTime();
        int count = queue.poll(completions);
        while (count == 0) {
            if (System.nanoTime() - start > LIMIT.toNanos()) {
                throw new Failure("no work request completed within " + LIMIT.toSeconds() + " s");
            }
            Thread.onSpinWait();
            count = queue.poll(completions);
        }
        return count;
    }
}
