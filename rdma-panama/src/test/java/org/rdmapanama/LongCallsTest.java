package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.internal.WaitLimits;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Bound;

/** Closing while a call of another thread takes its time, as when a driver looks for the address of a peer. */
@Timeout(60)
class LongCallsTest {
    private static final QueuePairAttributes RTR = new QueuePairAttributes()
            .state(QueuePairState.RTR)
            .pathMtu(Mtu.BYTES_1024)
            .destinationQueuePair(1)
            .receivePsn(1)
            .maxReadAtomicAsTarget(1)
            .minRnrTimer(1)
            .addressVector(AddressVector.toLid(1, 1));

    private final FakeDriver driver = FakeDriver.create();
    private final VerbsArena arena = VerbsArena.ofShared();
    private final Context context = driver.open(arena);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final ExtendedCompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(4));
    private final ExtendedQueuePair queuePair = queuePair();
    private final CountDownLatch begun = new CountDownLatch(1);
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void end() {
        threads.shutdownNow();
    }

    private ExtendedQueuePair queuePair() {
        return domain.createExtendedQueuePair(
                new QueuePairOptions(QueuePairType.RC, queue, queue).sendOperations(SendOperation.SEND));
    }

    private void sleep(int millis) {
        begun.countDown();
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private Future<?> modifyFor(int millis) throws InterruptedException {
        FakeDriver.state(queuePair, QueuePairState.INIT);
        driver.modifying = () -> sleep(millis);
        Future<?> modified = threads.submit(() -> queuePair.modify(RTR));
        assertTrue(begun.await(10, TimeUnit.SECONDS), "nothing modified it");
        driver.modifying = () -> {};
        return modified;
    }

    @Test
    void shouldWaitForACallOnAnExtendedQueuePairAndThenForABatchOfItsQueue() throws Exception {
        Future<?> modified = modifyFor(2_200);
        Future<?> closed = threads.submit(queuePair::close);
        Thread.sleep(2_100);
        assertTrue(queue.startPoll(), "no completion");

        modified.get();
        Thread.sleep(100);
        queue.endPoll();

        closed.get();
        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldRefuseAnAllocatorTheQueueThatTheQueuePairIsMadeFor() {
        driver.making = () -> {
            assertThrows(IllegalStateException.class, () -> queue.poll(new WorkCompletions(arena, 4)));
            assertThrows(IllegalStateException.class, queue::startPoll);
            assertThrows(IllegalStateException.class, this::queuePair);
        };

        assertTimeoutPreemptively(Duration.ofSeconds(10), this::queuePair);

        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldRefuseAnAllocatorTheBatchThatTheQueuePairIsMadeIn() {
        driver.making = () -> {
            assertThrows(IllegalStateException.class, queue::nextPoll);
            assertThrows(IllegalStateException.class, queue::endPoll);
            assertThrows(IllegalStateException.class, queue::close);
        };
        assertTrue(queue.startPoll(), "no completion");

        queuePair();

        driver.making = () -> {};
        assertTrue(queue.nextPoll(), "the batch did not go on");
        queue.endPoll();
        assertEquals(0, queue.poll(new WorkCompletions(arena, 4)));
        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldBoundTheWaitForAPausedBatchWhileACallClearsItsQueue() throws Exception {
        QueuePairAttributes failing = new QueuePairAttributes().state(QueuePairState.ERR);
        FakeDriver.state(queuePair, QueuePairState.RTS);
        CountDownLatch paused = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Future<?> read = threads.submit(() -> {
            queue.startPoll();
            queuePair.modify(failing);
            paused.countDown();
            await(goOn);
            queue.endPoll();
        });
        assertTrue(paused.await(10, TimeUnit.SECONDS), "no batch");
        driver.modifying = () -> {
            begun.countDown();
            await(goOn);
        };
        Future<?> modified = threads.submit(() -> queuePair.modify(failing));
        assertTrue(begun.await(10, TimeUnit.SECONDS), "nothing modifies it");

        Duration minute = Duration.ofMinutes(1);
        arena.waitLimits(new WaitLimits(Duration.ofMillis(300), minute, minute, minute));
        Future<?> closed = threads.submit(queue::close);

        ExecutionException refused = assertThrows(ExecutionException.class, () -> closed.get(20, TimeUnit.SECONDS));
        assertInstanceOf(IllegalStateException.class, refused.getCause());
        assertTrue(queue.isOpen(), "a part of it was closed");
        goOn.countDown();
        read.get();
        modified.get();
        driver.modifying = () -> {};
        FakeDriver.state(queuePair, QueuePairState.RESET);
        arena.close();
        driver.checkAllEnded();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** A closing that holds it may wait for the call that finds the batch. */
    @Test
    void shouldEndABatchThatAThreadLeftOpenWithoutTheLockOfTheArena() throws Exception {
        WorkCompletions completions = new WorkCompletions(arena, 4);
        Thread leaving = Thread.ofPlatform().start(queue::startPoll);
        leaving.join();

        arena.lock().lock();
        try {
            assertEquals(0, threads.submit(() -> queue.poll(completions)).get(10, TimeUnit.SECONDS));
        } finally {
            arena.lock().unlock();
        }

        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldLookUpTheQueueOfAnEventBeforeTheEventIsAcknowledged() throws Exception {
        CompletionChannel channel = context.createCompletionChannel();
        CompletionQueue told = context.createCompletionQueue(4, channel, 0);
        driver.events = 1;
        driver.telling = told.address;
        // From then on it may go, and another one come at its address.
        driver.acknowledging = told::close;

        assertSame(told, channel.await(Duration.ZERO));

        assertFalse(told.isOpen());
        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldPollAQueueThatStaysWhileAQueuePairCloses() throws Exception {
        Future<?> modified = modifyFor(1_800);
        Future<?> closed = threads.submit(queuePair::close);
        Thread.sleep(100);
        Bound bound = Bound.of(Duration.ofMillis(500));

        assertDoesNotThrow(() -> queue.poll(new WorkCompletions(arena, 4)));

        bound.check("polling waited");
        modified.get();
        closed.get();
        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldCloseAgainWhatWasInUse() throws Exception {
        CompletionChannel channel = context.createCompletionChannel();
        CountDownLatch goOn = new CountDownLatch(1);
        driver.looking = () -> {
            begun.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        };
        Future<?> awaited = threads.submit(() -> channel.await(Duration.ZERO));
        assertTrue(begun.await(10, TimeUnit.SECONDS), "nothing waits");

        arena.waitLimits(WaitLimits.USUAL.withCall(Duration.ofMillis(300)));
        assertThrows(VerbsException.class, arena::close);
        goOn.countDown();
        awaited.get();
        arena.close();

        assertFalse(context.isOpen());
        driver.checkAllEnded();
    }
}
