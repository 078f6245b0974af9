package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The thread of the device goes on, whatever its timers do: otherwise all its programs would wait forever. */
@Timeout(60)
class FailingTimersTest {
    private final SoftContext context = SoftDevice.open();
    private final SoftDevice device = context.device();
    private final AtomicInteger failed = new AtomicInteger();

    @AfterEach
    void close() {
        context.close();
    }

    /** As without memory: it cannot even be told. */
    private static final class Untold extends Error {
        private static final long serialVersionUID = 1;

        @Override
        public String toString() {
            throw new InternalError("for a test");
        }

        @Override
        public String getMessage() {
            throw new InternalError("for a test");
        }
    }

    private Timed timer(Runnable expired, Error inTheEnd) {
        return new Timed() {
            @Override
            public long deadline() {
                return 0;
            }

            @Override
            public void expired() {
                expired.run();
            }

            @Override
            public void failed(Throwable cause) {
                failed.incrementAndGet();
                throw inTheEnd;
            }
        };
    }

    private void shouldGoOnAfter(Error inTheEnd) throws InterruptedException {
        CountDownLatch others = new CountDownLatch(2);
        Timed failing = timer(
                () -> {
                    throw new InternalError("for a test");
                },
                inTheEnd);
        List<Timed> timers = new ArrayList<>(List.of(failing));
        timers.add(timer(others::countDown, inTheEnd));
        timers.add(timer(others::countDown, inTheEnd));
        device.lock();
        try {
            timers.forEach(each -> device.engine.wakeAt(each, false));
        } finally {
            device.unlock();
        }
        assertTrue(others.await(10, TimeUnit.SECONDS), "the others do not run");
        assertEquals(1, failed.getAndSet(0), "it runs once");
    }

    @Test
    void shouldRunTheOthersWhenOneFailsAndItsOwnerAsWell() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            shouldGoOnAfter(new InternalError("for a test"));
        }
    }

    @Test
    void shouldGoOnWhenAFailureCannotBeLogged() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            shouldGoOnAfter(new Untold());
        }
    }
}
