package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.testing.SleepingCall;

/** One thread and one loop for the events of both sides, and wake-ups of event channels. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EventLoopLabTest {
    private static final int PORT = 7495;
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(200);

    @Test
    void shouldTellOfEventsOfConnections() throws Exception {
        EventLoop loop = new EventLoop();
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT)) {
            loop.add(ids.passive, ids.passive);
            loop.add(ids.active, ids.active);
            assertEquals(0, loop.await(SHORT));

            ids.client.connect(TwoIds.parameters());
            for (int i = 0; i < 2; i++) {
                assertEquals(1, loop.await(LONG), "until the event is taken");
                assertSame(ids.passive, loop.source(0));
            }
            while (ids.seen.size() < 7) {
                int ready = loop.await(LONG);
                assertTrue(ready > 0, () -> "nothing after " + ids.seen);
                for (int i = 0; i < ready; i++) {
                    Optional<CmEvent> event = ((EventChannel) loop.attachment(i)).poll();
                    event.ifPresent(each -> ids.handle(each));
                }
            }
            assertEquals(0, loop.await(SHORT));
        }
        assertEquals(0, loop.size(), "closed ones are forgotten");
        loop.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldWakeUp(boolean virtual) throws Exception {
        try (EventChannel channel = EventChannel.create()) {
            FutureTask<Optional<CmEvent>> waiting = SleepingCall.start(virtual, () -> channel.await(LONG));
            channel.wakeup();
            assertEquals(Optional.empty(), SleepingCall.result(waiting));
        }
    }

    @Test
    void shouldWakeUpTheNextWaitOnce() throws Exception {
        EventChannel channel = EventChannel.create();
        try (channel) {
            // A thread of this library waits as well, and has to leave the wake-up to the program.
            assertTrue(channel.selectableChannel().isOpen());
            channel.wakeup();
            Thread.sleep(SHORT);
            assertEquals(Optional.empty(), channel.await(LONG));
            long start = System.nanoTime();
            assertEquals(Optional.empty(), channel.await(SHORT));
            assertTrue(System.nanoTime() - start >= SHORT.toNanos(), "a wake-up is for one wait");
        }
        assertThrows(IllegalStateException.class, channel::wakeup);
        EventLoop loop = new EventLoop();
        assertThrows(IllegalStateException.class, () -> loop.add(channel, null));
        loop.close();
    }
}
