package org.rdmapanama.samples;

import java.time.Duration;

/** Paces the attempts of a client to reach a server that is not there yet: both sides may be started at once. */
final class Patience {
    private static final long RETRY_MILLIS = 100;

    /** How long to wait for a server without printing that it is late. */
    private static final long SILENT_NANOS = 2_000_000_000L;

    private final long start = System.nanoTime();
    private final Duration limit;
    private final Runnable afterAWhile;
    private boolean told;

    /** Starts now. The action runs once, if connecting takes longer than usual. */
    Patience(Duration limit, Runnable afterAWhile) {
        this.limit = limit;
        this.afterAWhile = afterAWhile;
    }

    /** Waits a moment. Returns false once the time is over. */
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
