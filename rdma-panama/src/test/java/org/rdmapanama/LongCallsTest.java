package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

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
    private final ExtendedQueuePair queuePair = domain.createExtendedQueuePair(
            new QueuePairOptions(QueuePairType.RC, queue, queue).sendOperations(SendOperation.SEND));
    private final CountDownLatch begun = new CountDownLatch(1);
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void end() {
        threads.shutdownNow();
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
    void shouldWaitForACallOnAnExtendedQueuePairAsForAnyOther() throws Exception {
        Future<?> modified = modifyFor(3_000);

        assertDoesNotThrow(queuePair::close);

        modified.get();
        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldPollAQueueThatStaysWhileAQueuePairCloses() throws Exception {
        Future<?> modified = modifyFor(1_800);
        Future<?> closed = threads.submit(queuePair::close);
        Thread.sleep(100);
        long start = System.nanoTime();

        assertDoesNotThrow(() -> queue.poll(new WorkCompletions(arena, 4)));

        assertTrue(System.nanoTime() - start < 500_000_000, "polling waited");
        modified.get();
        closed.get();
        arena.close();
        driver.checkAllEnded();
    }

    @Test
    void shouldCloseAgainWhatWasInUse() throws Exception {
        CompletionChannel channel = context.createCompletionChannel();
        CountDownLatch goOn = new CountDownLatch(1);
        driver.waiting = () -> {
            begun.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        };
        Future<?> awaited = threads.submit(() -> channel.await(Duration.ZERO));
        assertTrue(begun.await(10, TimeUnit.SECONDS), "nothing waits");

        assertThrows(VerbsException.class, arena::close);
        goOn.countDown();
        awaited.get();
        arena.close();

        assertFalse(context.isOpen());
        driver.checkAllEnded();
    }
}
