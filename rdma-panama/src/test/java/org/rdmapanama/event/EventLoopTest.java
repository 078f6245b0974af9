package org.rdmapanama.event;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.ReadySources;
import org.rdmapanama.testing.Bound;

/** Objects that close, or are removed, at moments that a device does not choose. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EventLoopTest {
    private static final Duration SHORT = Duration.ofMillis(100);

    /** An object that always has an event. Closing it leaves its source open, as if its native end had failed. */
    private static final class Busy implements Waitable {
        static {
            ReadySources.register(Busy.class, Busy::source);
        }

        private final ReadySource source = ReadySource.of(() -> true);
        private boolean open = true;
        private boolean confined;

        private ReadySource source() {
            if (confined) {
                throw new WrongThreadException("for a test");
            }
            if (!open) {
                throw new IllegalStateException("closed for a test");
            }
            return source;
        }

        /** Whether others than the caller's listener are told of events. */
        private boolean hasListeners() {
            AtomicInteger told = new AtomicInteger();
            ReadySource.Listener listener = told::incrementAndGet;
            source.add(listener);
            source.signalOthers();
            source.remove(listener);
            return told.get() > 0;
        }
    }

    @Test
    void shouldForgetAClosedObjectWhoseSourceStaysReady() throws Exception {
        try (EventLoop loop = new EventLoop()) {
            Busy closing = new Busy();
            Busy staying = new Busy();
            loop.add(closing, null);
            loop.add(staying, null);
            assertEquals(2, loop.await(SHORT));
            closing.open = false;
            assertEquals(1, loop.await(SHORT));
            assertSame(staying, loop.source(0));
            assertEquals(1, loop.size());
            assertFalse(closing.hasListeners());
            staying.open = false;
            assertEquals(0, loop.await(SHORT));
            assertEquals(0, loop.size());
        }
    }

    /** The thread that takes its events finds out. */
    @Test
    void shouldReportAnObjectThatBelongsToAnotherThread() throws Exception {
        try (EventLoop loop = new EventLoop()) {
            Busy busy = new Busy();
            loop.add(busy, null);
            busy.confined = true;
            assertEquals(1, loop.await(SHORT));
            assertEquals(1, loop.size());
        }
    }

    @Test
    void shouldLeaveNothingAtAnObjectThatIsRemovedWhileItIsAdded() throws Exception {
        int rounds = 4_000;
        int left = 0;
        AtomicReference<Busy> current = new AtomicReference<>();
        AtomicInteger removed = new AtomicInteger();
        try (EventLoop loop = new EventLoop()) {
            Thread remover = Thread.ofPlatform().daemon().start(() -> {
                while (removed.get() < rounds) {
                    Bound.usual().spin("nothing was added", () -> loop.size() > 0);
                    loop.remove(current.get());
                    removed.incrementAndGet();
                }
            });
            for (int i = 1; i <= rounds; i++) {
                Busy busy = new Busy();
                current.set(busy);
                loop.add(busy, null);
                int added = i;
                Bound.usual().spin("it was not removed", () -> removed.get() == added);
                left += busy.hasListeners() ? 1 : 0;
            }
            remover.join();
            assertEquals(0, left, "listeners that nobody removes, of " + rounds);
            assertEquals(0, loop.await(Duration.ZERO));
        }
    }
}
