package org.rdmapanama.ffm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.testing.Bound;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WaitingTest {
    private static final Duration LONG = Duration.ofMinutes(1);

    /** The kind of thread that waits, and what it waits for. */
    private enum Way {
        PLATFORM_THREAD_WITHOUT_DESCRIPTOR(false, false),
        PLATFORM_THREAD_WITH_DESCRIPTOR(true, false),
        VIRTUAL_THREAD_WITHOUT_DESCRIPTOR(false, true),
        VIRTUAL_THREAD_WITH_DESCRIPTOR(true, true);

        private final boolean descriptor;
        private final boolean virtual;

        Way(boolean descriptor, boolean virtual) {
            this.descriptor = descriptor;
            this.virtual = virtual;
        }

        Events events() {
            return descriptor ? new DescriptorEvents() : new SignalledEvents();
        }

        Thread start(Runnable body) {
            return virtual
                    ? Thread.startVirtualThread(body)
                    : Thread.ofPlatform().start(body);
        }
    }

    /** A wait in a thread of its own. */
    private static final class Waiter {
        final AtomicReference<Object> result = new AtomicReference<>();
        final AtomicInteger looks = new AtomicInteger();
        final Thread thread;

        Waiter(Way way, Events events, Duration timeout) {
            CountDownLatch looked = new CountDownLatch(1);
            thread = way.start(() -> {
                try {
                    Object found = Waiting.await(events.source(), timeout, () -> {
                        looks.incrementAndGet();
                        looked.countDown();
                        return events.take();
                    });
                    result.set(found == null ? "nothing" : found);
                } catch (Throwable e) {
                    result.set(e);
                }
            });
            try {
                // It looks when events can wake it already.
                assertTrue(looked.await(LONG.toSeconds(), TimeUnit.SECONDS), "it does not look");
                // Until it sleeps, mostly.
                Thread.sleep(20);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        Object result() throws InterruptedException {
            thread.join();
            return result.get();
        }
    }

    private static String await(Duration timeout, Supplier<String> look) throws InterruptedException {
        return Waiting.await(ReadySource.of(() -> false), timeout, look);
    }

    @Test
    void shouldLookOnceWithoutATimeout() throws InterruptedException {
        int[] looks = new int[1];
        assertNull(await(Duration.ZERO, () -> {
            looks[0]++;
            return null;
        }));
        assertEquals(1, looks[0]);
    }

    @ParameterizedTest
    @EnumSource
    void shouldReturnWhatCame(Way way) throws InterruptedException {
        try (Events events = way.events()) {
            Waiter waiter = new Waiter(way, events, LONG);
            events.add();
            assertEquals("it", waiter.result());
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldReturnWhatComesLate(Way way) throws InterruptedException {
        try (Events events = way.events()) {
            Waiter waiter = new Waiter(way, events, LONG);
            // Longer than a thread waits natively.
            Thread.sleep(120);
            events.add();
            assertEquals("it", waiter.result());
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldMissNothing(Way way) throws InterruptedException {
        int rounds = 3_000;
        try (Events events = way.events();
                Events answers = way.events()) {
            Thread other = way.start(() -> {
                for (int i = 0; i < rounds; i++) {
                    take(events);
                    answers.add();
                }
            });
            Thread one = way.start(() -> {
                for (int i = 0; i < rounds; i++) {
                    events.add();
                    take(answers);
                }
            });
            one.join();
            other.join();
        }
    }

    private static void take(Events events) {
        try {
            assertEquals("it", Waiting.await(events.source(), LONG, events::take));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldWakeOneOfSeveralForEachEvent(Way way) throws InterruptedException {
        try (Events events = way.events()) {
            List<Waiter> waiters = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                waiters.add(new Waiter(way, events, LONG));
            }
            for (int i = 0; i < 8; i++) {
                events.add();
            }
            for (Waiter each : waiters) {
                assertEquals("it", each.result());
            }
        }
    }

    @Test
    void shouldReturnNullWhenTheTimeIsOver() throws InterruptedException {
        long start = System.nanoTime();
        assertNull(await(Duration.ofMillis(120), () -> null));
        Duration waited = Duration.ofNanos(System.nanoTime() - start);
        assertTrue(waited.toMillis() >= 120 && waited.toSeconds() < 10, waited::toString);
    }

    @ParameterizedTest
    @EnumSource
    void shouldEndAtItsTimeout(Way way) throws InterruptedException {
        try (Events events = way.events()) {
            assertEquals("nothing", new Waiter(way, events, Duration.ofMillis(120)).result());
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldLookNoMoreWhileThereIsNothing(Way way) throws InterruptedException {
        try (Events events = way.events()) {
            long wakeUps = DescriptorPoller.wakeUps();
            Waiter waiter = new Waiter(way, events, Duration.ofMillis(700));
            assertEquals("nothing", waiter.result());
            // Two before it sleeps, one after the native wait, one at the end, and some without any reason.
            assertTrue(waiter.looks.get() <= 8, waiter.looks + " looks");
            assertTrue(DescriptorPoller.wakeUps() - wakeUps <= 4, "the poller woke up");
        }
    }

    @Test
    void shouldLookAgainAsOftenAsAsked() throws InterruptedException {
        int[] looks = new int[1];
        assertEquals(
                "it",
                Waiting.await(
                        ReadySource.of(() -> false), LONG, () -> 1_000_000, () -> ++looks[0] == 20 ? "it" : null));
    }

    /** A thread that waits for the descriptor of a device does its work; one that parks is told by a thread of the device. */
    @ParameterizedTest
    @EnumSource(names = ".*_WITH_DESCRIPTOR", mode = EnumSource.Mode.MATCH_ALL)
    void shouldLeaveTheWorkOfADeviceOnlyWhenItParks(Way way) throws InterruptedException {
        try (DescriptorEvents events = new DescriptorEvents()) {
            AtomicInteger left = new AtomicInteger();
            AtomicReference<ReadySource> told = new AtomicReference<>();
            ReadySource device = ReadySource.of(() -> false, events.source().descriptor(), () -> true, () -> {}, () -> {
                left.incrementAndGet();
                told.get().signal();
            });
            told.set(device);
            // Ends the native wait, and stays readable.
            events.add();
            AtomicInteger looks = new AtomicInteger();
            AtomicReference<Object> result = new AtomicReference<>();
            Thread thread = way.start(() -> {
                try {
                    result.set(Waiting.await(device, LONG, () -> looks.incrementAndGet() == 2 ? "it" : null));
                } catch (Throwable e) {
                    result.set(e);
                }
            });
            thread.join();
            assertEquals("it", result.get());
            assertEquals(way.virtual ? 1 : 0, left.get());
        }
    }

    @Test
    void shouldNotEndATimeoutEarlyForWantOfAMillisecond() throws InterruptedException {
        // Less than a millisecond is waited for natively as a whole one.
        try (DescriptorEvents events = new DescriptorEvents()) {
            int[] looks = new int[1];
            assertNull(Waiting.await(events.source(), Duration.ofNanos(500_000), () -> {
                looks[0]++;
                return null;
            }));
            assertTrue(looks[0] <= 5, () -> looks[0] + " looks");
        }
    }

    @Test
    void shouldNoticeAnInterruptBeforeItWaits() {
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> await(Duration.ofDays(1), () -> null));
        assertFalse(Thread.currentThread().isInterrupted(), "the exception tells of it from here on");
    }

    @ParameterizedTest
    @EnumSource
    void shouldNoticeAnInterruptWhileItWaits(Way way) throws InterruptedException {
        try (Events events = way.events()) {
            Waiter waiter = new Waiter(way, events, Duration.ofDays(1));
            Bound bound = Bound.usual();
            waiter.thread.interrupt();
            assertEquals(InterruptedException.class, waiter.result().getClass());
            bound.check("the interrupt did not end the wait at once");
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldWakeUp(Way way) throws InterruptedException {
        try (Events events = way.events()) {
            Waiter waiter = new Waiter(way, events, LONG);
            events.source().wakeup();
            assertEquals("nothing", waiter.result());
            Waiter second = new Waiter(way, events, LONG);
            events.add();
            assertEquals("it", second.result(), "a wake-up is for one wait");
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldWakeUpTheNextWait(Way way) throws InterruptedException {
        try (Events events = way.events()) {
            events.source().wakeup();
            events.source().wakeup();
            assertNull(Waiting.await(events.source(), LONG, events::take));
            events.add();
            assertEquals("it", Waiting.await(events.source(), LONG, events::take));
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldEndWhenTheSourceCloses(Way way) throws InterruptedException {
        Events events = way.events();
        Waiter waiter = new Waiter(way, events, LONG);
        events.close();
        assertEquals(IllegalStateException.class, waiter.result().getClass());
    }

    @Test
    void shouldRefuseNegativeTimeouts() {
        assertThrows(IllegalArgumentException.class, () -> await(Duration.ofNanos(-1), () -> "something"));
    }

    @ParameterizedTest
    @EnumSource
    void shouldTellApartDescriptorsOfOneNumber(Way way) throws InterruptedException {
        // A descriptor that closes gives its number to the next one.
        for (int i = 0; i < 200; i++) {
            Events old = way.events();
            Waiter waiting = i % 20 == 0 ? new Waiter(way, old, LONG) : null;
            old.source().arm();
            old.close();
            try (Events next = way.events()) {
                next.source().arm();
                next.add();
                take(next);
            }
            if (waiting != null) {
                assertEquals(IllegalStateException.class, waiting.result().getClass());
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldTellWhetherItIsReady(Way way) {
        try (Events events = way.events()) {
            assertFalse(events.source().isReady());
            events.add();
            assertTrue(events.source().isReady());
            events.take();
            assertFalse(events.source().isReady());
            events.source().keep(true);
            assertTrue(events.source().isReady());
        }
    }
}
