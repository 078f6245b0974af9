package org.rdmapanama.ffm.waiting;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A virtual thread that only wants to go on, now and then. Where it cannot, something keeps its carrier. That is measured
 * by a platform thread's own pauses, not by the clock: a machine that stands still holds up both.
 */
public final class CarrierPulse implements AutoCloseable {
    private static final Duration PAUSE = Duration.ofMillis(10);

    private final int maxPauses;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean closed;

    private final AtomicInteger beats = new AtomicInteger();

    private int seen;
    private int missed;

    /** With how long it may be kept from going on. */
    public CarrierPulse(Duration limit) {
        maxPauses = (int) limit.dividedBy(PAUSE);
        Thread.ofVirtual().name("heartbeat").start(() -> {
            try {
                while (!closed) {
                    beats.incrementAndGet();
                    Thread.sleep(PAUSE.dividedBy(2));
                }
                ended.countDown();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    /** Waits, and looks at the beats meanwhile. */
    public boolean await(CountDownLatch latch, Duration limit) {
        long start = System.nanoTime();
        boolean ended;
        do {
            ended = Latches.await(latch, PAUSE);
            look();
        } while (!ended && System.nanoTime() - start < limit.toNanos());
        return ended;
    }

    private void look() {
        int now = beats.get();
        missed = now == seen ? missed + 1 : 0;
        seen = now;
        if (missed > maxPauses) {
            throw CaseRunner.hangs("other virtual threads have had no carrier for " + PAUSE.multipliedBy(maxPauses));
        }
    }

    @Override
    public void close() {
        closed = true;
        if (!Latches.await(ended, WaitingCall.LIMIT)) {
            throw CaseRunner.hangs("other virtual threads have no carrier");
        }
    }
}
