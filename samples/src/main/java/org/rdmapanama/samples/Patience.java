package org.rdmapanama.samples;

import java.time.Duration;

/** How often a client tries to reach a server that is not there yet: both sides may be started at once. */
final class Patience {
    private static final long RETRY_MILLIS = 100;

    /** Of two programs started at once, the server may be this much later without a word about it. */
    private static final long SILENT_NANOS = 2_000_000_000L;

    private final long start = System.nanoTime();
    private final Duration limit;
    private final Runnable afterAWhile;
    private boolean told;

    /** Begins now; the action runs once, when it takes longer than usual. */
    Patience(Duration limit, Runnable afterAWhile) {
        this.limit = limit;
        this.afterAWhile = afterAWhile;
    }

    /** Waits a moment; false when the time is over. */
    boolean goOn() throws InterruptedException {
        long waited = System.nanoTime() - start;
        if (waited > limit.toNanos()) {
            return false;
        }
        if (!told && waited > SILENT_NANOS) {
            afterAWhile.run();
            told = true;
        }
        Thread.sleep(RETRY_MILLIS);
        return true;
    }
}
