package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.Sleeper;
import org.rdmapanama.interleaving.Explorer;
import org.rdmapanama.interleaving.Steps;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/** Threads that meet in extended queues, in closing, and in making things; explored by {@link InterleavingsTest}. */
@SuppressWarnings("CheckReturnValue") // objects that are only there
enum Interleaved implements Supplier<Explorer.Scenario> {
    POSTING_WHILE_A_QUEUE_PAIR_FAILS_AND_A_BATCH_IS_OPEN(
            world -> world.connected(world::readABatch, world::fail, world::post)),
    POSTING_IN_A_BATCH_WHILE_THE_QUEUE_PAIR_FAILS(
            world -> world.connected(() -> world.inABatch(world.queue, world::post), world::fail)),
    MAKING_A_QUEUE_PAIR_WHILE_A_BATCH_REGISTERS_MEMORY(
            world -> List.of(() -> world.inABatch(world.queue, world::register), world::makeQueuePair)),
    CLOSING_A_QUEUE_PAIR_WHILE_A_BATCH_REGISTERS_MEMORY(
            world -> List.of(() -> world.inABatch(world.queue, world::register), world::closeQueuePair)),
    CLOSING_ALL_WHILE_A_BATCH_REGISTERS_MEMORY(
            world -> List.of(() -> world.inABatch(world.queue, world::register), world.arena::close)),
    CLOSING_A_QUEUE_THAT_IS_READ_AND_POLLED(world -> List.of(world::readABatch, world::poll, world::closeQueue)),
    CLOSING_A_QUEUE_PAIR_WHOSE_QUEUE_IS_READ_AND_POLLED(
            world -> List.of(world::readABatch, world::poll, world::closeQueuePair)),
    CLOSING_A_QUEUE_PAIR_TWICE_WHILE_IT_POSTS(
            world -> world.connected(world::post, world::closeQueuePair, world::closeQueuePair)),
    CLOSING_A_QUEUE_PAIR_AND_ALL_WHILE_A_BATCH_IS_OPEN(
            world -> List.of(world::readABatch, world::closeQueuePair, world.arena::close)),
    CLOSING_ALL_TWICE_WHILE_A_QUEUE_PAIR_IS_MADE(
            world -> List.of(world::makeQueuePair, world.arena::close, world.arena::close)),
    FAILING_EACH_OTHERS_QUEUE_PAIRS_IN_BATCHES(world -> world.connected(
            () -> world.inABatch(world.queue, () -> world.fail(world.crossed)),
            () -> world.inABatch(world.otherQueue, () -> world.fail(world.crossedBack)))),
    CLOSING_EACH_OTHERS_QUEUE_PAIRS_IN_BATCHES(world -> List.of(
            () -> world.inABatch(world.queue, world.crossed::close),
            () -> world.inABatch(world.otherQueue, world.crossedBack::close))),
    FAILING_AND_CLOSING_EACH_OTHERS_QUEUE_PAIRS_IN_BATCHES(world -> world.connected(
            () -> world.inABatch(world.queue, () -> world.fail(world.crossed)),
            () -> world.inABatch(world.otherQueue, world.crossedBack::close))),
    CLOSING_A_QUEUE_PAIR_OF_A_BATCH_OF_WORK_REQUESTS(
            world -> world.connected(world::writeABatch, world::closeQueuePair, world::fail)),
    CLOSING_IN_A_BATCH_OF_WORK_REQUESTS(
            world -> world.connected(world::closeInABatchOfWorkRequests, world::post, world::fail)),
    CLOSING_A_CHANNEL_THAT_IS_AWAITED(world -> List.of(world::await, world.channel::close), 1),
    AWAITING_A_COMPLETION_WHILE_IT_COMES(world -> List.of(world.awaiting(1), world.completing(1))),
    AWAITING_TWO_COMPLETIONS_WHILE_THEY_COME(world -> List.of(world.awaiting(2), world.completing(2))),
    AWAITING_WHILE_ANOTHER_THREAD_TAKES_THE_EVENT(
            world -> List.of(world.awaiting(1), world::takeEvents, world.completing(1)), 1),
    WAKING_UP_AN_AWAIT(world -> List.of(world::awaitInVain, world.channel::wakeup)),
    CLOSING_A_QUEUE_THAT_IS_AWAITED(world -> List.of(world::awaitClosed, world.told::close), 1),
    POSTING_IN_A_BATCH_WHILE_THE_QUEUE_PAIR_CLOSES(
            world -> world.connected(() -> world.inABatch(world.queue, world::post), world::closeQueuePair)),
    POLLING_ANOTHER_QUEUE_IN_A_BATCH_WHILE_A_QUEUE_PAIR_OF_BOTH_CLOSES(world ->
            List.of(() -> world.inABatch(world.queue, () -> world.poll(world.otherQueue)), world.crossed::close)),
    FAILING_A_QUEUE_PAIR_IN_A_BATCH_WHILE_THE_QUEUE_CLOSES(
            world -> world.connected(() -> world.inABatch(world.queue, world::fail), world::closeQueue)),
    FAILING_EACH_OTHERS_QUEUE_PAIRS_OF_ONE_QUEUE_IN_BATCHES(world -> world.connected(
            () -> world.inABatch(world.queue, () -> world.fail(world.other)),
            () -> world.inABatch(world.otherQueue, world::fail))),
    CLOSING_EACH_OTHERS_QUEUE_PAIRS_OF_ONE_QUEUE_IN_BATCHES(world -> List.of(
            () -> world.inABatch(world.queue, world.other::close),
            () -> world.inABatch(world.otherQueue, world::closeQueuePair))),
    MAKING_QUEUE_PAIRS_OF_EACH_OTHERS_QUEUE_IN_BATCHES(world -> List.of(
            () -> world.inABatch(world.queue, () -> world.makeQueuePair(world.otherQueue)),
            () -> world.inABatch(world.otherQueue, world::makeQueuePair))),
    FAILING_ANOTHER_IN_A_BATCH_OF_WORK_REQUESTS_WHILE_A_BATCH_CLOSES_THE_QUEUE_PAIR(world -> world.connected(
            () -> world.inABatchOfWorkRequests(() -> world.fail(world.crossed)),
            () -> world.inABatch(world.queue, world::closeQueuePair))),
    POLLING_AGAIN_AND_AGAIN_WHILE_THE_QUEUE_CLOSES(world -> List.of(() -> world.pollTimes(3), world::closeQueue)),
    FAILING_A_QUEUE_PAIR_WHILE_BATCH_FOLLOWS_UPON_BATCH(
            world -> world.connected(world::readBatchAfterBatch, () -> world.soon(world::fail)), 1),
    MAKING_A_QUEUE_PAIR_WHILE_BATCH_FOLLOWS_UPON_BATCH(
            world -> List.of(world::readBatchAfterBatch, () -> world.soon(world::makeQueuePair)), 1),
    CLOSING_A_QUEUE_PAIR_WHILE_BATCH_FOLLOWS_UPON_BATCH(
            world -> List.of(world::readBatchAfterBatch, () -> world.soon(world::closeQueuePair)), 1),
    CLOSING_A_QUEUE_PAIR_WHILE_BATCHES_OVERLAP(
            world -> List.of(world::readABatchInEachBatch, () -> world.soon(world::closeQueuePair)), 1),
    POLLING_FOR_THE_END_OF_A_BATCH_WHILE_A_QUEUE_PAIR_OF_BOTH_QUEUES_IS_MADE(
            world -> List.of(
                    () -> world.inABatch(world.otherQueue, world::awaitPolls),
                    world::pollTwice,
                    () -> world.makeQueuePair(world.queue, world.otherQueue)),
            1),
    POLLING_FOR_THE_END_OF_A_CALL_WHILE_THE_QUEUE_PAIR_CLOSES(
            world -> List.of(() -> world.initialize(world::awaitPolls), world::pollTwice, world::closeQueuePair), 1),
    RESIZING_A_QUEUE_TWICE(world -> List.of(
            () -> {
                world.resize(8);
                world.resize(4);
            },
            () -> world.resize(16))),
    CLOSING_A_DOMAIN_AND_A_QUEUE_WHILE_A_QUEUE_PAIR_IS_MADE(
            world -> List.of(world::makeQueuePair, world.domain::close, world::closeQueue)),
    CLOSING_A_DOMAIN_AND_ALL_WHILE_A_BATCH_IS_OPEN(
            world -> List.of(world::readABatch, world.domain::close, world.arena::close)),
    CLOSING_A_DOMAIN_AND_A_QUEUE_WHILE_IT_POSTS(
            world -> world.connected(world::post, world.domain::close, world::closeQueue)),
    CLOSING_A_QUEUE_IN_ITS_BATCH_WHILE_A_QUEUE_PAIR_FAILS_AND_ONE_CLOSES(world ->
            world.connected(() -> world.inABatch(world.queue, world::closeQueue), world::fail, world.crossed::close)),
    ENDING_A_BATCH_IN_AN_ALLOCATOR_WHILE_OTHERS_USE_THE_QUEUE(world -> List.of(
            () -> world.inABatch(world.queue, () -> world.makeQueuePair(world.queue::endPoll)),
            world::readABatch,
            world::poll)),
    FAILING_A_QUEUE_PAIR_WHILE_A_BATCH_MAKES_ONE(world -> world.connected(
            () -> world.inABatch(world.queue, () -> world.makeQueuePair(world.queue::nextPoll)), world::fail)),
    POLLING_TWICE_AFTER_A_BATCH_WAS_LEFT_OPEN(
            world -> world.afterThread(world.queue::startPoll, world.polling(), world.polling())),
    POLLING_TWICE_AFTER_A_PAUSED_BATCH_WAS_LEFT_OPEN(
            world -> world.afterThread(world::startPollAndPause, world.polling(), world.polling())),
    POSTING_TWICE_AFTER_A_BATCH_WAS_LEFT_OPEN(
            world -> world.afterThread(world.queuePair::startWorkRequests, world.posting(), world.posting())),
    FAILING_AND_POLLING_AFTER_A_BATCH_WAS_LEFT_OPEN(
            world -> world.afterThread(world.queue::startPoll, world::fail, world.polling())),
    CLOSING_A_QUEUE_PAIR_AND_POLLING_AFTER_A_BATCH_WAS_LEFT_OPEN(
            world -> world.afterThread(world.queue::startPoll, world::closeQueuePair, world.polling())),
    CLOSING_ALL_AND_POLLING_AFTER_A_BATCH_WAS_LEFT_OPEN(
            world -> world.afterThread(world.queue::startPoll, world.arena::close, world::poll)),
    CLOSING_A_QUEUE_PAIR_WHILE_ITS_THREAD_POSTS(
            world -> world.connected(() -> world.bound(world.queuePair, world::post), world::closeQueuePair)),
    CLOSING_ALL_WHILE_BOUND_THREADS_POST_AND_READ(world -> world.connected(
            () -> world.bound(world.queuePair, world::post),
            () -> world.bound(world.queue, world::readABatch),
            world.arena::close)),
    FAILING_A_QUEUE_PAIR_WHILE_A_BOUND_THREAD_READS(
            world -> world.connected(() -> world.bound(world.queue, world::readABatch), world::fail)),
    TAKING_TURNS_IN_BINDING_WHILE_THE_QUEUE_CLOSES(world -> List.of(
            () -> world.bound(world.plain, () -> world.poll(world.plain)),
            () -> world.bound(world.plain, () -> world.poll(world.plain)),
            world.plain::close)),
    POLLING_WHILE_ANOTHER_THREAD_BINDS_AND_ONE_CLOSES(world -> {
        Runnable polling = world.polling();
        return List.of(() -> world.bound(world.queue, world::poll), () -> World.perhaps(polling), world::closeQueue);
    }),
    TAKING_OVER_A_QUEUE_WHOSE_BATCH_WAS_LEFT_OPEN(world -> world.afterThread(
            world::bindAndStartPoll,
            () -> world.bound(world.queue, world::readABatch),
            () -> world.bound(world.queue, world::poll))),
    TAKING_OVER_A_QUEUE_WHOSE_BATCH_WAS_LEFT_OPEN_WHILE_ALL_CLOSES(world -> world.afterThread(
            world::bindAndStartPoll, () -> world.bound(world.queue, world::readABatch), world.arena::close)),
    POSTING_WHILE_A_QUEUE_PAIR_IS_BOUND_AND_WRITES_A_BATCH(world -> world.connected(
            () -> world.bound(world.queuePair, world::writeABatch), () -> World.perhaps(world::post), world::fail)),
    CLOSING_A_QUEUE_PAIR_WHILE_ITS_THREAD_WRITES_A_BATCH(world -> world.connected(
            () -> world.bound(world.queuePair, world::writeABatch), world::closeQueuePair, world::fail)),
    FAILING_A_QUEUE_PAIR_IN_A_BATCH_OF_A_BOUND_THREAD_WHILE_ANOTHER_IS_MADE(world -> world.connected(
            () -> world.bound(world.queue, () -> world.inABatch(world.queue, world::fail)), world::makeQueuePair)),
    CLOSING_ALL_IN_A_BATCH_OF_A_BOUND_THREAD_WHILE_IT_FAILS(world -> world.connected(
            () -> world.bound(world.queue, () -> world.inABatch(world.queue, world.arena::close)), world::fail)),
    MAKING_A_QUEUE_PAIR_WHILE_BATCH_OF_A_BOUND_THREAD_FOLLOWS_UPON_BATCH(
            world -> List.of(
                    () -> world.bound(world.queue, world::readBatchAfterBatch), () -> world.soon(world::makeQueuePair)),
            1),
    FAILING_TO_MAKE_A_POOL_WHILE_ALL_CLOSES(world -> List.of(world::failToMakeAPool, world.arena::close));

    private final Function<World, List<Runnable>> threads;

    /** How many are explored at most: one where threads wait for long, which takes many steps. */
    final int deviations;

    Interleaved(Function<World, List<Runnable>> threads) {
        this(threads, 2);
    }

    Interleaved(Function<World, List<Runnable>> threads, int deviations) {
        this.threads = threads;
        this.deviations = deviations;
    }

    /** Where they meet, made anew. */
    @Override
    public Explorer.Scenario get() {
        World world = new World();
        List<Runnable> bodies = threads.apply(world);
        return new Explorer.Scenario() {
            @Override
            public List<Runnable> threads() {
                return bodies;
            }

            @Override
            public void check() {
                world.end();
            }
        };
    }

    private static final class World {
        private static final int MANY = 24;

        static {
            // Sleepers are reused: with enough from the start, the first run takes the same steps as the others.
            List<Sleeper> used = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                used.add(Sleeper.on(ReadySource.of(() -> false)));
            }
            used.forEach(Sleeper::close);
        }

        final FakeDriver driver = FakeDriver.create();
        final VerbsArena arena = VerbsArena.ofShared();
        final Context context = driver.open(arena);
        final ProtectionDomain domain = context.allocateProtectionDomain();
        final CompletionChannel channel = context.createCompletionChannel();
        final ExtendedCompletionQueue queue = queue();
        final ExtendedCompletionQueue otherQueue = queue();
        final ExtendedQueuePair queuePair = queuePair(queue, queue);
        final ExtendedQueuePair other = queuePair(otherQueue, otherQueue);
        final CompletionQueue plain = context.createCompletionQueue(4);
        final CompletionQueue told = context.createCompletionQueue(4, channel, 0);
        final ExtendedQueuePair crossed = queuePair(queue, otherQueue);
        final ExtendedQueuePair crossedBack = queuePair(otherQueue, queue);
        final WorkCompletions completions = new WorkCompletions(arena, 4);
        final SendWorkRequest request = SendWorkRequest.allocate(arena, 1).send();
        /** How many have been read. */
        private int batches;

        private boolean polledTwice;

        final MemorySegment memory = Arena.global().allocate(64);

        /** Threads that use queue pairs which are connected. */
        List<Runnable> connected(Runnable... threads) {
            state(QueuePairState.RTS);
            return List.of(threads);
        }

        /** Threads that begin when another one has come to its end. */
        List<Runnable> afterThread(Runnable leaving, Runnable... threads) {
            state(QueuePairState.RTS);
            Thread thread = Thread.ofPlatform().start(leaving);
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            return List.of(threads);
        }

        private void state(QueuePairState state) {
            for (QueuePair each : List.of(queuePair, other, crossed, crossedBack)) {
                FakeDriver.state(each, state);
            }
        }

        private ExtendedCompletionQueue queue() {
            return context.createCompletionQueue(new CompletionQueueOptions(4));
        }

        private ExtendedQueuePair queuePair(CompletionQueue sends, CompletionQueue receives) {
            return domain.createExtendedQueuePair(
                    new QueuePairOptions(QueuePairType.RC, sends, receives).sendOperations(SendOperation.SEND));
        }

        /** What may be refused because something closes, or a batch is open: never for long, and with one exception. */
        private static void perhaps(Runnable call) {
            try {
                call.run();
            } catch (WrongThreadException refused) {
                if (!refused.getMessage().contains("is bound to")) {
                    throw refused;
                }
            } catch (IllegalStateException refused) {
                String message = refused.getMessage();
                if (!message.contains("is closed") && !message.contains("batch")) {
                    throw refused;
                }
            }
        }

        void inABatch(ExtendedCompletionQueue inWhich, Runnable call) {
            perhaps(() -> {
                if (inWhich.startPoll()) {
                    try {
                        perhaps(call);
                        perhaps(inWhich::nextPoll);
                    } finally {
                        inWhich.endPoll();
                    }
                }
            });
        }

        void readABatch() {
            inABatch(queue, () -> {});
        }

        /** Each takes a millisecond, and the next begins at once. */
        void readBatchAfterBatch() {
            for (batches = 0; batches < MANY; batches++) {
                inABatch(queue, () -> Steps.sleep(1));
            }
        }

        /** As {@link #readBatchAfterBatch}, of one queue in batches of the other. */
        void readABatchInEachBatch() {
            for (batches = 0; batches < MANY; batches++) {
                inABatch(otherQueue, () -> inABatch(queue, () -> Steps.sleep(1)));
            }
        }

        /** Not only when nobody reads any longer. */
        void soon(Runnable call) {
            call.run();
            if (batches > MANY / 2) {
                throw new AssertionError("waited for " + batches + " batches");
            }
        }

        void writeABatch() {
            perhaps(() -> {
                try (WorkRequestBuilder batch = queuePair.startWorkRequests()) {
                    perhaps(batch::complete);
                }
            });
        }

        void closeInABatchOfWorkRequests() {
            perhaps(() -> {
                try (WorkRequestBuilder batch = queuePair.startWorkRequests()) {
                    queuePair.close();
                    // Its batch has been aborted.
                    perhaps(batch::complete);
                }
            });
        }

        void poll() {
            poll(queue);
        }

        void poll(CompletionQueue which) {
            perhaps(() -> which.poll(completions));
        }

        /** As {@link #poll()}, where nobody alive has a batch open: it must not be refused. */
        Runnable polling() {
            WorkCompletions own = new WorkCompletions(arena, 4);
            return () -> queue.poll(own);
        }

        /** As {@link #post}, where nobody alive has a batch open: it must not be refused. */
        Runnable posting() {
            SendWorkRequest own = SendWorkRequest.allocate(arena, 1).send();
            return () -> queuePair.tryPostSend(own);
        }

        /** Makes a call as the only thread that may, unless another one is. */
        void bound(QueueObject object, Runnable call) {
            perhaps(() -> {
                object.bindToThread();
                try {
                    call.run();
                } finally {
                    perhaps(object::unbindFromThread);
                }
            });
        }

        void bindAndStartPoll() {
            queue.bindToThread();
            queue.startPoll();
        }

        void startPollAndPause() {
            if (queue.startPoll()) {
                fail();
                state(QueuePairState.RTS);
            }
        }

        void pollTimes(int times) {
            for (int i = 0; i < times; i++) {
                poll();
            }
        }

        void pollTwice() {
            pollTimes(2);
            polledTwice = true;
        }

        /** What a batch or a call may wait for that is not of this library. */
        void awaitPolls() {
            while (!polledTwice) {
                Steps.sleep(1);
            }
        }

        /** Modifies a queue pair, which takes so long. */
        void initialize(Runnable duration) {
            driver.modifying = duration;
            perhaps(() -> queuePair.modify(new QueuePairAttributes()
                    .state(QueuePairState.INIT)
                    .port(1)
                    .pkeyIndex(0)
                    .accessFlags(Set.of())));
        }

        void resize(int entries) {
            plain.resize(entries);
        }

        void inABatchOfWorkRequests(Runnable call) {
            perhaps(() -> {
                try (WorkRequestBuilder batch = queuePair.startWorkRequests()) {
                    perhaps(call);
                    perhaps(batch::abort);
                }
            });
        }

        void post() {
            perhaps(() -> queuePair.tryPostSend(request));
        }

        void fail() {
            fail(queuePair);
        }

        void fail(QueuePair which) {
            perhaps(() -> which.modify(new QueuePairAttributes().state(QueuePairState.ERR)));
        }

        void register() {
            perhaps(() -> domain.register(memory, AccessFlag.LOCAL_WRITE));
        }

        void makeQueuePair() {
            makeQueuePair(queue);
        }

        /** With an allocator that does what it must not. */
        void makeQueuePair(Runnable misuse) {
            driver.making = () -> {
                try {
                    misuse.run();
                } catch (IllegalStateException refused) {
                    // As it should be.
                }
            };
            makeQueuePair();
        }

        void failToMakeAPool() {
            driver.registering = Errno.ENOMEM;
            try {
                RegisteredPool.create(domain, 64, AccessFlag.LOCAL_WRITE);
            } catch (VerbsException expected) {
                // Its memory is free by now.
            } catch (IllegalStateException refused) {
                if (!refused.getMessage().contains("closed")) {
                    throw refused;
                }
            }
        }

        void makeQueuePair(CompletionQueue which) {
            makeQueuePair(which, which);
        }

        void makeQueuePair(CompletionQueue sends, CompletionQueue receives) {
            perhaps(() -> queuePair(sends, receives));
        }

        void closeQueue() {
            queue.close();
        }

        void closeQueuePair() {
            queuePair.close();
        }

        /** Waits so long that only a completion can end it. */
        private int awaitTold(WorkCompletions own) {
            try {
                return told.await(own, Duration.ofSeconds(1), Duration.ZERO);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        /** Waits for so many completions, of which none may be missed. */
        Runnable awaiting(int count) {
            WorkCompletions own = new WorkCompletions(arena, 1);
            return () -> {
                for (int i = 0; i < count; i++) {
                    if (awaitTold(own) != 1) {
                        throw new AssertionError("missed a completion");
                    }
                }
            };
        }

        Runnable completing(int count) {
            return () -> {
                for (int i = 0; i < count; i++) {
                    driver.complete(told, i);
                }
            };
        }

        void awaitInVain() {
            if (awaitTold(completions) != 0) {
                throw new AssertionError("there was none");
            }
        }

        void awaitClosed() {
            perhaps(() -> {
                awaitTold(completions);
                throw new AssertionError("there was none");
            });
        }

        void takeEvents() {
            try {
                for (int i = 0; i < 3; i++) {
                    channel.await(Duration.ZERO);
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        void await() {
            driver.events = 1;
            perhaps(() -> {
                try {
                    channel.await(Duration.ofMillis(2));
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
        }

        void end() {
            // Otherwise each closing would take its time, which does not stand still here, to drain them.
            state(QueuePairState.RESET);
            if (plain.isOpen() && plain.entries() != driver.entries(plain)) {
                throw new AssertionError("tells " + plain.entries() + " entries, and has " + driver.entries(plain));
            }
            arena.close();
            driver.checkAllEnded();
        }
    }
}
