package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // closed earlier
class ReadinessTest {
    private static final long NOTHING_MILLIS = 50;

    /** How many events there are. */
    private final AtomicInteger events = new AtomicInteger();

    private boolean awaitReadable() {
        long start = System.nanoTime();
        while (events.get() == 0 && System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(10)) {
            LockSupport.parkNanos(1_000);
        }
        return events.get() > 0;
    }

    /** As a channel does it: what is there, and then nothing. */
    private int takeAll(Readiness readiness) {
        int taken = events.getAndSet(0);
        readiness.rearm();
        return taken;
    }

    @Test
    void shouldBeReadableUntilEverythingIsTaken() throws Exception {
        try (Readiness readiness = new Readiness("test", this::awaitReadable);
                Selector selector = Selector.open()) {
            SelectionKey key = readiness.channel().register(selector, SelectionKey.OP_READ);
            for (int i = 0; i < 100; i++) {
                assertEquals(0, i % 10 > 0 ? 0 : selector.select(NOTHING_MILLIS));
                events.incrementAndGet();
                for (int again = 0; again < 2; again++) {
                    assertEquals(1, selector.select(10_000));
                    selector.selectedKeys().clear();
                }
                assertEquals(1, takeAll(readiness));
            }
            assertEquals(0, selector.select(NOTHING_MILLIS));
            readiness.close();
            assertFalse(key.isValid());
        }
    }

    @Test
    void shouldBearThatItsChannelIsClosed() throws Exception {
        try (Readiness readiness = new Readiness("test", this::awaitReadable);
                Selector selector = Selector.open()) {
            readiness.channel().register(selector, SelectionKey.OP_READ);
            events.incrementAndGet();
            assertEquals(1, selector.select(10_000));
            readiness.channel().close();
            for (int i = 0; i < 3; i++) {
                events.incrementAndGet();
                assertEquals(i == 0 ? 2 : 1, takeAll(readiness));
            }
        }
    }

    @Test
    void shouldNotMissWhatComesWhileOthersAreTaken() throws Exception {
        int count = 20_000;
        try (Readiness readiness = new Readiness("test", this::awaitReadable);
                Selector selector = Selector.open()) {
            readiness.channel().register(selector, SelectionKey.OP_READ);
            Thread producer = Thread.ofPlatform().start(() -> {
                for (int i = 0; i < count; i++) {
                    events.incrementAndGet();
                    LockSupport.parkNanos(i % 7 * 1_000L);
                }
            });
            int taken = 0;
            while (taken < count) {
                // Who looks without being told takes away what was about to be told.
                if (taken % 3 == 0) {
                    assertEquals(1, selector.select(10_000));
                    selector.selectedKeys().clear();
                }
                taken += takeAll(readiness);
            }
            producer.join();
            assertEquals(count, taken);
            assertEquals(0, selector.select(NOTHING_MILLIS));
        }
    }
}
