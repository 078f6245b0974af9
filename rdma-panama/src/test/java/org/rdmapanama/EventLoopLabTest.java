package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.rdmapanama.testing.SleepingCall.result;
import static org.rdmapanama.testing.SleepingCall.start;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.event.Waitable;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** One thread that waits for many objects. */
@Tag("lab")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EventLoopLabTest {
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(100);
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static ConnectedPair shared() {
        return ConnectedPair.of(QueuePairType.RC).in(VerbsArena.ofShared()).open();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellOfChannelsAndDevicesAndWakeUps(boolean virtual) throws Exception {
        try (ConnectedPair pair = shared();
                EventLoop loop = new EventLoop()) {
            CompletionChannel another = pair.a.context.createCompletionChannel();
            loop.add(pair.a.channel, "one");
            loop.add(another, "another");
            loop.add(pair.a.context, null);
            assertEquals(3, loop.size());
            assertEquals(0, loop.await(Duration.ZERO));
            assertEquals(0, loop.await(SHORT));

            pair.a.queue.requestNotification(false);
            FutureTask<Integer> waiting = start(virtual, () -> loop.await(LONG));
            pair.a.post(pair.writeToB(1, 0, 8));
            assertEquals(1, result(waiting));
            assertSame(pair.a.channel, loop.source(0));
            assertEquals("one", loop.attachment(0));
            assertThrows(IndexOutOfBoundsException.class, () -> loop.source(1));
            assertSame(pair.a.queue, pair.a.channel.await(Duration.ZERO));
            pair.a.await();

            waiting = start(virtual, () -> loop.await(LONG));
            loop.wakeup();
            assertEquals(0, result(waiting));

            waiting = start(virtual, () -> loop.await(LONG));
            pair.a.queuePair.modify(
                    new QueuePairAttributes().state(QueuePairState.SQD).notifyWhenDrained(true));
            assertEquals(1, result(waiting));
            assertSame(pair.a.context, loop.source(0));
            AsyncEvent event = pair.a.context.awaitAsyncEvent(Duration.ZERO).orElseThrow();
            assertSame(pair.a.queuePair, event.source());
            assertEquals(0, loop.await(SHORT));
        }
    }

    @Test
    void shouldTellAsLongAsThereIsAnEvent() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                EventLoop loop = new EventLoop()) {
            pair.a.queue.requestNotification(false);
            pair.b.queue.requestNotification(false);
            pair.b.postReceive(1, 0, 8);
            pair.a.post(pair.a.request(2, 0, 8).send());
            pair.b.await();
            pair.a.await();
            loop.add(pair.a.channel, "a");
            loop.add(pair.b.channel, "b");
            for (int i = 0; i < 3; i++) {
                assertEquals(2, loop.await(LONG), "both have an event that nobody took");
                assertEquals(Set.of("a", "b"), Set.of(loop.attachment(0), loop.attachment(1)));
            }
            assertSame(pair.b.queue, pair.b.channel.await(LONG));
            assertEquals(1, loop.await(LONG));
            assertEquals("a", loop.attachment(0));
            assertSame(pair.a.queue, pair.a.channel.await(LONG));
            assertEquals(0, loop.await(Duration.ZERO));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldMissNothing(boolean virtual) throws Exception {
        int rounds = LabDevices.areNative() ? 200 : 5_000;
        try (ConnectedPair pair = shared();
                EventLoop loop = new EventLoop()) {
            loop.add(pair.a.channel, null);
            loop.add(pair.a.context, null);
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            SendWorkRequest write = pair.writeToB(1, 0, 8);
            FutureTask<Void> task = new FutureTask<>(() -> {
                for (int i = 0; i < rounds; i++) {
                    pair.a.queue.requestNotification(false);
                    Thread poster = Thread.startVirtualThread(() -> pair.a.post(write));
                    assertEquals(1, loop.await(LONG));
                    assertSame(pair.a.queue, pair.a.channel.await(Duration.ZERO));
                    assertEquals(1, pair.a.queue.poll(completions));
                    poster.join();
                }
                return null;
            });
            if (virtual) {
                Thread.startVirtualThread(task);
            } else {
                Thread.ofPlatform().start(task);
            }
            task.get(200, TimeUnit.SECONDS);
        }
    }

    /** An event that a wait for another queue of the channel took is an event of the channel all the same. */
    @Test
    void shouldTellOfEventsThatAnotherWaitTook() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                EventLoop loop = new EventLoop()) {
            CompletionQueue other = pair.a.context.createCompletionQueue(4, pair.a.channel, 0);
            loop.add(pair.a.channel, null);
            pair.a.queue.requestNotification(false);
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.await();
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            assertEquals(0, other.await(completions, SHORT));
            assertEquals(0, other.await(completions, SHORT));
            assertEquals(1, loop.await(LONG));
            assertSame(pair.a.queue, pair.a.channel.await(Duration.ZERO));
            assertEquals(0, loop.await(SHORT));
        }
    }

    @Test
    void shouldForgetWhatIsRemovedOrClosed() throws Exception {
        try (ConnectedPair pair = shared();
                EventLoop loop = new EventLoop()) {
            loop.add(pair.a.channel, null);
            loop.add(pair.b.channel, null);
            loop.add(pair.b.context, null);
            pair.a.queue.requestNotification(false);
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.await();
            assertEquals(1, loop.await(LONG));
            loop.remove(pair.a.channel);
            loop.remove(pair.a.channel);
            assertSame(pair.a.channel, loop.source(0), "a result stays");
            assertEquals(0, loop.await(SHORT));
            assertEquals(2, loop.size());
            FutureTask<Integer> waiting = start(false, () -> loop.await(Duration.ofSeconds(1)));
            pair.b.channel.close();
            assertEquals(0, result(waiting));
            assertEquals(1, loop.size());
            assertThrows(IllegalStateException.class, () -> loop.add(pair.b.channel, null));
            loop.add(pair.a.channel, "again");
            assertEquals(1, loop.await(LONG));
            assertEquals("again", loop.attachment(0));
            pair.a.arena.close();
            assertEquals(0, loop.size());
            assertEquals(0, loop.await(SHORT));
        }
    }

    @Test
    void shouldRefuseWhatItCannotWaitFor() throws Exception {
        try (ConnectedPair pair = shared()) {
            EventLoop loop = new EventLoop();
            loop.add(pair.a.channel, null);
            assertThrows(IllegalArgumentException.class, () -> loop.add(pair.a.channel, null));
            assertThrows(IllegalArgumentException.class, () -> loop.add(new Waitable() {}, null));
            assertThrows(NullPointerException.class, () -> loop.add(null, null));
            assertThrows(IllegalArgumentException.class, () -> loop.await(Duration.ofNanos(-1)));
            FutureTask<Integer> waiting = start(false, () -> loop.await(LONG));
            assertThrows(IllegalStateException.class, () -> loop.await(Duration.ZERO));
            assertTrue(loop.isOpen());
            loop.close();
            loop.close();
            assertFalse(loop.isOpen());
            assertInstanceOf(
                    IllegalStateException.class,
                    assertThrows(ExecutionException.class, () -> result(waiting))
                            .getCause());
            assertThrows(IllegalStateException.class, loop::wakeup);
            assertThrows(IllegalStateException.class, () -> loop.await(Duration.ZERO));
            assertThrows(IllegalStateException.class, () -> loop.add(pair.a.context, null));
            assertTrue(pair.a.channel.isOpen(), "the objects stay open");
        }
    }

    @Test
    void shouldBeInterruptible() throws Exception {
        try (ConnectedPair pair = shared();
                EventLoop loop = new EventLoop()) {
            loop.add(pair.a.channel, null);
            Thread[] thread = new Thread[1];
            FutureTask<Integer> waiting = start(false, () -> {
                thread[0] = Thread.currentThread();
                return loop.await(LONG);
            });
            thread[0].interrupt();
            assertInstanceOf(
                    InterruptedException.class,
                    assertThrows(ExecutionException.class, () -> result(waiting))
                            .getCause());
        }
    }

    @Test
    void shouldAllocateNothing() throws Exception {
        // The lab has only the first compiler, with which the JDK's own code for native calls allocates.
        assumeFalse(LabDevices.areNative(), "needs the second compiler");
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC);
                EventLoop loop = new EventLoop()) {
            loop.add(pair.a.channel, null);
            loop.add(pair.a.context, null);
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            SendWorkRequest write = pair.writeToB(1, 0, 8);
            Duration nap = Duration.ofNanos(1_000);
            long bytes = Long.MAX_VALUE;
            for (int round = 0; bytes > 0 && round < 40; round++) {
                long before = THREADS.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < 500; i++) {
                    loop.await(nap);
                    pair.a.queue.requestNotification(false);
                    pair.a.queuePair.postSend(write);
                    if (loop.await(LONG) != 1 || loop.source(0) != pair.a.channel) {
                        throw new AssertionError("no event of the channel");
                    }
                    if (pair.a.channel.await(Duration.ZERO) != pair.a.queue || pair.a.queue.poll(completions) != 1) {
                        throw new AssertionError("no event, or without a completion");
                    }
                }
                bytes = Math.min(bytes, THREADS.getCurrentThreadAllocatedBytes() - before);
            }
            assertEquals(0, bytes, "500 rounds allocated " + bytes + " bytes");
        }
    }
}
