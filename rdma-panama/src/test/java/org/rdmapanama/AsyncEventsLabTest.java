package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.DummyDevice;
import org.rdmapanama.testing.LabDevices;

/**
 * Events of devices, ports and objects: each comes once, and is acknowledged once. libibverbs lets an object go only
 * when as many of its events were acknowledged as were read, so a close that returns proves both.
 */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class AsyncEventsLabTest {
    private static final Duration LONG = Duration.ofSeconds(10);
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final int WRITES = 40;

    /** A pair whose side a has a completion queue that overruns. */
    private static ConnectedPair overrun(VerbsArena arena) {
        LabDevices.assumeOurs("drivers differ in what they do with a queue that overruns");
        ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(arena)
                .queues(64, 16)
                .queueEntries(1)
                .open();
        for (int i = 0; i < WRITES; i++) {
            pair.a.queuePair.postSend(pair.writeToB(i, 0, 8));
        }
        return pair;
    }

    private static List<AsyncEvent> all(Context context, int limit) throws InterruptedException {
        List<AsyncEvent> events = new ArrayList<>();
        Optional<AsyncEvent> event = context.awaitAsyncEvent(LONG);
        while (event.isPresent()) {
            events.add(event.get());
            event = events.size() == limit ? Optional.empty() : context.awaitAsyncEvent(SHORT);
        }
        return events;
    }

    private static void closes(Executable close) {
        assertTimeoutPreemptively(Duration.ofSeconds(20), close);
    }

    @Test
    @Shows({"ibv_get_async_event", "ibv_ack_async_event"})
    void shouldDeliverEachEventOnce() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ConnectedPair pair = overrun(arena);
            List<AsyncEvent> events = new ArrayList<>();
            if (LabDevices.areSoftRoce()) {
                // It tells of each completion that is lost.
                events.addAll(all(pair.a.context, Integer.MAX_VALUE));
                assertTrue(events.size() >= 2 && events.size() < WRITES, events::toString);
            } else {
                events.addAll(all(pair.a.context, 1));
                AsyncEvent end = pair.a.context.awaitAsyncEvent(LONG).orElseThrow();
                assertEquals(AsyncEventType.QP_FATAL, end.type());
                assertSame(pair.a.queuePair, end.source());
                assertEquals(Optional.empty(), pair.a.context.awaitAsyncEvent(SHORT));
            }
            for (AsyncEvent event : events) {
                assertEquals(AsyncEventType.CQ_ERR, event.type());
                assertSame(pair.a.queue, event.source());
                assertEquals(0, event.port());
            }
            closes(pair.a.queue::close);
            closes(pair.a.context::close);
        }
    }

    @Test
    void shouldCloseAnObjectWithEventsThatNobodyRead() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ConnectedPair pair = overrun(arena);
            assertEquals(1, all(pair.a.context, 1).size(), "the others are there as well");
            closes(pair.a.queue::close);
            assertEquals(Optional.empty(), pair.a.context.awaitAsyncEvent(SHORT), "an event of a closed object");
            closes(pair.a.context::close);
        }
    }

    @Test
    void shouldCloseADeviceWithEventsThatNobodyRead() {
        VerbsArena arena = VerbsArena.ofShared();
        overrun(arena);
        closes(arena::close);
        assertFalse(arena.scope().isAlive());
    }

    @Test
    void shouldCloseWhileAnotherThreadReadsEvents() throws Exception {
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            for (int round = 0; round < 5; round++) {
                VerbsArena arena = VerbsArena.ofShared();
                Context context = Context.open(arena, LabDevices.first());
                ConnectedPair pair = overrun(arena);
                Context watched = pair.a.context;
                Future<Boolean> reader = thread.submit(() -> {
                    try {
                        while (true) {
                            watched.awaitAsyncEvent(SHORT);
                        }
                    } catch (IllegalStateException closed) {
                        return true;
                    }
                });
                if (round % 2 == 0) {
                    closes(pair.a.queue::close);
                }
                closes(arena::close);
                assertTrue(reader.get(20, TimeUnit.SECONDS));
                assertFalse(context.isOpen());
            }
        }
    }

    private static void drainSendQueue(QueuePair queuePair) {
        queuePair.modify(new QueuePairAttributes().state(QueuePairState.SQD).notifyWhenDrained(true));
    }

    @Test
    void shouldTellWhenASendQueueIsDrained() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).in(arena).open();
            drainSendQueue(pair.a.queuePair);
            AsyncEvent event = pair.a.context.awaitAsyncEvent(LONG).orElseThrow();
            assertEquals(AsyncEventType.SQ_DRAINED, event.type());
            assertSame(pair.a.queuePair, event.source());
            closes(pair.a.queuePair::close);
        }
    }

    @Test
    void shouldCloseAQueuePairWhoseEventNobodyRead() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).in(arena).open();
            drainSendQueue(pair.a.queuePair);
            closes(pair.a.queuePair::close);
        }
    }

    @Test
    void shouldTakeAnUnreadEventAlong() throws Exception {
        LabDevices.assumeHasDescriptors();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).in(arena).open();
            drainSendQueue(pair.a.queuePair);
            assertTrue(readable(pair.a.context.asyncFileDescriptor(), LONG));
            closes(pair.a.queuePair::close);
            assertEquals(Optional.empty(), pair.a.context.awaitAsyncEvent(Duration.ZERO));
        }
    }

    @Test
    void shouldHaveAFileDescriptorForEventLoops() throws Exception {
        try (DummyDevice dummy = DummyDevice.add();
                VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, dummy.device());
            while (context.awaitAsyncEvent(SHORT).isPresent()) {
                // Addresses come when the network device goes up.
            }
            int descriptor = context.asyncFileDescriptor();
            assertFalse(readable(descriptor, Duration.ZERO));
            dummy.down();
            assertTrue(readable(descriptor, LONG));
            List<AsyncEvent> events = new ArrayList<>();
            Optional<AsyncEvent> event = context.awaitAsyncEvent(Duration.ZERO);
            while (event.isPresent()) {
                events.add(event.get());
                event = context.awaitAsyncEvent(SHORT);
            }
            assertTrue(events.stream().anyMatch(e -> e.type() == AsyncEventType.PORT_ERR && e.port() == 1));
            assertFalse(readable(descriptor, Duration.ZERO), "all were read");
        }
    }

    @Test
    void shouldBearEventsThatThisVersionDoesNotKnow() throws Exception {
        RecordingProvider forger = new RecordingProvider(RecordingProvider.of(LabDevices.first())) {
            @Override
            @SuppressWarnings("restricted")
            public int getAsyncEvent(long event) {
                MemorySegment struct = MemorySegment.ofAddress(event).reinterpret(ibv_async_event.sizeof());
                ibv_async_event.event_type(struct, 20);
                ibv_async_event.element.port_num(ibv_async_event.element(struct), 1);
                return 1;
            }
        };
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), () -> forger);
            AsyncEvent event = context.awaitAsyncEvent(LONG).orElseThrow();
            assertEquals(new AsyncEvent(AsyncEventType.UNKNOWN, 0, context), event);
        }
    }

    /** poll(2). */
    @SuppressWarnings("restricted")
    private static boolean readable(int descriptor, Duration timeout) {
        Linker linker = Linker.nativeLinker();
        MethodHandle poll = linker.downcallHandle(
                linker.defaultLookup().find("poll").orElseThrow(),
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pollfd = arena.allocate(8, 4);
            pollfd.set(JAVA_INT, 0, descriptor);
            pollfd.set(JAVA_SHORT, 4, (short) 1);
            return (int) poll.invokeExact(pollfd.address(), 1L, (int) timeout.toMillis()) == 1;
        } catch (Throwable e) {
            throw new AssertionError("poll", e);
        }
    }
}
