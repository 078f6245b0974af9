package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** Completion channels: sleeping until something completes, and every way for that sleep to end. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EventsLabTest {
    private static final Duration LONG = Duration.ofSeconds(10);
    private static final Duration SHORT = Duration.ofMillis(100);

    @Test
    void shouldTellOfACompletion() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            // Three rounds, because a notification is for one completion and has to be asked for again.
            for (int i = 0; i < 3; i++) {
                pair.b.postReceive(i, 0, 8);
                pair.b.queue.requestNotification(false);
                assertTrue(pair.b.poll().isEmpty());
                pair.a.post(pair.a.request(i, 0, 8).send());
                assertSame(pair.b.queue, pair.b.channel.await(LONG));
                pair.b.await().is(CompletionOpcode.RECV, i);
                pair.a.await();
            }
        }
    }

    @Test
    void shouldTellOnlyOnce() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.a.queue.requestNotification(false);
            for (int i = 0; i < 5; i++) {
                pair.a.post(pair.writeToB(i, 0, 8));
            }
            assertSame(pair.a.queue, pair.a.channel.await(LONG));
            pair.a.await(5);
            assertNull(pair.a.channel.await(SHORT));
        }
    }

    @Test
    void shouldNotTellUnlessAsked() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.a.post(pair.writeToB(1, 0, 8));
            pair.a.await();
            assertNull(pair.a.channel.await(SHORT));
        }
    }

    @Test
    void shouldTellOfSolicitedCompletionsOnly() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.postReceive(1, 0, 8);
            pair.b.postReceive(2, 0, 8);
            pair.b.queue.requestNotification(true);
            pair.a.post(pair.a.request(1, 0, 8).send());
            pair.b.await().is(CompletionOpcode.RECV, 1);
            assertNull(pair.b.channel.await(SHORT), "nobody solicited this one");
            pair.a.post(pair.a.request(2, 0, 8).send().solicited(true));
            assertSame(pair.b.queue, pair.b.channel.await(LONG));
            pair.b.await().is(CompletionOpcode.RECV, 2);
        }
    }

    @Test
    void shouldTellWhichQueueOfSeveral() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            // A closed queue gives its number back, and the next takes it.
            pair.a.context.createCompletionQueue(1, pair.a.channel, 0).close();
            CompletionQueue other = pair.a.context.createCompletionQueue(16, pair.a.channel, 0);
            QueuePair flushing = pair.a.domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, other));
            flushing.localEndpoint(LabDevices.connectOptions());
            flushing.activate();
            flushing.postReceive(pair.a.receiveRequest(77, 0, 8));
            other.requestNotification(false);
            pair.a.queue.requestNotification(false);
            flushing.modify(new QueuePairAttributes().state(QueuePairState.ERR));
            assertSame(other, pair.a.channel.await(LONG));
            pair.a.post(pair.writeToB(1, 0, 8));
            assertSame(pair.a.queue, pair.a.channel.await(LONG));
        }
    }

    @Test
    void shouldNotWaitLongerThanAsked() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            assertNull(pair.a.channel.await(Duration.ZERO));
            long start = System.nanoTime();
            assertNull(pair.a.channel.await(Duration.ofMillis(200)));
            Duration waited = Duration.ofNanos(System.nanoTime() - start);
            assertTrue(waited.toMillis() >= 200 && waited.toSeconds() < 10, waited::toString);
            assertThrows(IllegalArgumentException.class, () -> pair.a.channel.await(Duration.ofMillis(-1)));
        }
    }

    @Test
    void shouldHaveAFileDescriptor() {
        LabDevices.assumeHasDescriptors();
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            assertTrue(pair.a.channel.fileDescriptor() > 2);
            assertNotEquals(pair.a.channel.fileDescriptor(), pair.b.channel.fileDescriptor());
        }
    }

    @Test
    void shouldSayThatThereIsNoFileDescriptor() {
        assumeFalse(LabDevices.areNative(), "devices of the kernel have descriptors");
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            Map<String, Executable> descriptors = Map.of(
                    "a file descriptor of a completion channel", pair.a.channel::fileDescriptor,
                    "a file descriptor for asynchronous events", pair.a.context::asyncFileDescriptor,
                    "a file descriptor of a command channel", pair.a.context::commandFileDescriptor);
            descriptors.forEach((what, call) -> {
                String message = assertThrows(UnsupportedOperationException.class, call, what)
                        .getMessage();
                assertTrue(
                        message.startsWith(pair.a.context.deviceName() + " exists in this process only and has no "
                                + what.substring(2)),
                        message);
            });
        }
    }

    /** Runs a wait in a thread of its own, lets it begin, ends it, and returns what it threw. */
    private static Throwable thrownBy(Callable<?> wait, Ending ending) throws Exception {
        FutureTask<Object> task = new FutureTask<>(wait::call);
        Thread thread = new Thread(task);
        thread.start();
        Thread.sleep(300);
        assertTrue(thread.isAlive(), "the wait is over already");
        ending.end(thread);
        return assertThrows(ExecutionException.class, () -> task.get(10, TimeUnit.SECONDS))
                .getCause();
    }

    @FunctionalInterface
    private interface Ending {
        void end(Thread waiting);
    }

    @Test
    void shouldBeInterruptible() throws Exception {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).in(VerbsArena.ofShared()).open()) {
            Duration forever = Duration.ofSeconds(Long.MAX_VALUE);
            assertInstanceOf(
                    InterruptedException.class, thrownBy(() -> pair.a.channel.await(forever), Thread::interrupt));
            assertInstanceOf(
                    InterruptedException.class,
                    thrownBy(() -> pair.a.context.awaitAsyncEvent(forever), Thread::interrupt));
        }
    }

    @Test
    void shouldBeInterruptedWhenItWasBefore() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, () -> pair.a.channel.await(Duration.ZERO));
        }
    }

    @Test
    void shouldStopWaitingWhenTheChannelCloses() throws Exception {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).in(VerbsArena.ofShared()).open()) {
            Throwable thrown =
                    thrownBy(() -> pair.a.channel.await(Duration.ofMinutes(1)), waiting -> pair.a.channel.close());
            assertInstanceOf(IllegalStateException.class, thrown);
        }
    }

    @Test
    void shouldStopWaitingWhenTheArenaCloses() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).in(arena).open();
        Throwable thrown = thrownBy(() -> pair.a.channel.await(Duration.ofMinutes(1)), waiting -> arena.close());
        assertEquals(IllegalStateException.class, thrown.getClass());
    }

    @Test
    void shouldStopWaitingForAsyncEventsWhenTheArenaCloses() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        Context context = Context.open(arena, LabDevices.first());
        Throwable thrown = thrownBy(() -> context.awaitAsyncEvent(Duration.ofMinutes(1)), waiting -> arena.close());
        assertEquals(IllegalStateException.class, thrown.getClass());
    }
}
