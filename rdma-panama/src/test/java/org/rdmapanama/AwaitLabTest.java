package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.rdmapanama.testing.SleepingCall.result;
import static org.rdmapanama.testing.SleepingCall.start;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** Waiting for completions of one queue: {@link CompletionQueue#await}. */
@Tag("lab")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AwaitLabTest {
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(100);
    private static final int ROUND = 200;
    private static final int MAX_WARM_UP_ROUNDS = 40;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static ConnectedPair shared() {
        return ConnectedPair.of(QueuePairType.RC).in(VerbsArena.ofShared()).open();
    }

    private static FutureTask<Integer> await(boolean virtual, Side side) throws InterruptedException {
        WorkCompletions completions = new WorkCompletions(side.arena, 4);
        return start(virtual, () -> side.queue.await(completions, LONG));
    }

    private static void assertThrown(Class<? extends Throwable> expected, FutureTask<?> task) {
        assertInstanceOf(
                expected,
                assertThrows(ExecutionException.class, () -> result(task)).getCause());
    }

    @Test
    void shouldReturnWhatIsThere() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            for (Duration spin : List.of(Duration.ZERO, Duration.ofMillis(1), Duration.ofDays(1))) {
                for (int i = 0; i < 5; i++) {
                    pair.a.post(pair.writeToB(i, 0, 8));
                    assertEquals(1, pair.a.queue.await(completions, LONG, spin));
                    assertEquals(i, completions.id(0));
                }
            }
        }
    }

    @Test
    void shouldEndAtItsTimeout() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            assertEquals(0, pair.a.queue.await(completions, Duration.ZERO));
            for (Duration spin : List.of(Duration.ZERO, Duration.ofMillis(150), Duration.ofDays(1))) {
                long start = System.nanoTime();
                assertEquals(0, pair.a.queue.await(completions, SHORT, spin));
                Duration waited = Duration.ofNanos(System.nanoTime() - start);
                assertTrue(waited.compareTo(SHORT) >= 0 && waited.toSeconds() < 10, waited::toString);
            }
        }
    }

    @Test
    void shouldRefuseWhatItCannotWaitFor() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            CompletionQueue lonely = pair.a.context.createCompletionQueue(4);
            String message = assertThrows(IllegalStateException.class, () -> lonely.await(completions, LONG))
                    .getMessage();
            assertTrue(
                    message.contains("no completion channel") && message.contains("createCompletionChannel"), message);
            Duration negative = Duration.ofNanos(-1);
            assertThrows(IllegalArgumentException.class, () -> pair.a.queue.await(completions, negative));
            assertThrows(IllegalArgumentException.class, () -> pair.a.queue.await(completions, LONG, negative));
            assertThrows(NullPointerException.class, () -> pair.a.queue.await(null, LONG));
            assertThrows(WrongThreadException.class, () -> {
                FutureTask<?> elsewhere = new FutureTask<>(() -> pair.a.queue.await(completions, LONG));
                Thread.ofPlatform().start(elsewhere);
                try {
                    result(elsewhere);
                } catch (ExecutionException e) {
                    throw e.getCause();
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldWakeUp(boolean virtual) throws Exception {
        try (ConnectedPair pair = shared()) {
            FutureTask<Integer> waiting = await(virtual, pair.a);
            pair.a.channel.wakeup();
            assertEquals(0, result(waiting));
            FutureTask<CompletionQueue> other = start(virtual, () -> pair.a.channel.await(LONG));
            pair.a.channel.wakeup();
            assertNull(result(other));
        }
    }

    @Test
    void shouldWakeUpTheNextWaitOnce() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            pair.a.channel.wakeup();
            pair.a.channel.wakeup();
            assertEquals(0, pair.a.queue.await(completions, LONG));
            pair.a.post(pair.writeToB(1, 0, 8));
            assertEquals(1, pair.a.queue.await(completions, LONG));
            pair.a.channel.wakeup();
            assertNull(pair.a.channel.await(LONG));
            long start = System.nanoTime();
            assertNull(pair.a.channel.await(SHORT));
            assertTrue(System.nanoTime() - start >= SHORT.toNanos(), "a wake-up is for one wait");
            pair.a.channel.close();
            assertThrows(IllegalStateException.class, pair.a.channel::wakeup);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndWhenSomethingCloses(boolean virtual) throws Exception {
        for (int i = 0; i < 3; i++) {
            try (ConnectedPair pair = shared()) {
                FutureTask<Integer> waiting = await(virtual, pair.a);
                switch (i) {
                    case 0 -> pair.a.queue.close();
                    case 1 -> pair.a.channel.close();
                    default -> pair.a.arena.close();
                }
                assertThrown(IllegalStateException.class, waiting);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBeInterruptible(boolean virtual) throws Exception {
        try (ConnectedPair pair = shared()) {
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            Thread[] thread = new Thread[1];
            FutureTask<Integer> waiting = start(virtual, () -> {
                thread[0] = Thread.currentThread();
                return pair.a.queue.await(completions, Duration.ofSeconds(Long.MAX_VALUE));
            });
            thread[0].interrupt();
            assertThrown(InterruptedException.class, waiting);
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, () -> pair.a.queue.await(completions, Duration.ZERO));
        }
    }

    /** Whether it sleeps or still polls. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndWhileItPolls(boolean interrupted) throws Exception {
        try (ConnectedPair pair = shared()) {
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            Thread[] thread = new Thread[1];
            FutureTask<Integer> waiting = start(false, () -> {
                thread[0] = Thread.currentThread();
                return pair.a.queue.await(completions, LONG, Duration.ofDays(1));
            });
            if (interrupted) {
                thread[0].interrupt();
                assertThrown(InterruptedException.class, waiting);
            } else {
                long start = System.nanoTime();
                pair.a.channel.wakeup();
                assertEquals(0, result(waiting));
                assertTrue(System.nanoTime() - start < LONG.toNanos(), "it ended at its timeout");
            }
        }
    }

    /** Between looking, asking for an event, looking again, and going to sleep a completion may come at any time. */
    @ParameterizedTest
    @CsvSource({"false, 0", "false, 20000", "true, 0", "true, 20000"})
    void shouldMissNoCompletion(boolean virtual, long spinNanos) throws Exception {
        int rounds = LabDevices.areNative() ? 300 : 10_000;
        Duration spin = Duration.ofNanos(spinNanos);
        try (ConnectedPair pair = shared()) {
            FutureTask<Void> echo = start(virtual, () -> {
                exchange(pair.b, rounds, spin, false);
                return null;
            });
            FutureTask<Void> caller = new FutureTask<>(() -> {
                exchange(pair.a, rounds, spin, true);
                return null;
            });
            if (virtual) {
                Thread.startVirtualThread(caller);
            } else {
                Thread.ofPlatform().start(caller);
            }
            caller.get(200, TimeUnit.SECONDS);
            result(echo);
        }
    }

    /** Sends and receives in turn, and waits at changing distances from what the other side does. */
    private static void exchange(Side side, int rounds, Duration spin, boolean first) throws InterruptedException {
        WorkCompletions completions = new WorkCompletions(side.arena, 4);
        SendWorkRequest send = side.request(1, 0, 8).send();
        ReceiveWorkRequest receive = side.receiveRequest(2, 64, 8);
        side.queuePair.postReceive(receive);
        side.queuePair.postReceive(receive);
        int sent = 0;
        int received = 0;
        int completed = 0;
        while (received < rounds || completed < rounds) {
            if (sent < rounds && sent == (first ? received : received - 1) && completed == sent) {
                side.post(send);
                sent++;
            }
            int count = side.queue.await(completions, LONG, spin);
            if (count == 0) {
                throw new AssertionError(received + " of " + rounds + " messages came, " + completed + " of " + sent
                        + " sends completed");
            }
            for (int i = 0; i < count; i++) {
                assertTrue(completions.succeeded(i), completions.describe(i));
                if (completions.id(i) == 1) {
                    completed++;
                } else {
                    received++;
                    side.post(receive);
                }
            }
            for (int i = received % 64; i > 0; i--) {
                Thread.onSpinWait();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldGiveEachCompletionToOneOfSeveralThreads(boolean virtual) throws Exception {
        int threads = 4;
        int rounds = LabDevices.areNative() ? 100 : 2_000;
        try (ConnectedPair pair = shared()) {
            AtomicInteger left = new AtomicInteger(rounds);
            Semaphore room = new Semaphore(8);
            AtomicInteger missing = new AtomicInteger();
            CountDownLatch got = new CountDownLatch(rounds);
            List<FutureTask<Void>> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                WorkCompletions completions = new WorkCompletions(pair.a.arena, 1);
                all.add(start(virtual, () -> {
                    while (got.getCount() > 0) {
                        int count = pair.a.queue.await(completions, LONG, Duration.ZERO);
                        for (int k = 0; k < count; k++) {
                            got.countDown();
                            room.release();
                        }
                        if (count == 0 && got.getCount() > 0) {
                            missing.incrementAndGet();
                        }
                        if (got.getCount() == 0) {
                            // The others wait in vain.
                            pair.a.channel.wakeup();
                        }
                    }
                    return null;
                }));
            }
            SendWorkRequest write = pair.writeToB(1, 0, 8);
            while (left.getAndDecrement() > 0) {
                post(pair.a.queuePair, write, room);
                LockSupport.parkNanos(1_000L * (left.get() % 32));
            }
            assertTrue(got.await(60, TimeUnit.SECONDS), () -> got.getCount() + " are missing");
            for (FutureTask<Void> each : all) {
                result(each);
            }
            assertEquals(0, missing.get(), "waits in vain");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldLeaveEventsOfOtherQueuesToTheirWaits(boolean virtual) throws Exception {
        int rounds = LabDevices.areNative() ? 50 : 1_000;
        try (ConnectedPair one = shared()) {
            // A second queue pair that reports to another queue on the channel of the first.
            CompletionQueue second = one.a.context.createCompletionQueue(1024, one.a.channel, 0);
            CompletionQueue third = one.a.context.createCompletionQueue(1024, one.a.channel, 0);
            QueuePair loop = toItself(one.a, second);
            QueuePair quiet = toItself(one.a, third);
            third.requestNotification(false);
            WorkCompletions completions = new WorkCompletions(one.a.arena, 4);
            WorkCompletions ofOther = new WorkCompletions(one.a.arena, 4);
            Semaphore roomOfFirst = new Semaphore(8);
            Semaphore roomOfSecond = new Semaphore(8);
            FutureTask<Integer> ofSecond = start(virtual, () -> take(second, ofOther, rounds, roomOfSecond));
            SendWorkRequest write = one.a.request(1, 0, 8).rdmaWrite(one.a.region.address() + 64, one.a.region.rkey());
            quiet.postSend(write);
            FutureTask<Integer> ofFirst = start(virtual, () -> take(one.a.queue, completions, rounds, roomOfFirst));
            SendWorkRequest toB = one.writeToB(1, 0, 8);
            for (int i = 0; i < rounds; i++) {
                post(loop, write, roomOfSecond);
                post(one.a.queuePair, toB, roomOfFirst);
            }
            assertEquals(rounds, result(ofFirst));
            assertEquals(rounds, result(ofSecond));
            List<CompletionQueue> told = new ArrayList<>();
            CompletionQueue queue = one.a.channel.await(Duration.ZERO);
            while (queue != null) {
                told.add(queue);
                queue = one.a.channel.await(Duration.ZERO);
            }
            assertTrue(told.contains(third), () -> "only " + told);
            assertEquals(told.size(), told.stream().distinct().count(), told::toString);
            assertEquals(1, third.poll(completions));
        }
    }

    private static QueuePair toItself(Side side, CompletionQueue queue) {
        QueuePair made = side.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
        made.connect(made.localEndpoint(LabDevices.connectOptions()));
        return made;
    }

    /** Posts when there is room in the completion queue, too, of which the other side gives permits. */
    private static void post(QueuePair queuePair, SendWorkRequest request, Semaphore room) throws InterruptedException {
        assertTrue(room.tryAcquire(20, TimeUnit.SECONDS), "nobody takes completions");
        queuePair.postSend(request);
    }

    private static int take(CompletionQueue queue, WorkCompletions completions, int rounds, Semaphore room)
            throws InterruptedException {
        int taken = 0;
        while (taken < rounds) {
            int count = queue.await(completions, LONG, Duration.ZERO);
            if (count == 0) {
                return taken;
            }
            taken += count;
            room.release(count);
        }
        return taken;
    }

    @Test
    void shouldBeginABatch() throws Exception {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(VerbsArena.ofShared())
                .extended(CompletionField.BYTE_LEN)
                .open()) {
            ExtendedCompletionQueue queue = pair.a.extended();
            try (PollCursor cursor = queue.poll()) {
                assertFalse(cursor.await(Duration.ZERO, Duration.ZERO));
                assertFalse(cursor.await(SHORT, Duration.ZERO));
            }
            FutureTask<Long> waiting = start(false, () -> {
                try (PollCursor cursor = queue.poll()) {
                    return cursor.await(LONG, Duration.ZERO) ? cursor.id() : -1L;
                }
            });
            pair.a.post(pair.writeToB(7, 0, 8));
            assertEquals(7, result(waiting));
        }
    }

    /** Sleeping costs nothing: nobody looks while nothing happens. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldNotLookWhileNothingHappens(boolean virtual) throws Exception {
        AtomicInteger looks = new AtomicInteger();
        RecordingProvider counting = new RecordingProvider(RecordingProvider.of(LabDevices.first())) {
            @Override
            public long getCompletionEvent(long channel) {
                looks.incrementAndGet();
                return super.getCompletionEvent(channel);
            }
        };
        int threads = 20;
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Context context = Context.open(arena, LabDevices.first(), () -> counting);
            List<CompletionChannel> channels = new ArrayList<>();
            List<FutureTask<CompletionQueue>> waits = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                CompletionChannel channel = context.createCompletionChannel();
                channels.add(channel);
                FutureTask<CompletionQueue> wait = new FutureTask<>(() -> channel.await(LONG));
                waits.add(wait);
                if (virtual) {
                    Thread.startVirtualThread(wait);
                } else {
                    Thread.ofPlatform().start(wait);
                }
            }
            Thread.sleep(300);
            int before = looks.get();
            Thread.sleep(500);
            assertTrue(looks.get() - before <= threads, () -> looks.get() - before + " looks in half a second");
            channels.forEach(CompletionChannel::wakeup);
            for (FutureTask<CompletionQueue> each : waits) {
                assertNull(result(each));
            }
        }
    }

    /** A platform thread that sleeps for each completion, and one that waits on the channel. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothing(boolean onTheChannel) throws Exception {
        // The lab has only the first compiler, with which the JDK's own code for native calls allocates.
        assumeFalse(LabDevices.areNative(), "needs the second compiler");
        try (ConnectedPair pair = shared()) {
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            SendWorkRequest write = pair.writeToB(1, 0, 8);
            Poster poster = new Poster(pair.a, write);
            Thread.ofPlatform().daemon().start(poster);
            long bytes = Long.MAX_VALUE;
            for (int round = 0; bytes > 0 && round < MAX_WARM_UP_ROUNDS; round++) {
                bytes = Math.min(bytes, allocatedInARound(pair.a, completions, poster, onTheChannel));
            }
            poster.end();
            assertEquals(0, bytes, ROUND + " waits allocated " + bytes + " bytes");
        }
    }

    private static long allocatedInARound(Side side, WorkCompletions completions, Poster poster, boolean onTheChannel)
            throws InterruptedException {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < ROUND; i++) {
            if (onTheChannel) {
                side.queue.requestNotification(false);
                poster.post();
                if (side.channel.await(LONG) != side.queue || side.queue.poll(completions) != 1) {
                    throw new AssertionError("no event, or without a completion");
                }
            } else {
                poster.post();
                if (side.queue.await(completions, LONG, Duration.ZERO) != 1) {
                    throw new AssertionError("no completion");
                }
            }
        }
        return THREADS.getCurrentThreadAllocatedBytes() - before;
    }

    /** Posts a little later than asked. */
    private static final class Poster implements Runnable {
        private final Side side;
        private final SendWorkRequest request;
        private volatile int asked;
        private volatile boolean over;

        Poster(Side side, SendWorkRequest request) {
            this.side = side;
            this.request = request;
        }

        @SuppressWarnings("NonAtomicVolatileUpdate") // one thread asks
        void post() {
            asked++;
        }

        void end() {
            over = true;
        }

        @Override
        public void run() {
            int done = 0;
            while (!over) {
                LockSupport.parkNanos(50_000);
                if (done < asked) {
                    done++;
                    side.post(request);
                }
            }
        }
    }

    @Test
    void shouldGoOnWhenItIsWokenUpAndInterrupted() throws Exception {
        try (ConnectedPair pair = shared()) {
            int rounds = LabDevices.areNative() ? 20 : 300;
            WorkCompletions completions = new WorkCompletions(pair.a.arena, 4);
            CountDownLatch begun = new CountDownLatch(1);
            Semaphore room = new Semaphore(8);
            Thread[] thread = new Thread[1];
            FutureTask<Integer> waiting = new FutureTask<>(() -> {
                thread[0] = Thread.currentThread();
                begun.countDown();
                int got = 0;
                while (got < rounds) {
                    try {
                        int count = pair.a.queue.await(completions, LONG, Duration.ZERO);
                        got += count;
                        room.release(count);
                    } catch (InterruptedException e) {
                        // Goes on.
                    }
                }
                return got;
            });
            Thread.startVirtualThread(waiting);
            assertTrue(begun.await(10, TimeUnit.SECONDS));
            SendWorkRequest write = pair.writeToB(1, 0, 8);
            for (int i = 0; i < rounds; i++) {
                pair.a.channel.wakeup();
                post(pair.a.queuePair, write, room);
                thread[0].interrupt();
            }
            assertEquals(rounds, result(waiting));
        }
    }
}
