package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** Whatever is closed in whatever order: nothing breaks, nothing leaks, and memory goes last. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class ClosingLabTest {
    /** How long a close may take that has work to drain, which takes it some milliseconds. */
    private static final long DRAIN_SECONDS = 3;

    /** How long a close may take that waits for what will never come: its own bound is two seconds. */
    private static final long LOST_SECONDS = 10;

    /** Sockets of other tests free memory that they have not needed for ten seconds. */
    private static final Duration QUIET = Duration.ofSeconds(12);

    private static List<String> resourcesBefore;

    /** Waits until nothing of other tests goes any more. */
    @BeforeAll
    static void countResources() throws Exception {
        resourcesBefore = Commands.resources();
        Bound bound = Bound.ofSeconds(90);
        long start = System.nanoTime();
        while (!resourcesBefore.isEmpty() && System.nanoTime() - start < QUIET.toNanos()) {
            bound.check("what the kernel keeps for the devices goes on changing");
            Thread.sleep(500);
            List<String> now = Commands.resources();
            if (!now.equals(resourcesBefore)) {
                resourcesBefore = now;
                start = System.nanoTime();
            }
        }
    }

    @AfterEach
    void shouldLeakNothing() throws IOException {
        assertEquals(resourcesBefore, Commands.resources(), "what the kernel keeps for the devices");
    }

    private static void assertCloses(long limitSeconds, Runnable close) {
        long start = System.nanoTime();
        close.run();
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start);
        assertTrue(seconds < limitSeconds, () -> "closing took " + seconds + " seconds");
    }

    /** Two kinds in both orders, and the rest by the arena. */
    @TestFactory
    Stream<DynamicTest> shouldCloseAnyTwoKindsInAnyOrder() {
        List<String> kinds;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            kinds = List.copyOf(firstOfEachKind(fullTree(arena)).keySet());
        }
        return kinds.stream()
                .flatMap(first -> kinds.stream()
                        .filter(second -> !second.equals(first))
                        .map(second -> DynamicTest.dynamicTest(first + ", " + second, () -> {
                            try (VerbsArena arena = VerbsArena.ofConfined()) {
                                Map<String, VerbsObject> objects = firstOfEachKind(fullTree(arena));
                                objects.get(first).close();
                                objects.get(second).close();
                                assertFalse(objects.get(first).isOpen());
                                assertFalse(objects.get(second).isOpen());
                            }
                        })));
    }

    private static Map<String, VerbsObject> firstOfEachKind(ObjectTree tree) {
        Map<String, VerbsObject> objects = new LinkedHashMap<>();
        for (VerbsObject object : tree.objects().values()) {
            String type = object instanceof QueuePair queuePair ? queuePair.type() + " " : "";
            objects.putIfAbsent(type + object.getClass().getSimpleName(), object);
        }
        return objects;
    }

    @TestFactory
    Stream<DynamicTest> shouldCloseTheRestAfterAnySingleObject() {
        List<String> names;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            names = List.copyOf(fullTree(arena).objects().keySet());
        }
        return names.stream()
                .map(name -> DynamicTest.dynamicTest(withoutNumbers(name), () -> {
                    try (VerbsArena arena = VerbsArena.ofConfined()) {
                        ObjectTree tree = fullTree(arena);
                        int index = names.indexOf(name);
                        List.copyOf(tree.objects().values()).get(index).close();
                    }
                }));
    }

    private static ObjectTree fullTree(VerbsArena arena) {
        return ObjectTree.full(arena, Context.open(arena, LabDevices.first()));
    }

    /** Addresses and keys differ each time, and the names of tests should not. */
    private static String withoutNumbers(String name) {
        return name.replaceAll(" at 0x.*| to AddressVector.*|(?<=queue pair) \\d+", "");
    }

    @Test
    void shouldCloseTwiceHarmlessly() {
        VerbsArena arena = VerbsArena.ofConfined();
        ObjectTree tree = fullTree(arena);
        for (VerbsObject object : tree.objects().values()) {
            object.close();
            object.close();
        }
        arena.close();
        arena.close();
    }

    @Test
    void shouldCloseWhatStandsBelow() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.a.queue.close();
            assertFalse(pair.a.queuePair.isOpen(), "a queue pair uses its completion queue");
            assertTrue(pair.a.region.isOpen(), "a region does not");
            pair.a.domain.close();
            assertFalse(pair.a.region.isOpen());
            pair.b.context.close();
            assertFalse(pair.b.queue.isOpen());
            assertFalse(pair.b.queuePair.isOpen());
        }
    }

    @TestFactory
    Stream<DynamicTest> shouldRefuseToUseWhatIsClosed() {
        return Uses.ALL.stream()
                .map(use -> DynamicTest.dynamicTest(use.name(), () -> {
                    try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
                        Uses.Prepared prepared = use.prepare(pair.a);
                        pair.a.context.close();
                        assertThrows(IllegalStateException.class, prepared::run);
                    }
                }));
    }

    @Test
    void shouldRefuseAClosedArena() {
        VerbsArena arena = VerbsArena.ofConfined();
        arena.close();
        Device device = LabDevices.first();
        assertThrows(IllegalStateException.class, () -> Context.open(arena, device));
        assertThrows(IllegalStateException.class, () -> arena.allocate(8));
        assertThrows(IllegalStateException.class, () -> new WorkCompletions(arena, 1));
    }

    @Test
    void shouldEndObjectsInOrderAndMemoryLast() {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        VerbsArena arena = VerbsArena.ofConfined();
        Context context = Context.open(arena, LabDevices.first(), () -> recording);
        ObjectTree.full(arena, context);
        MemorySegment memory = arena.allocate(8);
        List<String> withoutMemory = new ArrayList<>();
        for (String verb : List.of(
                "modify_qp", "destroy_qp", "destroy_ah", "destroy_srq", "dereg_mr", "destroy_cq", "close_device")) {
            recording.at(verb, () -> {
                if (!memory.scope().isAlive()) {
                    withoutMemory.add(verb);
                }
            });
        }
        int setUp = recording.calls().size();
        arena.close();

        assertEquals(List.of(), withoutMemory, "verbs that were called when memory was freed already");
        assertFalse(memory.scope().isAlive());
        List<String> ending = recording.verbs().subList(setUp, recording.verbs().size());
        assertEquals(
                List.of(
                        "dealloc_mw",
                        "destroy_qp",
                        "destroy_ah",
                        "dereg_mr",
                        "destroy_cq",
                        "destroy_comp_channel",
                        "dealloc_pd",
                        "close_device"),
                withoutRepetition(ending.stream()
                        .filter(verb -> verb.startsWith("de") || verb.startsWith("close"))
                        // These may come before, between and after address handles, which have nothing to do with them.
                        .filter(verb -> !verb.equals("destroy_srq"))
                        .toList()));
        assertTrue(ending.lastIndexOf("destroy_qp") < ending.indexOf("destroy_srq"), ending::toString);
        assertTrue(ending.lastIndexOf("destroy_srq") < ending.indexOf("dereg_mr"), ending::toString);
        int firstDestroyed = ending.indexOf("destroy_qp");
        assertTrue(ending.indexOf("modify_qp") < ending.indexOf("poll_cq"), ending::toString);
        assertTrue(ending.lastIndexOf("poll_cq") < firstDestroyed, ending::toString);
    }

    private static List<String> withoutRepetition(List<String> verbs) {
        List<String> shortened = new ArrayList<>();
        for (String verb : verbs) {
            if (shortened.isEmpty() || !shortened.get(shortened.size() - 1).equals(verb)) {
                shortened.add(verb);
            }
        }
        return shortened;
    }

    /** Closes side a, which has work outstanding, and checks that all that was ever posted there was polled. */
    private static void assertDrains(ConnectedPair.Setup setup, Consumer<ConnectedPair> work) {
        assertDrains(setup, RecordingProvider.of(LabDevices.first()), work);
    }

    private static void assertDrains(
            ConnectedPair.Setup setup, RecordingProvider recording, Consumer<ConnectedPair> work) {
        VerbsArena arena = VerbsArena.ofConfined();
        try (ConnectedPair pair = setup.in(arena, VerbsArena.ofConfined())
                .through(own -> Context.open(own, LabDevices.first(), () -> recording))
                .open()) {
            work.accept(pair);
            int outstanding = recording.posted() - recording.completed();
            assertTrue(outstanding > 0, "the test was meant to leave work outstanding");
            assertCloses(DRAIN_SECONDS, arena::close);
            assertEquals(recording.posted(), recording.completed(), "completions of all that was posted");
            assertTrue(recording.flushed() > 0);
        }
    }

    @Test
    void shouldDrainReceivesThatNobodyFilled() {
        assertDrains(ConnectedPair.of(QueuePairType.RC), pair -> {
            for (int i = 0; i < 10; i++) {
                pair.a.postReceive(i, 0, 8);
            }
        });
    }

    @Test
    void shouldDrainWhereADriverForgetsReceivesWithoutSegments() {
        AtomicInteger forgotten = new AtomicInteger();
        RecordingProvider forgetful = new RecordingProvider(Insides.provider(LabDevices.first())) {
            @Override
            public boolean completesEmptyReceives() {
                return false;
            }

            @Override
            public int postReceive(long queuePair, long workRequest, long bad) {
                if (ibv_recv_wr.num_sge(Native.struct(workRequest, ibv_recv_wr.layout())) == 0) {
                    forgotten.incrementAndGet();
                    return 0;
                }
                return super.postReceive(queuePair, workRequest, bad);
            }
        };
        assertDrains(ConnectedPair.of(QueuePairType.RC), forgetful, pair -> pair.a.postReceive(1, 0, 8));
        assertEquals(0, forgotten.get());
    }

    @Test
    void shouldDrainAFullReceiveQueue() {
        assertDrains(ConnectedPair.of(QueuePairType.RC), pair -> {
            ReceiveWorkRequest receive = pair.a.receiveRequest(1, 0, 8);
            while (pair.a.queuePair.tryPostReceive(receive) == QueuePair.POSTED) {}
        });
    }

    @Test
    void shouldDrainSendsThatThePeerIsNotReadyFor() {
        // RNR retry 7 is without end: only the close ends these.
        assertDrains(
                ConnectedPair.of(QueuePairType.RC)
                        .connectA(LabDevices.connectOptions().rnrRetry(7)),
                pair -> {
                    for (int i = 0; i < 10; i++) {
                        pair.a.post(pair.a.request(i, 0, 100).send());
                    }
                });
    }

    @Test
    void shouldDrainAFullSendQueue() {
        assertDrains(
                ConnectedPair.of(QueuePairType.RC)
                        .connectA(LabDevices.connectOptions().rnrRetry(7)),
                pair -> {
                    SendWorkRequest send = pair.a.request(1, 0, 8).send();
                    while (pair.a.queuePair.tryPostSend(send) == QueuePair.POSTED) {}
                });
    }

    @Test
    void shouldDrainUnsignaledSends() {
        assertDrains(
                ConnectedPair.of(QueuePairType.RC)
                        .connectA(LabDevices.connectOptions().rnrRetry(7)),
                pair -> {
                    for (int i = 0; i < 10; i++) {
                        pair.a.post(pair.a.request(i, 0, 100).send().signaled(false));
                    }
                });
    }

    @Test
    void shouldDrainReadsFromADeadPeer() {
        // Retry count 7 is without end on Soft-RoCE, so that the reads are outstanding for sure.
        assertDrains(
                ConnectedPair.of(QueuePairType.RC)
                        .connectA(LabDevices.connectOptions().timeout(18).retryCount(7)),
                pair -> {
                    pair.b.context.close();
                    for (int i = 0; i < 10; i++) {
                        pair.a.post(pair.readFromB(i, 0, 100));
                    }
                });
    }

    @Test
    void shouldDrainUnreliableAndDatagramReceives() {
        for (QueuePairType type : List.of(QueuePairType.UC, QueuePairType.UD)) {
            assertDrains(ConnectedPair.of(type), pair -> {
                for (int i = 0; i < 5; i++) {
                    pair.a.postReceive(i, 0, 100);
                }
            });
        }
    }

    @Test
    void shouldCloseAQueuePairWithWorkOutstanding() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.a.postReceive(1, 0, 8);
            pair.a.post(pair.a.request(2, 0, 100).send());
            assertCloses(DRAIN_SECONDS, pair.a.queuePair::close);
            assertTrue(pair.a.queue.isOpen());
        }
    }

    @Test
    void shouldCloseWithACompletionQueueThatIsFull() {
        // Two entries for twenty flushed receives: the queue overruns, and what is lost never comes.
        VerbsArena arena = VerbsArena.ofConfined();
        ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(arena)
                .queues(16, 32)
                .queueEntries(2)
                .open();
        for (int i = 0; i < 20; i++) {
            pair.a.postReceive(i, 0, 8);
        }
        assertCloses(LOST_SECONDS, arena::close);
    }

    @Test
    void shouldNotWaitForADeviceThatDoesNotObey() {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        VerbsArena arena = VerbsArena.ofConfined();
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(arena, VerbsArena.ofConfined())
                .through(own -> Context.open(own, LabDevices.first(), () -> recording))
                .open()) {
            pair.a.postReceive(1, 0, 8);
            recording.failOnce("modify_qp", Errno.EIO);
            assertCloses(DRAIN_SECONDS, arena::close);
            assertFalse(arena.scope().isAlive());
        }
    }

    @Test
    void shouldKeepMemoryThatCouldNotBeDeregistered() {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        recording.failOnce("dereg_mr", Errno.EBUSY);
        VerbsArena arena = VerbsArena.ofConfined();
        Context context = Context.open(arena, LabDevices.first(), () -> recording);
        MemorySegment memory = arena.allocate(4096);
        memory.set(JAVA_BYTE, 17, (byte) 42);
        context.allocateProtectionDomain().register(memory);

        VerbsException exception = assertThrows(VerbsException.class, arena::close);
        assertEquals("ibv_dereg_mr", exception.verb());
        assertEquals("EBUSY", exception.errnoName());
        assertTrue(exception.getMessage().contains("memory region of 4096 bytes"), exception::getMessage);
        assertTrue(memory.scope().isAlive(), "the device may still write there");
        assertEquals(42, memory.get(JAVA_BYTE, 17));
        assertDoesNotThrow(arena::close, "closed is closed");
    }

    @Test
    void shouldLogMemoryThatLeaks() throws Exception {
        Commands.Result result = Commands.java(List.of(), LabChild.class, "failing-deregistration");
        assertEquals(0, result.status(), result::output);
        assertTrue(result.output().contains("could not be deregistered"), result::output);
    }

    /** What the driver refuses to end keeps what it uses, and is tried again. */
    @TestFactory
    Stream<DynamicTest> shouldTryAgainToEndWhatWasRefused() {
        List<String> kinds;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            kinds = List.copyOf(firstOfEachKind(fullTree(arena)).keySet());
        }
        return kinds.stream()
                .filter(kind -> !kind.equals("Context"))
                .map(kind -> DynamicTest.dynamicTest(kind, () -> assertTriesAgain(kind)));
    }

    private static void assertTriesAgain(String kind) {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        VerbsArena arena = VerbsArena.ofConfined();
        Context context = Context.open(arena, LabDevices.first(), () -> recording);
        VerbsObject object = firstOfEachKind(ObjectTree.full(arena, context)).get(kind);
        String verb = object.destroyVerb().substring("ibv_".length());

        RecordingProvider.Call ending = new RecordingProvider.Call(verb, object.address);

        recording.failOnce(ending, Errno.EBUSY);
        VerbsException failure = assertThrows(VerbsException.class, object::close);
        assertEquals(object.destroyVerb(), failure.verb());
        assertEquals("EBUSY", failure.errnoName());
        assertEquals(
                new RecordingProvider.Call(verb, object.address),
                recording.calls().getLast());
        assertFalse(object.isOpen());
        assertThrows(IllegalStateException.class, object::nativeAddress);

        // Refused once more: what it uses is not even tried.
        for (VerbsObject parent : object.parents()) {
            if (parent != context) {
                recording.failOnce(ending, Errno.EBUSY);
                VerbsException busy = assertThrows(VerbsException.class, parent::close);
                assertEquals(object.destroyVerb(), busy.verb());
                VerbsException using = (VerbsException) busy.getSuppressed()[busy.getSuppressed().length - 1];
                assertEquals(parent.destroyVerb(), using.verb());
                assertTrue(using.getMessage().contains(" uses it and could not be destroyed"), using::getMessage);
                assertFalse(recording.calls().stream()
                        .anyMatch(call -> call.object() == parent.address
                                && parent.destroyVerb().equals("ibv_" + call.verb())));
            }
        }
        object.close();
        assertEquals(
                new RecordingProvider.Call(verb, object.address),
                recording.calls().getLast());
        object.close();
        arena.close();
        assertFalse(arena.scope().isAlive());
        assertEquals(0, recording.lives().alive().size());
    }

    /** A device in software may have a fault of its own. */
    @Test
    void shouldCloseTheRestWhenADeviceThrows() {
        IllegalStateException fault = new IllegalStateException("a fault");
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), () -> recording);
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionQueue queue = context.createCompletionQueue(10);
            domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue, queue));
            domain.register(arena.allocate(64));
            boolean[] thrown = new boolean[1];
            recording.at("destroy_qp", () -> {
                if (!thrown[0]) {
                    thrown[0] = true;
                    throw fault;
                }
            });
            VerbsException failure = assertThrows(VerbsException.class, domain::close);
            assertEquals("ibv_destroy_qp", failure.verb());
            assertSame(fault, failure.getCause());
            assertTrue(recording.verbs().contains("dereg_mr"), "the rest was ended");
            assertFalse(recording.verbs().contains("dealloc_pd"), "a queue pair uses it");
        }
    }

    @Test
    void shouldAskADriverOnceThatUnmapsFirst() {
        RecordingProvider recording =
                new RecordingProvider(LabDevices.first()
                        .providerDevice()
                        .provider()
                        .open(LabDevices.first().providerDevice())) {
                    @Override
                    public String driver() {
                        return "siw";
                    }
                };
        VerbsArena arena = VerbsArena.ofConfined();
        Context context = Context.open(arena, LabDevices.first(), () -> recording);
        MemoryRegion region = context.allocateProtectionDomain().register(arena.allocate(64));
        recording.failOnce("dereg_mr", Errno.EIO);
        assertThrows(VerbsException.class, region::close);
        VerbsException again = assertThrows(VerbsException.class, region::close);
        assertEquals("EIO", again.errnoName());
        assertTrue(again.getMessage().contains("earlier close"), again::getMessage);
        assertThrows(VerbsException.class, arena::close);
        assertEquals(1, recording.verbs().stream().filter("dereg_mr"::equals).count());
        assertFalse(recording.verbs().contains("dealloc_pd"));
        assertEquals("close_device", recording.verbs().getLast());
        assertTrue(arena.scope().isAlive(), "the device may still write there");
        region.close();
        assertEquals("close_device", recording.verbs().getLast(), "its device is closed");
    }

    @Test
    void shouldGoOnClosingAfterAFailure() {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        VerbsArena arena = VerbsArena.ofConfined();
        Context context = Context.open(arena, LabDevices.first(), () -> recording);
        ObjectTree.full(arena, context);
        recording.failOnce("destroy_comp_channel", Errno.EINVAL);

        VerbsException exception = assertThrows(VerbsException.class, arena::close);
        assertEquals("ibv_destroy_comp_channel", exception.verb());
        assertEquals("close_device", recording.verbs().getLast());
    }

    @Test
    void shouldEndWhatWillHaveNoObject() {
        RecordingProvider recording = RecordingProvider.of(LabDevices.first());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first(), () -> recording);
            CompletionQueue queue = context.createCompletionQueue(1);
            OutOfMemoryError full = new OutOfMemoryError("no room for another object");
            recording.failOnce("dealloc_pd", Errno.EBUSY);
            for (int refusals = 1; refusals >= 0; refusals--) {
                OutOfMemoryError thrown = assertThrows(
                        OutOfMemoryError.class,
                        () -> context.create(
                                new Creation("ibv_alloc_pd", ProtectionDomain.ENDING),
                                recording::allocateProtectionDomain,
                                address -> {
                                    // As far as a constructor may come that fails in the end.
                                    assertNotNull(new ProtectionDomain(queue.context(), address));
                                    throw full;
                                }));
                assertEquals(full, thrown);
                assertEquals("dealloc_pd", recording.verbs().getLast());
            }
            assertEquals("ibv_dealloc_pd", ((VerbsException) full.getSuppressed()[0]).verb());
            assertEquals(1, full.getSuppressed().length);
        }
        // The objects of which only a part was made are not there to be closed.
        assertEquals(List.of("dealloc_pd", "dealloc_pd", "destroy_cq", "close_device"), recording.verbs());
    }

    @Test
    void shouldFreeMemoryOnlyAfterPeersCannotWriteToItAnyMore() throws Exception {
        VerbsArena target = VerbsArena.ofConfined();
        VerbsArena writers = VerbsArena.ofShared();
        ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).in(writers, target).open();
        MemorySegment memory = pair.b.memory;
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Future<CompletionStatus> outcome = thread.submit(floodUntilItFails(pair));
            // The flood is under way when bytes arrive.
            Bound.usual().spin("nothing arrives", () -> memory.get(JAVA_BYTE, 0) != 0);
            assertCloses(DRAIN_SECONDS, target::close);
            assertFalse(memory.scope().isAlive());
            CompletionStatus status = outcome.get(30, TimeUnit.SECONDS);
            assertTrue(
                    List.of(
                                    CompletionStatus.RETRY_EXC_ERR,
                                    CompletionStatus.REM_ACCESS_ERR,
                                    CompletionStatus.REM_OP_ERR,
                                    CompletionStatus.REM_INV_REQ_ERR)
                            .contains(status),
                    () -> "the writer's first failure is " + status);
        }
        writers.close();
    }

    private static Callable<CompletionStatus> floodUntilItFails(ConnectedPair pair) {
        return () -> {
            pair.a.memory.fill((byte) 1);
            SendWorkRequest write = pair.writeToB(1, 0, 4096);
            Bound bound = Bound.ofSeconds(30);
            while (true) {
                pair.a.queuePair.tryPostSend(write);
                for (Completion completion : pair.a.poll()) {
                    if (completion.status() != CompletionStatus.SUCCESS) {
                        return completion.status();
                    }
                }
                bound.check("the peer is gone, and no write failed");
            }
        };
    }

    @Test
    void shouldLookUpTheSourceOfAnEventWhileAnotherThreadCloses() throws Exception {
        // Destroying a queue pair waits, with the arena's lock, until its events are acknowledged.
        VerbsArena arena = VerbsArena.ofShared();
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).in(arena).open();
                ExecutorService thread = Executors.newSingleThreadExecutor()) {
            EventForger forger = new EventForger(LabDevices.first());
            Context context = Context.open(arena, LabDevices.first(), () -> forger);
            CompletionQueue queue = context.createCompletionQueue(1);
            forger.about(queue.nativeAddress());
            arena.lock().lock();
            try {
                Future<AsyncEvent> event = thread.submit(
                        () -> context.awaitAsyncEvent(Duration.ofSeconds(1)).orElseThrow());
                assertEquals(queue, event.get(10, TimeUnit.SECONDS).source());
            } finally {
                arena.lock().unlock();
            }
            assertTrue(pair.a.queuePair.isOpen());
        }
    }

    /** Tells of an overrun of a completion queue that never happened. */
    private static final class EventForger extends RecordingProvider {
        private long queue;

        EventForger(Device device) {
            super(device.providerDevice().provider().open(device.providerDevice()));
        }

        void about(long address) {
            queue = address;
        }

        @Override
        @SuppressWarnings("restricted")
        public int getAsyncEvent(long event) {
            MemorySegment struct = MemorySegment.ofAddress(event).reinterpret(ibv_async_event.sizeof());
            ibv_async_event.event_type(struct, AsyncEventType.CQ_ERR.code());
            ibv_async_event.element.cq(ibv_async_event.element(struct), MemorySegment.ofAddress(queue));
            return 1;
        }

        @Override
        public void ackAsyncEvent(long event) {}
    }
}
