package org.rdmapanama.samples;

import java.time.Duration;

/** Paces the attempts of a client to reach a server that is not there yet: both sides may be started at once. */
final class Patience {
    private static final long RETRY_MILLIS = 100;

    /** Name of a system property for tests: how long to wait for a server without printing that it is late. */
    static final String SILENT_MILLIS = "org.rdmapanama.samples.silentMillis";

    private static final long DEFAULT_SILENT_MILLIS = 2000;

    private final long start = System.nanoTime();
    private final Duration limit;
    private final Runnable afterAWhile;
    private final Duration silent = Duration.ofMillis(Long.getLong(SILENT_MILLIS, DEFAULT_SILENT_MILLIS));
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
        if (!told && waited > silent.toNanos()) {
            afterAWhile.run();
            told = true;
        }
        Thread.sleep(RETRY_MILLIS);
        return true;
    }
}
