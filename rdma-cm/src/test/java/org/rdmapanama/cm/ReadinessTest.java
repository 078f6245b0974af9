package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.spi.LoggerContextFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.provider.Logging;

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

    static List<Throwable> failures() {
        return List.of(new ConnectionException("poll", Errno.ENOMEM, "", null), new InternalError("for a test"));
    }

    /** It is readable, so that its user calls; and what comes later is told again. */
    @ParameterizedTest
    @MethodSource("failures")
    void shouldGoOnAfterAFailure(Throwable failure) throws Exception {
        AtomicBoolean fails = new AtomicBoolean();
        try (Readiness readiness = new Readiness("test", () -> {
                    if (fails.get()) {
                        throw Errno.rethrow(failure);
                    }
                    return awaitReadable();
                });
                Selector selector = Selector.open()) {
            SelectionKey key = readiness.channel().register(selector, SelectionKey.OP_READ);
            for (int i = 0; i < 3; i++) {
                fails.set(true);
                for (int again = 0; again < 2; again++) {
                    assertEquals(1, selector.select(10_000));
                    selector.selectedKeys().clear();
                    assertTrue(key.isValid());
                    assertEquals(0, takeAll(readiness));
                }
                fails.set(false);
                events.incrementAndGet();
                int taken = 0;
                while (taken == 0) {
                    assertEquals(1, selector.select(10_000));
                    selector.selectedKeys().clear();
                    taken = takeAll(readiness);
                }
                assertEquals(1, taken);
            }
        }
    }

    /** Its user is told although nobody can be told in another way. */
    @Test
    void shouldTellOfAFailureThatCannotBeLogged() throws Exception {
        // Loads Log4j.
        Logging.logger(ReadinessTest.class);
        LoggerContextFactory usual = LogManager.getFactory();
        LogManager.setFactory((LoggerContextFactory) Proxy.newProxyInstance(
                ReadinessTest.class.getClassLoader(),
                new Class<?>[] {LoggerContextFactory.class},
                (proxy, method, all) -> {
                    throw new InternalError("for a test");
                }));
        try (Readiness readiness = new Readiness("test", () -> {
                    throw new InternalError("for a test");
                });
                Selector selector = Selector.open()) {
            readiness.channel().register(selector, SelectionKey.OP_READ);
            assertEquals(1, selector.select(10_000));
        } finally {
            LogManager.setFactory(usual);
        }
    }

    @Test
    void shouldEndWhenWhatItWatchesIsClosed() throws Exception {
        try (Readiness readiness = new Readiness("test", () -> {
            throw new IllegalStateException("closed");
        })) {
            while (readiness.channel().isOpen()) {
                LockSupport.parkNanos(1_000);
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
