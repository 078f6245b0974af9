package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/** Objects of a shared arena that belong to one thread. */
@Timeout(60)
class BindingTest {
    private final FakeDriver driver = FakeDriver.create();
    private final VerbsArena arena = VerbsArena.ofShared();
    private final Context context = driver.open(arena);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final ExtendedCompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(4));
    private final ExtendedQueuePair queuePair = domain.createExtendedQueuePair(
            new QueuePairOptions(QueuePairType.RC, queue, queue).sendOperations(SendOperation.SEND));
    private final SendWorkRequest send = SendWorkRequest.allocate(arena, 1).send();
    private final WorkCompletions completions = new WorkCompletions(arena, 4);

    private void post() {
        FakeDriver.state(queuePair, QueuePairState.RTS);
        queuePair.postSend(send);
    }

    /** In another thread, which has terminated when this returns. */
    private static Throwable thrownElsewhere(Executable call) throws InterruptedException {
        return thrownIn(Thread.ofPlatform().name("other"), call);
    }

    private static Throwable thrownIn(Thread.Builder kind, Executable call) throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread thread = kind.start(() -> {
            try {
                call.execute();
            } catch (Throwable e) {
                thrown.set(e);
            }
        });
        assertTrue(thread.join(Duration.ofSeconds(10)), "the call did not return");
        return thrown.get();
    }

    private static void assertRefused(Throwable thrown, Object what, String cure) {
        assertEquals(WrongThreadException.class, thrown == null ? null : thrown.getClass(), "" + thrown);
        String message = thrown.getMessage();
        assertTrue(message.startsWith(what + " is bound to "), message);
        assertTrue(message.contains(cure), message);
    }

    @Test
    void shouldRefuseThePostsOfOthers() throws Exception {
        queuePair.bindToThread();

        post();

        Throwable thrown = thrownElsewhere(this::post);
        assertRefused(thrown, queuePair, "let that thread call unbindFromThread and this one bindToThread");
        assertTrue(thrown.getMessage().contains("called by Thread["), thrown.getMessage());
        assertTrue(thrown.getMessage().contains(Thread.currentThread().toString()), thrown.getMessage());
        assertRefused(thrownElsewhere(queuePair::startWorkRequests), queuePair, "unbindFromThread");
    }

    @Test
    void shouldRefuseThePollsOfOthers() throws Exception {
        queue.bindToThread();

        queue.poll(completions);

        assertRefused(thrownElsewhere(() -> queue.poll(completions)), queue, "unbindFromThread");
        assertRefused(thrownElsewhere(() -> queue.poll().next()), queue, "unbindFromThread");
        assertRefused(thrownElsewhere(() -> queue.requestNotification(false)), queue, "unbindFromThread");
        assertRefused(thrownElsewhere(queue::bindToThread), queue, "unbindFromThread");
        assertRefused(thrownElsewhere(queue::unbindFromThread), queue, "unbindFromThread");
    }

    @Test
    void shouldLetOthersChangeTheState() throws Exception {
        queuePair.bindToThread();

        assertNull(thrownElsewhere(queuePair::state));
    }

    @Test
    void shouldBeHandedOver() throws Exception {
        queuePair.bindToThread();
        post();
        queuePair.unbindFromThread();

        CountDownLatch end = new CountDownLatch(1);
        CountDownLatch bound = new CountDownLatch(1);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread other = Thread.ofPlatform().start(() -> {
            try {
                queuePair.bindToThread();
                post();
                bound.countDown();
                end.await();
                queuePair.unbindFromThread();
            } catch (Throwable e) {
                thrown.set(e);
                bound.countDown();
            }
        });
        assertTrue(bound.await(10, TimeUnit.SECONDS), "it was not bound");
        assertNull(thrown.get());
        assertRefused(assertThrows(WrongThreadException.class, this::post), queuePair, "unbindFromThread");
        end.countDown();
        assertTrue(other.join(Duration.ofSeconds(10)));
        assertNull(thrown.get());

        post();
    }

    @Test
    void shouldBeTakenOverFromAThreadThatHasTerminated() throws Exception {
        assertNull(thrownElsewhere(() -> {
            queuePair.bindToThread();
            post();
        }));

        assertRefused(
                assertThrows(WrongThreadException.class, this::post),
                queuePair,
                "that thread has terminated: call bindToThread to take over");
        queuePair.bindToThread();
        post();
    }

    @Test
    void shouldBeUnboundFromAThreadThatHasTerminated() throws Exception {
        assertNull(thrownElsewhere(queuePair::bindToThread));

        queuePair.unbindFromThread();

        post();
        assertNull(thrownElsewhere(this::post));
    }

    @Test
    void shouldEndTheBatchOfAThreadThatHasTerminated() throws Exception {
        assertNull(thrownElsewhere(() -> {
            queue.bindToThread();
            assertTrue(queue.poll().next());
        }));

        queue.bindToThread();

        queue.poll(completions);
        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldNotBeUnboundDuringABatch() {
        queue.bindToThread();
        try (PollCursor cursor = queue.poll()) {
            assertTrue(cursor.next());
            String message = assertThrows(IllegalStateException.class, queue::unbindFromThread)
                    .getMessage();
            assertTrue(message.contains("has a batch open on " + queue + "; call PollCursor.close() first"), message);
        }
        queue.unbindFromThread();
    }

    @Test
    void shouldBeBoundDuringABatch() {
        try (PollCursor cursor = queue.poll()) {
            assertTrue(cursor.next());
            queue.bindToThread();
        }
        queue.unbindFromThread();
        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldBeClosedByAnotherThread() throws Exception {
        queuePair.bindToThread();
        queue.bindToThread();
        post();

        assertNull(thrownElsewhere(queuePair::close));

        assertEquals(
                queuePair + " is closed",
                assertThrows(IllegalStateException.class, this::post).getMessage());
        assertThrows(IllegalStateException.class, queuePair::bindToThread);
        assertThrows(IllegalStateException.class, queuePair::unbindFromThread);
        queue.poll(completions);
        assertNull(thrownElsewhere(arena::close));
        assertThrows(IllegalStateException.class, () -> queue.poll(completions));
        driver.checkAllEnded();
    }

    @Test
    void shouldBeClosedInItsOwnBatch() {
        queue.bindToThread();
        assertTrue(queue.poll().next());

        arena.close();

        driver.checkAllEnded();
    }

    @Test
    void shouldBeClosedAfterItsThreadHasTerminatedInABatch() throws Exception {
        assertNull(thrownElsewhere(() -> {
            queue.bindToThread();
            assertTrue(queue.poll().next());
        }));

        arena.close();

        driver.checkAllEnded();
    }

    @Test
    void shouldBeBoundTwice() throws Exception {
        queuePair.bindToThread();
        queuePair.bindToThread();
        post();
        queuePair.unbindFromThread();
        queuePair.unbindFromThread();

        assertNull(thrownElsewhere(this::post));
    }

    @Test
    void shouldBeBoundToAVirtualThread() throws Exception {
        assertNull(thrownIn(Thread.ofVirtual(), () -> {
            queuePair.bindToThread();
            post();
            Thread.sleep(1);
            post();
            assertRefused(thrownElsewhere(this::post), queuePair, "unbindFromThread");
            queuePair.unbindFromThread();
        }));
        post();
    }

    @Test
    void shouldDoNothingInAConfinedArena() throws Exception {
        arena.close();
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            CompletionQueue own = FakeDriver.create().open(confined).createCompletionQueue(4);
            own.bindToThread();
            own.unbindFromThread();
            assertDoesNotThrow(() -> own.poll(new WorkCompletions(confined, 1)));
            assertEquals(
                    WrongThreadException.class,
                    thrownElsewhere(own::bindToThread).getClass());
        }
    }
}
