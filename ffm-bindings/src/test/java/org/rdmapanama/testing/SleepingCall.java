package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** A call that waits in a thread of its own, platform or virtual. */
public final class SleepingCall {
    private static final long MILLIS_TO_SLEEP = 200;
    private static final int LIMIT_SECONDS = 20;

    private SleepingCall() {}

    /** Starts a call, and lets it begin to sleep. */
    public static <T> FutureTask<T> start(boolean virtual, Callable<T> call) throws InterruptedException {
        FutureTask<T> task = new FutureTask<>(call);
        Thread thread =
                virtual ? Thread.startVirtualThread(task) : Thread.ofPlatform().start(task);
        Thread.sleep(MILLIS_TO_SLEEP);
        assertTrue(thread.isAlive(), "the wait is over already");
        return task;
    }

    /** Waits for the result, in a bounded time. */
    public static <T> T result(FutureTask<T> task) throws Exception {
        return task.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }
}
