package org.rdmapanama.rsocket;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread that currently waits in one kind of call on a channel, if any. The waiting thread enters and leaves; any
 * thread may wake it.
 */
final class Waiter {
    private static final Duration TIME_TO_CLOSE = Duration.ofSeconds(2);

    private volatile Thread thread;

    /** Registers the calling thread; it must call {@link #leave} afterwards. */
    void enter() {
        thread = Thread.currentThread();
    }

    /** Unregisters the thread. */
    void leave() {
        thread = null;
    }

    /** Ends the pause of the waiting thread, so that it polls again. */
    void wake() {
        LockSupport.unpark(thread);
    }

    private boolean isInterrupted() {
        Thread waiting = thread;
        return waiting != null && waiting.isInterrupted();
    }

    /** Closes an rsocket, wakes the waiting threads, and waits up to two seconds until the rsocket is closed. */
    static void close(NativeSocket socket, Waiter... waiters) {
        socket.startClosing();
        boolean interrupted = false;
        for (Waiter waiter : waiters) {
            interrupted |= waiter.isInterrupted();
            waiter.wake();
        }
        // Thread.interrupt closes the channel in the interrupting thread, which must not block.
        if (!interrupted) {
            socket.awaitClosed(TIME_TO_CLOSE);
        }
    }
}
