package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.NeedsVirtualMachine;
import org.rdmapanama.testing.Side;

/** Confined arenas keep other threads out; shared ones let them in, and end well while they are in. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class ThreadsLabTest {
    private static final int POSTERS = 4;
    private static final int WRITES_EACH = 200;

    /** What a call throws in another thread, or null. */
    private static Throwable thrownElsewhere(Uses.Prepared call) throws InterruptedException {
        FutureTask<Void> task = new FutureTask<>(() -> {
            call.run();
            return null;
        });
        Thread thread = new Thread(task);
        thread.start();
        thread.join(10_000);
        try {
            task.get(1, TimeUnit.SECONDS);
            return null;
        } catch (ExecutionException e) {
            return e.getCause();
        } catch (TimeoutException e) {
            return e;
        }
    }

    @TestFactory
    Stream<DynamicTest> shouldKeepOtherThreadsOutOfAConfinedArena() {
        return Uses.ALL.stream()
                .map(use -> DynamicTest.dynamicTest(use.name(), () -> {
                    try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
                        assertInstanceOf(WrongThreadException.class, thrownElsewhere(use.prepare(pair.a)));
                    }
                }));
    }

    @Test
    void shouldKeepOtherThreadsFromClosingAConfinedArena() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            List<AutoCloseable> all = List.of(
                    pair.a.arena,
                    pair.a.context,
                    pair.a.domain,
                    pair.a.region,
                    pair.a.channel,
                    pair.a.queue,
                    pair.a.queuePair);
            for (AutoCloseable object : all) {
                assertInstanceOf(WrongThreadException.class, thrownElsewhere(object::close), object::toString);
            }
            assertInstanceOf(WrongThreadException.class, thrownElsewhere(() -> pair.a.arena.allocate(8)));
            Device device = LabDevices.first();
            assertInstanceOf(WrongThreadException.class, thrownElsewhere(() -> Context.open(pair.a.arena, device)));
            assertTrue(pair.a.queuePair.isOpen());
        }
    }

    @Test
    void shouldLetAnyThreadAskForKeys() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            assertNull(thrownElsewhere(() -> {
                assertEquals(pair.a.region.memory().address(), pair.a.region.address());
                assertTrue(pair.a.region.rkey() != 0);
                assertTrue(pair.a.queuePair.number() > 0);
            }));
        }
    }

    /** The queue holds all completions: Soft-RoCE makes room in the send queue before they are polled. */
    @NeedsVirtualMachine("threads that run at the same time")
    @Test
    void shouldAccountForEveryCompletionOfManyPosters() throws Exception {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                        .in(VerbsArena.ofShared())
                        .queueEntries(POSTERS * WRITES_EACH)
                        .open();
                ExecutorService threads = Executors.newFixedThreadPool(POSTERS)) {
            List<QueuePair> queuePairs = new ArrayList<>();
            List<Future<?>> posters = new ArrayList<>();
            for (int i = 0; i < POSTERS; i++) {
                QueuePair queuePair = connectAnother(pair);
                queuePairs.add(queuePair);
                posters.add(threads.submit(() -> writeMany(pair, queuePair)));
            }
            Map<Integer, Long> last = new HashMap<>();
            for (int i = 0; i < POSTERS * WRITES_EACH; i++) {
                Completion completion = pollOne(pair.a);
                assertEquals(CompletionStatus.SUCCESS, completion.status(), completion.text());
                long before = last.getOrDefault(completion.queuePair(), 0L);
                assertEquals(before + 1, completion.id(), "each queue pair completes in order");
                last.put(completion.queuePair(), completion.id());
            }
            for (Future<?> poster : posters) {
                poster.get(10, TimeUnit.SECONDS);
            }
            for (QueuePair queuePair : queuePairs) {
                assertEquals(WRITES_EACH, last.get(queuePair.number()));
            }
            assertTrue(pair.a.poll().isEmpty());
        }
    }

    /** One at a time: {@link Side#await} expects no more to be there than asked for. */
    private static Completion pollOne(Side side) {
        WorkCompletions one = new WorkCompletions(side.arena, 1);
        Completions.awaitAny(side.queue, one);
        return Completion.of(one, 0);
    }

    private static QueuePair connectAnother(ConnectedPair pair) {
        QueuePair a = pair.a.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.a.queue));
        QueuePair b = pair.b.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.b.queue));
        Endpoint endpointOfA = a.localEndpoint(LabDevices.connectOptions());
        b.localEndpoint(LabDevices.connectOptions());
        a.connect(b.localEndpoint());
        b.connect(endpointOfA);
        return a;
    }

    private static void writeMany(ConnectedPair pair, QueuePair queuePair) {
        SendWorkRequest write = pair.writeToB(0, 0, 64);
        for (int i = 1; i <= WRITES_EACH; i++) {
            write.id(i);
            while (queuePair.tryPostSend(write) == QueuePair.QUEUE_FULL) {
                Thread.onSpinWait();
            }
        }
    }

    @NeedsVirtualMachine("threads that run at the same time")
    @Test
    void shouldEndPollingThreadsWhenTheArenaCloses() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).in(arena).open();
        try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
            List<Future<?>> pollers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                WorkCompletions completions = new WorkCompletions(arena, 4);
                pollers.add(threads.submit(() -> {
                    while (true) {
                        pair.a.queue.poll(completions);
                    }
                }));
            }
            Thread.sleep(100);
            arena.close();
            for (Future<?> poller : pollers) {
                Throwable thrown = assertThrows(ExecutionException.class, () -> poller.get(10, TimeUnit.SECONDS))
                        .getCause();
                assertEquals(IllegalStateException.class, thrown.getClass());
            }
        }
    }

    @NeedsVirtualMachine("threads that run at the same time")
    @Test
    void shouldEndPostingThreadsWhenTheArenaCloses() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).in(arena).open();
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            List<Future<?>> posters = new ArrayList<>();
            for (Side side : List.of(pair.a, pair.b)) {
                Side peer = pair.other(side);
                SendWorkRequest write = side.request(1, 0, 4096).rdmaWrite(peer.region.address(), peer.region.rkey());
                posters.add(threads.submit(() -> {
                    while (true) {
                        side.queuePair.tryPostSend(write);
                        side.poll();
                    }
                }));
            }
            Thread.sleep(100);
            arena.close();
            for (Future<?> poster : posters) {
                Throwable thrown = assertThrows(ExecutionException.class, () -> poster.get(10, TimeUnit.SECONDS))
                        .getCause();
                assertEquals(IllegalStateException.class, thrown.getClass(), thrown::toString);
            }
        }
    }

    @NeedsVirtualMachine("threads that run at the same time")
    @Test
    void shouldOpenAndCloseInManyThreadsAtOnce() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(3)) {
            Context context = Context.open(arena, LabDevices.first());
            List<Future<?>> makers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                makers.add(threads.submit(() -> {
                    for (int j = 0; j < 20; j++) {
                        ProtectionDomain domain = context.allocateProtectionDomain();
                        CompletionQueue queue = context.createCompletionQueue(4);
                        domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
                        domain.register(arena.allocate(64));
                        queue.close();
                        domain.close();
                    }
                }));
            }
            for (Future<?> maker : makers) {
                maker.get(30, TimeUnit.SECONDS);
            }
        }
    }
}
