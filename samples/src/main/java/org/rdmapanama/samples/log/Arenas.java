package org.rdmapanama.samples.log;

import java.util.concurrent.locks.LockSupport;
import org.rdmapanama.VerbsArena;

/** Ends nodes whose threads may be anywhere. */
final class Arenas {
    private static final int ATTEMPTS = 100;
    private static final long PAUSE_NANOS = 100_000;
    private static final long LIMIT_MILLIS = 5000;

    private Arenas() {}

    /** Closes an arena that other threads are using; these get an {@link IllegalStateException}. */
    static void close(VerbsArena arena) {
        for (int i = 1; arena.scope().isAlive(); i++) {
            try {
                arena.close();
            } catch (IllegalStateException e) {
                // A thread is in a call that keeps the memory; it will not take long.
                if (i == ATTEMPTS) {
                    throw e;
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** Waits for a thread that has nothing left to work with. */
    static void join(Thread thread) {
        if (thread.equals(Thread.currentThread())) {
            return;
        }
        thread.interrupt();
        try {
            thread.join(LIMIT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
