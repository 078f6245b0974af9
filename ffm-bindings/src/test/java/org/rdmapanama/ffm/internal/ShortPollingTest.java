package org.rdmapanama.ffm.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Bound;

/** Virtual threads that do the work of a device before they park. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShortPollingTest {
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final Duration SHORT = Duration.ofNanos(100_000);
    private static final Runnable NOTHING = () -> {};

    /** A device whose work is what a test wants. */
    private static final class WorkingDevice implements AutoCloseable {
        final AtomicInteger works = new AtomicInteger();

        /** How often the work was left to the device. */
        final AtomicInteger left = new AtomicInteger();

        final ReadySource source;
        private final AtomicReference<String> event = new AtomicReference<>();
        private final DescriptorEvents events = new DescriptorEvents();
        private Runnable work = NOTHING;
        private Runnable leaving = NOTHING;

        WorkingDevice() {
            source = ReadySource.of(
                    () -> event.get() != null,
                    events.source().descriptor(),
                    () -> true,
                    () -> {
                        works.incrementAndGet();
                        work.run();
                    },
                    () -> {
                        left.incrementAndGet();
                        leaving.run();
                    });
        }

        void add() {
            event.set("it");
            source.signal();
        }

        String await(Duration timeout) throws InterruptedException {
            return Waiting.await(source, timeout, () -> event.getAndSet(null));
        }

        @Override
        public void close() {
            source.close();
            events.close();
        }
    }

    private static <T> FutureTask<T> start(Callable<T> body) {
        FutureTask<T> task = new FutureTask<>(body);
        Thread.startVirtualThread(task);
        return task;
    }

    @BeforeEach
    void needsProcessors() {
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "with one processor, virtual threads park at once");
    }

    @Test
    void shouldNotParkWhereTheWorkBringsTheEvent() throws Exception {
        try (WorkingDevice device = new WorkingDevice()) {
            device.work = device::add;
            for (int i = 1; i <= 300; i++) {
                assertEquals("it", start(() -> device.await(LONG)).get());
                assertEquals(i, device.works.get());
            }
            assertEquals(0, device.left.get(), "it parked");
        }
    }

    @Test
    void shouldParkAtOnceWhereNothingCameTheLastTime() throws Exception {
        try (WorkingDevice device = new WorkingDevice()) {
            start(() -> {
                        // Unless it is held up, it works in the first one.
                        assertNull(device.await(SHORT));
                        while (device.left.get() == 0) {
                            assertNull(device.await(SHORT));
                        }
                        int before = device.works.get();
                        for (int i = 0; i < 100; i++) {
                            assertNull(device.await(SHORT));
                        }
                        assertEquals(before, device.works.get(), "it was in vain before");
                        return null;
                    })
                    .get();
        }
    }

    @Test
    void shouldWorkAgainAfterAnEventHasComeSoon() throws Exception {
        try (WorkingDevice device = new WorkingDevice()) {
            start(() -> {
                        while (device.left.get() == 0) {
                            assertNull(device.await(SHORT));
                        }
                        // Soon, unless the thread is held up.
                        device.leaving = device::add;
                        int before = device.works.get();
                        Bound bound = Bound.usual();
                        while (device.works.get() == before) {
                            bound.check(() -> "it always parks at once");
                            assertEquals("it", device.await(LONG));
                        }
                        return null;
                    })
                    .get();
        }
    }

    @Test
    void shouldBeInterruptible() throws Exception {
        try (WorkingDevice device = new WorkingDevice()) {
            device.work = () -> Thread.currentThread().interrupt();
            FutureTask<String> waiting = start(() -> device.await(LONG));
            Throwable thrown = null;
            try {
                waiting.get();
            } catch (ExecutionException e) {
                thrown = e.getCause();
            }
            assertInstanceOf(InterruptedException.class, thrown);
            assertEquals(0, device.left.get(), "it parked");
        }
    }

    /** After a failure others still do the work, and the same thread may wait again. */
    @Test
    void shouldPassOnWhatTheWorkThrows() throws Exception {
        try (WorkingDevice device = new WorkingDevice()) {
            start(() -> {
                        device.work = () -> {
                            throw new IllegalStateException("failing");
                        };
                        String message = null;
                        try {
                            device.await(LONG);
                        } catch (IllegalStateException e) {
                            message = e.getMessage();
                        }
                        assertEquals("failing", message);
                        device.work = device::add;
                        assertEquals("it", device.await(LONG));
                        assertEquals(0, device.left.get(), "it parked");
                        return null;
                    })
                    .get();
        }
    }

    /** Otherwise nobody would do the work for the one that is parked, while the other one is busy with something else. */
    @Test
    void shouldLeaveTheWorkToTheDeviceWhileAnotherThreadIsParked() throws Exception {
        try (WorkingDevice device = new WorkingDevice();
                WorkingDevice same = new WorkingDevice()) {
            FutureTask<String> parked = start(() -> same.await(LONG));
            Bound bound = Bound.usual();
            while (same.left.get() == 0) {
                bound.check(() -> "it does not park");
            }
            device.work = device::add;
            assertEquals("it", start(() -> device.await(LONG)).get());
            assertEquals(1, device.left.get());
            same.add();
            assertEquals("it", parked.get());
            assertEquals("it", start(() -> device.await(LONG)).get());
            assertEquals(1, device.left.get(), "nobody is parked any more");
        }
    }

    @Test
    void shouldMissNothing() throws Exception {
        int rounds = 20_000;
        try (WorkingDevice requests = new WorkingDevice();
                WorkingDevice answers = new WorkingDevice()) {
            FutureTask<Void> other = start(() -> {
                for (int i = 0; i < rounds; i++) {
                    assertEquals("it", requests.await(LONG));
                    answers.add();
                }
                return null;
            });
            start(() -> {
                        for (int i = 0; i < rounds; i++) {
                            requests.add();
                            assertEquals("it", answers.await(LONG));
                        }
                        return null;
                    })
                    .get();
            other.get();
        }
    }
}
