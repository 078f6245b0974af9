package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.NeedsVirtualMachine;

/** Threads that wait, close, interrupt and use the same objects. */
@Tag("lab")
@NeedsVirtualMachine("threads that run at the same time")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // some are closed earlier
class ThreadsLabTest {
    private static final int PORT = 7611;

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    @AfterEach
    void seeThatNothingIsLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    /** How a wait ends: with an exception or a result. */
    private static Object outcome(String name, Waits.Wait wait, boolean virtual, Ending ending) throws Exception {
        FutureTask<Object> task = new FutureTask<>(() -> {
            try {
                return wait.body().call();
            } catch (Exception e) {
                return e;
            }
        });
        Thread thread =
                virtual ? Thread.ofVirtual().start(task) : Thread.ofPlatform().start(task);
        Thread.sleep(250);
        if (task.isDone()) {
            throw new AssertionError(name + " did not wait: " + task.get());
        }
        ending.end(thread);
        try {
            return task.get(10, TimeUnit.SECONDS);
        } catch (java.util.concurrent.TimeoutException e) {
            throw new AssertionError(name + " goes on", e);
        }
    }

    @FunctionalInterface
    private interface Ending {
        void end(Thread thread) throws Exception;
    }

    private static void closeAll(List<AutoCloseable> made) throws Exception {
        for (AutoCloseable each : made.reversed()) {
            each.close();
        }
    }

    private void eachWait(boolean virtual, boolean interrupts) throws Exception {
        for (Map.Entry<String, Waits.Setup> each : Waits.all(PORT).entrySet()) {
            String name = each.getKey();
            List<AutoCloseable> made = new ArrayList<>();
            // Closed even after a failure, so that the next test finds the port free.
            try (VerbsArena arena = VerbsArena.ofShared();
                    AutoCloseable all = () -> closeAll(made)) {
                Waits.Wait wait = each.getValue().make(arena, made);
                if (interrupts) {
                    assertInstanceOf(InterruptedException.class, outcome(name, wait, virtual, Thread::interrupt), name);
                } else if (wait.closed() != null) {
                    Object outcome =
                            outcome(name, wait, virtual, thread -> wait.closed().close());
                    if (name.startsWith("RdmaConnection.")) {
                        assertFalse(outcome instanceof Exception, () -> name + ": " + outcome);
                    } else {
                        assertInstanceOf(IllegalStateException.class, outcome, name);
                    }
                }
            }
        }
    }

    @Test
    void shouldEndWaitsWhenTheyAreClosed() throws Exception {
        eachWait(false, false);
    }

    @Test
    void shouldEndWaitsOfVirtualThreadsWhenTheyAreClosed() throws Exception {
        eachWait(true, false);
    }

    @Test
    void shouldEndWaitsWhenTheyAreInterrupted() throws Exception {
        eachWait(false, true);
    }

    @Test
    void shouldEndWaitsOfVirtualThreadsWhenTheyAreInterrupted() throws Exception {
        eachWait(true, true);
    }

    @Test
    void shouldGiveEachEventToOneOfThoseThatWait() throws Exception {
        int count = 60;
        try (EventChannel channel = EventChannel.create();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            Set<CmId> seen = ConcurrentHashMap.newKeySet();
            AtomicInteger events = new AtomicInteger();
            List<Future<?>> takers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                takers.add(threads.submit(() -> {
                    Optional<CmEvent> event;
                    do {
                        event = channel.await(Duration.ofSeconds(2));
                        if (event.isPresent()) {
                            assertEquals(CmEventType.ADDR_RESOLVED, event.get().type());
                            events.incrementAndGet();
                            seen.add(event.get().id());
                        }
                    } while (event.isPresent());
                    return null;
                }));
            }
            for (int i = 0; i < count; i++) {
                channel.createId(PortSpace.UDP).resolveAddress(Lab.first(0), Lab.second(PORT), Duration.ofSeconds(5));
            }
            for (Future<?> taker : takers) {
                taker.get(60, TimeUnit.SECONDS);
            }
            assertEquals(count, events.get());
            assertEquals(count, seen.size());
        }
    }

    @Test
    void shouldTellAllThreadsOfOneConnectionThatItEnded() throws Exception {
        List<AutoCloseable> made = new ArrayList<>();
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            Waits.connection(arena, PORT, made);
            RdmaConnection client = (RdmaConnection) made.get(1);
            RdmaConnection server = (RdmaConnection) made.get(2);
            List<Future<Boolean>> waiting = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                waiting.add(threads.submit(() -> server.awaitDisconnect(Duration.ofSeconds(40))));
                waiting.add(threads.submit(() -> client.awaitDisconnect(Duration.ofSeconds(40))));
            }
            Thread.sleep(200);
            // The server's threads only look: that is the answer that this waits for.
            client.disconnect(Duration.ofSeconds(10));
            for (Future<Boolean> each : waiting) {
                assertTrue(each.get(5, TimeUnit.SECONDS));
            }
            assertFalse(server.isConnected());
            server.disconnect(Duration.ofSeconds(10));
            closeAll(made);
        }
    }

    @Test
    void shouldEndAConnectionFromBothSidesAtOnce() throws Exception {
        for (int i = 0; i < 5; i++) {
            List<AutoCloseable> made = new ArrayList<>();
            try (VerbsArena arena = VerbsArena.ofShared();
                    ExecutorService threads = Executors.newCachedThreadPool()) {
                Waits.connection(arena, PORT, made);
                List<Future<?>> ends = new ArrayList<>();
                for (AutoCloseable side : made.subList(1, 3)) {
                    ends.add(threads.submit(() -> {
                        ((RdmaConnection) side).disconnect(Duration.ofSeconds(10));
                        return null;
                    }));
                }
                for (Future<?> end : ends) {
                    end.get(20, TimeUnit.SECONDS);
                }
                closeAll(made);
            }
        }
    }

    /** Uses of an id that may fail, but only in the ways that they say. */
    @FunctionalInterface
    private interface Use {
        void of(CmId id) throws InterruptedException;
    }

    @Test
    void shouldSurviveManyThreadsOnOneId() throws Exception {
        for (int round = 0; round < 25; round++) {
            try (EventChannel one = EventChannel.create();
                    EventChannel other = EventChannel.create();
                    ExecutorService threads = Executors.newCachedThreadPool()) {
                CmId id = one.createId(PortSpace.TCP);
                boolean closesChannel = round % 2 == 0;
                List<Use> uses = List.of(
                        each -> each.migrate(other),
                        each -> each.migrate(one),
                        each -> each.resolveAddress(Lab.first(0), Lab.second(PORT), Duration.ofSeconds(1)),
                        each -> each.typeOfService(3),
                        CmId::localAddress,
                        CmId::remoteEce,
                        each -> one.await(Duration.ofMillis(3)),
                        each -> other.await(Duration.ofMillis(3)),
                        each -> {
                            // Once it is closed there is nothing to wait for.
                            Thread.sleep(each.isOpen() ? 20 : 1);
                            each.close();
                        },
                        each -> {
                            Thread.sleep(closesChannel && one.isOpen() ? 20 : 1);
                            if (closesChannel) {
                                one.close();
                            }
                        });
                List<Future<?>> all = new ArrayList<>();
                for (Use use : uses) {
                    all.add(threads.submit(() -> {
                        for (int i = 0; i < 20; i++) {
                            try {
                                use.of(id);
                            } catch (IllegalStateException | ConnectionException expected) {
                                // It is closed, or it is the wrong moment.
                            }
                        }
                        return null;
                    }));
                }
                for (Future<?> each : all) {
                    each.get(30, TimeUnit.SECONDS);
                }
                assertFalse(id.isOpen());
                assertEquals(!closesChannel, one.isOpen());
                assertTrue(other.isOpen());
            }
        }
    }

    @Test
    void shouldSurviveIdsThatCloseWithTheirChannel() throws Exception {
        for (int round = 0; round < 40; round++) {
            EventChannel channel = EventChannel.create();
            List<CmId> ids = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                CmId id = channel.createId(PortSpace.UDP);
                id.resolveAddress(Lab.first(0), Lab.second(PORT), Duration.ofSeconds(1));
                ids.add(id);
            }
            try (ExecutorService threads = Executors.newCachedThreadPool()) {
                List<Callable<Object>> tasks = List.of(
                        Executors.callable(() -> ids.forEach(CmId::close)),
                        Executors.callable(() -> ids.reversed().forEach(CmId::close)),
                        Executors.callable(channel::close));
                for (Future<Object> each : threads.invokeAll(tasks)) {
                    each.get(30, TimeUnit.SECONDS);
                }
            }
            assertFalse(channel.isOpen());
            for (CmId id : ids) {
                assertFalse(id.isOpen());
            }
        }
    }
}
