package org.rdmapanama.bench;

import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.WorkCompletions;

/** Waits for completions without sleeping, and without reading the clock for each poll: where that would be measured. */
final class Spinning {
    private static final int POLLS_PER_LOOK = 256;

    private Spinning() {}

    /**
     * Polls until there is a completion.
     *
     * @return the number of completions; 0 if there was none within the limit
     */
    static int await(CompletionQueue queue, WorkCompletions completions, Duration limit) throws InterruptedException {
        long start = 0;
        int polls = 0;
        while (true) {
            int count = queue.poll(completions);
            if (count > 0) {
                return count;
            }
            if (++polls % POLLS_PER_LOOK == 0) {
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                long now = System.nanoTime();
                if (start == 0) {
                    start = now;
                } else if (now - start > limit.toNanos()) {
                    return 0;
                }
            }
        }
    }
}
