package org.rdmapanama.event;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.ReadySources;

/** Objects that are removed at moments that a device does not choose. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EventLoopTest {
    /** An object that always has an event. */
    private static final class Busy implements Waitable {
        static {
            ReadySources.register(Busy.class, Busy::source);
        }

        private final ReadySource source = ReadySource.of(() -> true);

        private ReadySource source() {
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
    void shouldLeaveNothingAtAnObjectThatIsRemovedWhileItIsAdded() throws Exception {
        int rounds = 4_000;
        int left = 0;
        AtomicReference<Busy> current = new AtomicReference<>();
        AtomicInteger removed = new AtomicInteger();
        try (EventLoop loop = new EventLoop()) {
            Thread remover = Thread.ofPlatform().daemon().start(() -> {
                while (removed.get() < rounds) {
                    if (loop.size() > 0) {
                        loop.remove(current.get());
                        removed.incrementAndGet();
                    }
                }
            });
            for (int i = 1; i <= rounds; i++) {
                Busy busy = new Busy();
                current.set(busy);
                loop.add(busy, null);
                while (removed.get() < i) {
                    Thread.onSpinWait();
                }
                left += busy.hasListeners() ? 1 : 0;
            }
            remover.join();
            assertEquals(0, left, "listeners that nobody removes, of " + rounds);
            assertEquals(0, loop.await(Duration.ZERO));
        }
    }
}
