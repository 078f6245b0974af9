package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LabDevices;

/** Threads with objects of their own in a shared arena, which other threads close while they are in use. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BoundThreadsLabTest {
    private static final int ROUNDS = 40;
    private static final int IN_FLIGHT = 8;

    /** A queue pair that is connected to itself, in an arena of its own, with a queue that it alone reports to. */
    private static final class Loop implements AutoCloseable {
        final VerbsArena arena = VerbsArena.ofShared();
        final CompletionQueue queue;
        final QueuePair queuePair;
        final SendWorkRequest write;
        final WorkCompletions completions = new WorkCompletions(arena, 16);

        Loop(boolean extended) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            MemoryRegion region =
                    domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
            CompletionChannel channel = context.createCompletionChannel();
            queue = extended
                    ? context.createCompletionQueue(new CompletionQueueOptions(64).channel(channel))
                    : context.createCompletionQueue(64, channel, 0);
            QueuePairOptions options =
                    new QueuePairOptions(QueuePairType.RC, queue, queue).maxSendWorkRequests(IN_FLIGHT);
            queuePair = extended
                    ? domain.createExtendedQueuePair(options.sendOperations(SendOperation.RDMA_WRITE))
                    : domain.createQueuePair(options);
            queuePair.connect(queuePair.localEndpoint(LabDevices.connectOptions()));
            write = SendWorkRequest.allocate(arena, 1)
                    .rdmaWrite(region.address() + 2048, region.rkey())
                    .add(region, 0, 8)
                    .signaled(true);
        }

        void bind() {
            queue.bindToThread();
            queuePair.bindToThread();
        }

        void unbind() {
            queuePair.unbindFromThread();
            queue.unbindFromThread();
        }

        /** One write, and its completion. */
        void transfer() {
            queuePair.postSend(write);
            Bound.usual().spin("the write did not complete", () -> queue.poll(completions) > 0);
            assertEquals(CompletionStatus.SUCCESS, completions.status(0), () -> completions.describe(0));
        }

        /** Transfers until it is refused. */
        void transferForEver(AtomicLong count) {
            bind();
            int inFlight = 0;
            while (true) {
                if (inFlight < IN_FLIGHT) {
                    queuePair.postSend(write);
                    inFlight++;
                }
                inFlight -=
                        queue instanceof ExtendedCompletionQueue extended ? read(extended) : queue.poll(completions);
                count.incrementAndGet();
            }
        }

        private static int read(ExtendedCompletionQueue queue) {
            int count = 0;
            try (PollCursor cursor = queue.poll()) {
                while (cursor.next()) {
                    count++;
                }
            }
            return count;
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    private static Throwable failure(CompletableFuture<?> thread) {
        return assertThrows(ExecutionException.class, () -> Async.get(thread)).getCause();
    }

    private static void assertRefused(QueueObject object, CompletableFuture<?> call) {
        Throwable refused = assertInstanceOf(WrongThreadException.class, failure(call));
        assertTrue(refused.getMessage().startsWith(object + " is bound to "), refused.getMessage());
        assertTrue(refused.getMessage().contains(Thread.currentThread().toString()), refused.getMessage());
    }

    private static CompletableFuture<Void> elsewhere(Runnable call) {
        return Async.start(() -> {
            call.run();
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTransferOnlyInItsThread(boolean extended) throws Exception {
        try (Loop loop = new Loop(extended)) {
            loop.bind();

            loop.transfer();

            assertRefused(loop.queuePair, elsewhere(() -> loop.queuePair.postSend(loop.write)));
            assertRefused(loop.queue, elsewhere(() -> loop.queue.poll(loop.completions)));
            assertRefused(loop.queue, elsewhere(() -> loop.queue.requestNotification(false)));
            assertRefused(
                    loop.queue,
                    Async.start(() -> loop.queue.await(loop.completions, Duration.ofSeconds(1), Duration.ZERO)));
            assertRefused(loop.queue, elsewhere(loop.queue::unbindFromThread));
            loop.transfer();
        }
    }

    @Test
    void shouldWaitInItsThread() throws Exception {
        try (Loop loop = new Loop(false)) {
            loop.bind();
            for (int i = 0; i < 10; i++) {
                loop.queuePair.postSend(loop.write);
                assertEquals(1, loop.queue.await(loop.completions, Bound.USUAL, Duration.ZERO));
            }
        }
    }

    /** As the thread of a connection does. */
    @Test
    void shouldLetOthersMoveItToTheErrorState() throws Exception {
        try (Loop loop = new Loop(true)) {
            loop.bind();
            loop.transfer();
            assertNull(Async.get(
                    elsewhere(() -> loop.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR)))));
            assertEquals(QueuePairState.ERR, loop.queuePair.state());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBeHandedFromThreadToThread(boolean extended) throws Exception {
        try (Loop loop = new Loop(extended)) {
            for (int i = 0; i < ROUNDS; i++) {
                Thread.Builder kind = i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual();
                CompletableFuture<Void> done = new CompletableFuture<>();
                kind.start(() -> {
                    try {
                        loop.bind();
                        loop.transfer();
                        loop.unbind();
                        done.complete(null);
                    } catch (Throwable e) {
                        done.completeExceptionally(e);
                    }
                });
                assertNull(Async.get(done));
            }
        }
    }

    /** Of an arena, a queue or a queue pair, in turn, at whichever moment it is. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBeClosedFromElsewhereUnderLoad(boolean extended) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            try (Loop loop = new Loop(extended)) {
                AtomicLong count = new AtomicLong();
                CompletableFuture<Void> thread = elsewhere(() -> loop.transferForEver(count));
                Bound.usual().spin("nothing was transferred", () -> count.get() > 100 || thread.isDone());
                AutoCloseable closed = switch (round % 3) {
                    case 0 -> loop.arena;
                    case 1 -> loop.queue;
                    default -> loop.queuePair;
                };

                closed.close();

                Throwable refused = assertInstanceOf(IllegalStateException.class, failure(thread));
                assertTrue(refused.getMessage().contains("is clos"), refused::toString);
            }
        }
    }
}
