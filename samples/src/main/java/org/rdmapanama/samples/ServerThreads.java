package org.rdmapanama.samples;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

/** The end of the threads in which a server serves its clients. */
public final class ServerThreads {
    private static final long SECONDS_TO_CLOSE = 5;

    private ServerThreads() {}

    /**
     * Waits until threads that were shut down have ended, also if this one is interrupted, because that is how a server
     * ends. Gives up after five seconds.
     *
     * @param threads the threads
     */
    public static void awaitEnd(ExecutorService threads) {
        boolean interrupted = Thread.interrupted();
        try {
            threads.awaitTermination(SECONDS_TO_CLOSE, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
