package org.rdmapanama.testing;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Runs a part of a test in a thread of its own. */
public final class Async {
    /** Longer than anything that a test does in such a thread takes, even in an emulated machine. */
    public static final Duration LIMIT = Duration.ofSeconds(Bound.patient(60));

    private Async() {}

    public static <T> CompletableFuture<T> start(Callable<T> task) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("async").start(() -> {
            try {
                result.complete(task.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }

    /** Waits for the result, in a bounded time. */
    public static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
    }
}
