package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.internal.WaitLimits;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.WorkQueueState;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** Extended completion queues that several threads use, while what reports to them changes or closes. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class ContendedQueuesLabTest {
    private static void sleep(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static ExtendedCompletionQueue queueOf(Context context) {
        return context.createCompletionQueue(new CompletionQueueOptions(64).fields(CompletionField.QP_NUM));
    }

    private static QueuePairOptions options(CompletionQueue sends, CompletionQueue receives) {
        return new QueuePairOptions(QueuePairType.RC, sends, receives);
    }

    /** A queue that stays open is not closed for those who read it, while one of many queue pairs goes. */
    @Test
    void shouldGoOnBeingPolledWhileQueuePairsClose() throws Exception {
        RecordingProvider slow = RecordingProvider.of(LabDevices.first());
        slow.at("destroy_qp", () -> sleep(20));
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Context context = Context.open(arena, LabDevices.first(), () -> slow);
            ProtectionDomain domain = context.allocateProtectionDomain();
            ExtendedCompletionQueue queue = queueOf(context);
            QueuePair other = domain.createQueuePair(options(queue, queue));
            WorkCompletions completions = new WorkCompletions(arena, 4);
            List<Runnable> uses = List.of(
                    () -> queue.poll(completions),
                    () -> other.modify(new QueuePairAttributes().state(QueuePairState.RESET)));
            List<Future<?>> running = new ArrayList<>();
            boolean[] over = new boolean[1];
            for (Runnable use : uses) {
                running.add(threads.submit(() -> {
                    while (!isOver(over)) {
                        use.run();
                    }
                }));
            }
            for (int i = 0; i < 10; i++) {
                domain.createQueuePair(options(queue, queue)).close();
            }
            synchronized (over) {
                over[0] = true;
            }
            for (Future<?> each : running) {
                each.get(10, TimeUnit.SECONDS);
            }
            assertFalse(queue.startPoll());
        }
    }

    private static boolean isOver(boolean[] over) {
        synchronized (over) {
            return over[0];
        }
    }

    /** Who polls is told that the queue is closed, once it is. */
    @Test
    void shouldEndPollingThreadsWhenTheQueueCloses() throws Exception {
        RecordingProvider slow = RecordingProvider.of(LabDevices.first());
        slow.at("destroy_qp", () -> sleep(200));
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(1)) {
            Context context = Context.open(arena, LabDevices.first(), () -> slow);
            ProtectionDomain domain = context.allocateProtectionDomain();
            ExtendedCompletionQueue queue = queueOf(context);
            domain.createQueuePair(options(queue, queue));
            WorkCompletions completions = new WorkCompletions(arena, 4);
            Future<?> poller = threads.submit(() -> {
                while (true) {
                    queue.poll(completions);
                }
            });
            sleep(100);
            queue.close();
            Throwable thrown = assertThrows(ExecutionException.class, () -> poller.get(10, TimeUnit.SECONDS))
                    .getCause();
            assertEquals(IllegalStateException.class, thrown.getClass());
            assertTrue(thrown.getMessage().contains("closed"), thrown::getMessage);
        }
    }

    /** The change waits for the queue, which is shut, while the closing waits for the change. */
    @Test
    void shouldEndAChangeWhenTheQueuePairCloses() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(1)) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            for (int i = 0; i < 20; i++) {
                ExtendedCompletionQueue queue = queueOf(context);
                QueuePair queuePair = domain.createQueuePair(options(queue, queue));
                Future<?> changing = threads.submit(() -> {
                    while (true) {
                        queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
                    }
                });
                sleep(10);
                AutoCloseable closing = i % 2 == 0 ? queuePair : queue;
                closing.close();
                Throwable thrown = assertThrows(ExecutionException.class, () -> changing.get(10, TimeUnit.SECONDS))
                        .getCause();
                assertEquals(IllegalStateException.class, thrown.getClass(), thrown::toString);
            }
        }
    }

    /** Each takes both queues: they must not wait for each other. */
    @Test
    void shouldChangeQueuePairsThatReportCrosswise() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            ExtendedCompletionQueue one = queueOf(context);
            ExtendedCompletionQueue two = queueOf(context);
            List<Future<?>> changes = new ArrayList<>();
            for (QueuePairOptions crossed : List.of(options(one, two), options(two, one))) {
                QueuePair queuePair = domain.createQueuePair(crossed);
                changes.add(threads.submit(() -> {
                    for (int i = 0; i < 1_000; i++) {
                        queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
                    }
                    return null;
                }));
            }
            for (Future<?> change : changes) {
                change.get(60, TimeUnit.SECONDS);
            }
        }
    }

    /** Takes the place of a driver with work queues and tag matching. */
    private static final class Clearing extends RecordingProvider {
        private Runnable clears = () -> {};

        Clearing(Device device) {
            super(RecordingProvider.of(device));
        }

        @Override
        public long createQueuePair(long protectionDomain, long initialAttributes) {
            clears.run();
            return super.createQueuePair(protectionDomain, initialAttributes);
        }

        @Override
        public int modifyWorkQueue(long workQueue, long attributes) {
            clears.run();
            return 0;
        }

        @Override
        public int destroyWorkQueue(long workQueue) {
            clears.run();
            return 0;
        }

        @Override
        public int destroySharedReceiveQueue(long sharedReceiveQueue) {
            clears.run();
            return 0;
        }

        @Override
        public int querySharedReceiveQueue(long sharedReceiveQueue, long attributes) {
            return 0;
        }
    }

    /** Drivers lock the completion queue to clear it, or to enter a queue pair: a batch has locked it already. */
    @Test
    void shouldLetGoOfTheQueueWhenADriverLocksIt() throws Exception {
        Clearing clearing = new Clearing(LabDevices.first());
        VerbsArena arena = VerbsArena.ofShared();
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                        .extended(CompletionField.QP_NUM)
                        .in(arena)
                        .through(own -> Context.open(own, LabDevices.first(), () -> clearing))
                        .open();
                ExecutorService other = Executors.newSingleThreadExecutor()) {
            ExtendedCompletionQueue queue = pair.a.extended();
            WorkQueue workQueue = WorkQueue.ofNativeAddress(
                    pair.a.domain,
                    new WorkQueueOptions(queue),
                    arena.allocate(1024, 8).address(),
                    Ownership.OWNED);
            SharedReceiveQueue receives = SharedReceiveQueue.ofNativeAddress(
                    pair.a.domain,
                    new SharedReceiveQueueOptions().tagMatching(1, 1, queue),
                    arena.allocate(1024, 8).address(),
                    Ownership.OWNED);
            List<Runnable> changes = List.of(
                    () -> pair.a.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)),
                    () -> workQueue.modify(new WorkQueueAttributes().state(WorkQueueState.RDY)),
                    workQueue::close,
                    receives::close);
            // Refused while another thread is in a batch, which nothing but that thread can end.
            pair.a.post(pair.writeToB(1, 0, 8));
            other.submit(pair.a::awaitBatch).get(10, TimeUnit.SECONDS);
            arena.waitLimits(WaitLimits.USUAL.withBatch(Duration.ofMillis(200)));
            for (Runnable change : changes) {
                assertThrows(IllegalStateException.class, change::run);
            }
            arena.waitLimits(WaitLimits.USUAL);
            assertTrue(workQueue.isOpen() && receives.isOpen());
            other.submit(queue::endPoll).get(10, TimeUnit.SECONDS);
            // In a batch of the same thread they let go of the completion that it stands at.
            List<String> seen = new ArrayList<>();
            clearing.clears = () -> {
                assertThrows(IllegalStateException.class, queue.cursor::id, "the driver has the queue locked");
                seen.add("cleared");
            };
            for (int i = 0; i < changes.size(); i++) {
                pair.a.post(pair.writeToB(2 + i, 0, 8));
                pair.a.awaitBatch();
                assertEquals(2 + i, queue.cursor.id());
                changes.get(i).run();
                assertEquals(i + 1, seen.size());
                assertFalse(queue.nextPoll());
                queue.endPoll();
            }
            assertFalse(workQueue.isOpen() || receives.isOpen());
        }
    }
}
