package org.rdmapanama.rsocket;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** The thread that waits for a channel, if one does. */
final class Waiter {
    private static final Duration TIME_TO_CLOSE = Duration.ofSeconds(2);

    private volatile Thread thread;

    /** Enters the calling thread; {@link #leave} must follow. */
    void enter() {
        thread = Thread.currentThread();
    }

    void leave() {
        thread = null;
    }

    /** Ends its pause, so that it looks again. */
    void wake() {
        LockSupport.unpark(thread);
    }

    private boolean isInterrupted() {
        Thread waiting = thread;
        return waiting != null && waiting.isInterrupted();
    }

    /** Closes an rsocket: ends the pauses of those who wait for it, and waits until it is gone, two seconds at most. */
    static void close(NativeSocket socket, Waiter... waiters) {
        socket.startClosing();
        boolean interrupted = false;
        for (Waiter waiter : waiters) {
            interrupted |= waiter.isInterrupted();
            waiter.wake();
        }
        // An interrupt closes the channel in the thread that interrupts, which must not be held up.
        if (!interrupted) {
            socket.awaitClosed(TIME_TO_CLOSE);
        }
    }
}
