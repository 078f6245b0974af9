package org.rdmapanama.ffm.internal;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Bound;

/**
 * Interrupted threads that wait where an interrupt does not end the wait. They must park all the same: a virtual thread that
 * does not park keeps its carrier from the thread that it waits for.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InterruptedThreadsTest {
    /**
     * Runs something in an interrupted thread until that can park, for which it must not be interrupted, and then ends its wait.
     * At the end the thread must be interrupted again.
     */
    private static void parks(Runnable waiting, Runnable end) throws InterruptedException {
        AtomicBoolean interrupted = new AtomicBoolean();
        CountDownLatch begun = new CountDownLatch(1);
        Thread thread = Thread.ofPlatform().daemon().start(() -> {
            Thread.currentThread().interrupt();
            begun.countDown();
            waiting.run();
            interrupted.set(Thread.currentThread().isInterrupted());
        });
        begun.await();
        Bound.usual().await("it cannot park", () -> !thread.isInterrupted());
        end.run();
        thread.join();
        assertTrue(interrupted.get(), "the interrupt is lost");
    }

    @Test
    void shouldParkWhileASourceIsInUse() throws Exception {
        try (DescriptorEvents events = new DescriptorEvents()) {
            ReadySource source = events.source();
            assertTrue(source.beginUse());
            parks(source::close, source::endUse);
        }
    }

    @Test
    void shouldParkWhileALockIsHeld() throws Exception {
        ShortLock lock = new ShortLock();
        lock.lock();
        parks(
                () -> {
                    lock.lock();
                    lock.unlock();
                },
                lock::unlock);
    }
}
