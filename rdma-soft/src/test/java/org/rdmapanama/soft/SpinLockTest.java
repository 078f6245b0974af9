package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ffm.waiting.ChildProcess;

/** A thread that waits for the lock gets it, though another one takes it again and again. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SpinLockTest {
    private static final int ROUNDS = 300;
    private static final long HELD_NANOS = 20_000;

    /** How often the other one gets it at most while this one waits, in the median round. */
    private static final int MOST = 10;

    private final SpinLock lock = new SpinLock();
    private final AtomicInteger taken = new AtomicInteger();
    private final AtomicBoolean done = new AtomicBoolean();

    private void hog(boolean tries) {
        while (!done.get()) {
            if (!tries) {
                lock.lockAfterOthers();
            } else if (!lock.tryLock()) {
                Thread.onSpinWait();
                continue;
            }
            taken.incrementAndGet();
            long start = System.nanoTime();
            while (System.nanoTime() - start < HELD_NANOS) {
                Thread.onSpinWait();
            }
            lock.unlock();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldGiveWayToWhoWaits(boolean tries) throws InterruptedException {
        Thread hog = new Thread(() -> hog(tries));
        hog.start();
        int[] others = new int[ROUNDS];
        try {
            while (taken.get() == 0) {
                Thread.onSpinWait();
            }
            for (int i = 0; i < ROUNDS; i++) {
                int start = taken.get();
                lock.lock();
                others[i] = taken.get() - start;
                lock.unlock();
                long pause = System.nanoTime();
                while (System.nanoTime() - pause < 2 * HELD_NANOS) {
                    Thread.onSpinWait();
                }
            }
        } finally {
            done.set(true);
            hog.join();
        }
        // Not the average: a round in which this thread was not running at all says nothing about the lock.
        Arrays.sort(others);
        int median = others[ROUNDS / 2];
        assertTrue(median <= MOST, () -> "the other one had it " + median + " times meanwhile");
    }

    @Test
    void shouldBeTriedWithoutWaiting() throws InterruptedException {
        assertTrue(lock.tryLock());
        boolean[] second = {true};
        Thread other = new Thread(() -> second[0] = lock.tryLock());
        other.start();
        other.join();
        lock.unlock();
        assertTrue(!second[0] && lock.tryLock());
    }

    /** One that has no carrier may have it. */
    @TestFactory
    Stream<DynamicTest> shouldGiveCarriersBack() throws Exception {
        return ChildProcess.run(
                WaitingForTheLock.class, 1, List.of(), WaitingForTheLock.cases(), Duration.ofSeconds(50));
    }
}
