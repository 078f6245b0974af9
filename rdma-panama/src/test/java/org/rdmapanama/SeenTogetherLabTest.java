package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LabDevices;

/** What belongs together in an object of a shared arena is seen together, whichever thread changes it meanwhile. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SeenTogetherLabTest {
    private static final long SECONDS = 30;

    /** Runs this in another thread, until it is over or waits for a lock that the calling thread has. */
    private static FutureTask<Void> meanwhile(Runnable runnable) {
        FutureTask<Void> task = new FutureTask<>(runnable, null);
        Thread thread = Thread.ofPlatform().start(task);
        Bound.ofSeconds(SECONDS)
                .spin(
                        "the other thread neither ends nor waits",
                        () -> thread.getState() == Thread.State.TERMINATED
                                || thread.getState() == Thread.State.WAITING);
        return task;
    }

    /** Between the driver's call and the look at what it made of it nothing of a test can run, so this looks at the calls. */
    @Test
    void shouldTellTheSizeToWhichACompletionQueueWasResizedLast() throws Exception {
        List<String> calls = Collections.synchronizedList(new ArrayList<>());
        AtomicReference<Runnable> inside = new AtomicReference<>();
        RecordingProvider provider = new RecordingProvider(RecordingProvider.of(LabDevices.first())) {
            @Override
            public int resizeCompletionQueue(long completionQueue, int entries) {
                calls.add("to " + entries);
                Runnable task = inside.getAndSet(null);
                if (task != null) {
                    task.run();
                }
                int result = super.resizeCompletionQueue(completionQueue, entries);
                calls.add("is " + entries);
                return result;
            }
        };
        try (VerbsArena arena = VerbsArena.ofShared()) {
            CompletionQueue queue =
                    Context.open(arena, LabDevices.first(), () -> provider).createCompletionQueue(16);
            AtomicReference<FutureTask<Void>> other = new AtomicReference<>();
            inside.set(() -> other.set(meanwhile(() -> queue.resize(200))));
            queue.resize(20);
            other.get().get(SECONDS, TimeUnit.SECONDS);
            assertEquals(List.of("to 20", "is 20", "to 200", "is 200"), calls);
            assertEquals(ibv_cq.cqe(Native.struct(queue.nativeAddress(), ibv_cq.layout())), queue.entries());
        }
    }

    @Test
    void shouldTellTheSizeToWhichASharedReceiveQueueWasResizedLast() throws Exception {
        AtomicReference<Runnable> afterQuery = new AtomicReference<>();
        RecordingProvider provider = new RecordingProvider(RecordingProvider.of(LabDevices.first())) {
            @Override
            public int querySharedReceiveQueue(long sharedReceiveQueue, long attributes) {
                int result = super.querySharedReceiveQueue(sharedReceiveQueue, attributes);
                Runnable task = afterQuery.getAndSet(null);
                if (task != null) {
                    task.run();
                }
                return result;
            }
        };
        try (VerbsArena arena = VerbsArena.ofShared()) {
            SharedReceiveQueue queue = Context.open(arena, LabDevices.first(), () -> provider)
                    .allocateProtectionDomain()
                    .createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(16));
            AtomicReference<FutureTask<Void>> other = new AtomicReference<>();
            afterQuery.set(() -> other.set(meanwhile(() -> queue.resize(500))));
            queue.resize(100);
            other.get().get(SECONDS, TimeUnit.SECONDS);
            assertTrue(queue.maxWorkRequests() >= 500, queue::toString);
            assertEquals(queue.query().maxWorkRequests(), queue.maxWorkRequests());
        }
    }

    @Test
    void shouldTellEachThreadWhereItsChainOfReceivesStopped() throws Exception {
        AtomicReference<Runnable> afterPost = new AtomicReference<>();
        RecordingProvider provider = new RecordingProvider(RecordingProvider.of(LabDevices.first())) {
            @Override
            public int postSharedReceive(long sharedReceiveQueue, long workRequest, long bad) {
                int result = super.postSharedReceive(sharedReceiveQueue, workRequest, bad);
                Runnable task = afterPost.getAndSet(null);
                if (task != null) {
                    task.run();
                }
                return result;
            }
        };
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ProtectionDomain domain =
                    Context.open(arena, LabDevices.first(), () -> provider).allocateProtectionDomain();
            MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            SharedReceiveQueue queue =
                    domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(4));
            int room = queue.maxWorkRequests();
            ReceiveWorkRequest[] mine = chain(arena, region, 2 * room + 16);
            ReceiveWorkRequest[] others = chain(arena, region, 2 * room + 16);
            AtomicReference<FutureTask<Void>> other = new AtomicReference<>();
            afterPost.set(() ->
                    other.set(meanwhile(() -> assertEquals(QueuePair.QUEUE_FULL, queue.tryPostReceive(others[0])))));
            assertEquals(QueuePair.QUEUE_FULL, queue.tryPostReceive(mine[0]));
            other.get().get(SECONDS, TimeUnit.SECONDS);
            ReceiveWorkRequest stopped = queue.firstNotReceiving(mine[0]);
            // Some devices have room for more than they say.
            assertTrue(Arrays.asList(mine).indexOf(stopped) >= room, () -> "stopped at " + stopped);
            assertSame(others[0], queue.firstNotReceiving(others[0]));
        }
    }

    private static ReceiveWorkRequest[] chain(VerbsArena arena, MemoryRegion region, int length) {
        ReceiveWorkRequest[] chain = new ReceiveWorkRequest[length];
        for (int i = length - 1; i >= 0; i--) {
            chain[i] = ReceiveWorkRequest.allocate(arena, 1).id(i).add(region, 0, 8);
            if (i < length - 1) {
                chain[i].next(chain[i + 1]);
            }
        }
        return chain;
    }

    @Test
    void shouldTellThatAWholeChainOfReceivesWasPosted() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ProtectionDomain domain = Context.open(arena, LabDevices.first()).allocateProtectionDomain();
            MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            SharedReceiveQueue queue =
                    domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(4));
            ReceiveWorkRequest[] chain = chain(arena, region, 2);
            queue.postReceive(chain[0]);
            assertNull(queue.firstNotReceiving(chain[0]));
        }
    }

    /** Gives a region the memory's page as its key. */
    private static RecordingProvider changing() {
        return new RecordingProvider(RecordingProvider.of(LabDevices.first())) {
            private int ownKey;

            @Override
            public long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
                long made = super.registerMemory(protectionDomain, address, length, iova, access);
                ownKey = ibv_mr.lkey(Native.struct(made, ibv_mr.layout()));
                return made;
            }

            @Override
            public int deregisterMemory(long memoryRegion) {
                ibv_mr.lkey(Native.struct(memoryRegion, ibv_mr.layout()), ownKey);
                return super.deregisterMemory(memoryRegion);
            }

            @Override
            @SuppressWarnings("restricted")
            public int reregisterMemory(
                    long memoryRegion,
                    int flags,
                    long protectionDomain,
                    long address,
                    long length,
                    int access,
                    long codeAt) {
                MemorySegment.ofAddress(codeAt).reinterpret(4).set(JAVA_INT, 0, 0);
                ibv_mr.lkey(Native.struct(memoryRegion, ibv_mr.layout()), keyOf(address));
                return 0;
            }
        };
    }

    private static int keyOf(long address) {
        return (int) (address >>> 12);
    }

    private static void assertOneRegistration(Supplier<MemorySegment> partOfWholeRegion, MemoryRegion region)
            throws Exception {
        VerbsArena arena = region.arena;
        MemorySegment small = arena.allocate(4096, 4096);
        MemorySegment large = arena.allocate(8192, 4096);
        region.reregister(new Reregistration().memory(small));
        AtomicBoolean over = new AtomicBoolean();
        Thread changer = Thread.ofPlatform().start(() -> {
            while (!over.get()) {
                region.reregister(new Reregistration().memory(large));
                region.reregister(new Reregistration().memory(small));
            }
        });
        try {
            for (int i = 0; i < 300_000; i++) {
                MemorySegment segment;
                try {
                    segment = partOfWholeRegion.get();
                } catch (IndexOutOfBoundsException changedMeanwhile) {
                    continue;
                }
                long address = segment.get(JAVA_LONG, ibv_sge.addr$offset());
                assertEquals(keyOf(address), segment.get(JAVA_INT, ibv_sge.lkey$offset()), "the key of this memory");
            }
        } finally {
            over.set(true);
            changer.join();
        }
    }

    private static void assertOneRegistration(BiConsumer<ReceiveWorkRequest, MemoryRegion> adding) throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            MemoryRegion region = regionIn(arena);
            ReceiveWorkRequest request = ReceiveWorkRequest.allocate(arena, 1);
            MemorySegment segment = segmentOf(request);
            assertOneRegistration(
                    () -> {
                        adding.accept(request, region);
                        return segment;
                    },
                    region);
        }
    }

    @Test
    void shouldBuildSegmentsOfOneRegistration() throws Exception {
        assertOneRegistration((request, region) -> request.clear().add(region, 0, 4096));
    }

    @Test
    void shouldBuildSegmentsOfSlicesOfOneRegistration() throws Exception {
        assertOneRegistration((request, region) -> request.clear().add(region, region.memory()));
    }

    private static MemoryRegion regionIn(VerbsArena arena) {
        RecordingProvider provider = changing();
        return Context.open(arena, LabDevices.first(), () -> provider)
                .allocateProtectionDomain()
                .register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE);
    }

    @SuppressWarnings("restricted")
    private static MemorySegment segmentOf(ReceiveWorkRequest request) {
        return MemorySegment.ofAddress(request.addressOfFirstNotPosted() - ibv_sge.sizeof())
                .reinterpret(ibv_sge.sizeof());
    }

    @Test
    void shouldGiveAWindowTheKeyOfTheBindingThatWasPosted() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            CompletionQueue queue = context.createCompletionQueue(32);
            QueuePairOptions options = new QueuePairOptions(QueuePairType.RC, queue)
                    .sendOperations(SendOperation.BIND_MW, SendOperation.RDMA_WRITE);
            ExtendedQueuePair one = domain.createExtendedQueuePair(options);
            ExtendedQueuePair other = domain.createExtendedQueuePair(options);
            one.connect(one.localEndpoint(LabDevices.connectOptions()));
            other.connect(other.localEndpoint(LabDevices.connectOptions()));
            MemoryRegion region = domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            MemoryWindow window = domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding part = new MemoryWindowBinding(region, 0, 8, AccessFlag.REMOTE_READ);
            int wanted = window.nextRkey();
            try (WorkRequestBuilder batch = one.startWorkRequests()) {
                batch.bindMemoryWindow(window, wanted, part);
                // The driver gets each when the next one begins.
                batch.rdmaWrite(region.address(), region.rkey()).add(region, 0, 8);
                FutureTask<Void> aborted = meanwhile(() -> {
                    try (WorkRequestBuilder never = other.startWorkRequests()) {
                        never.bindMemoryWindow(window, MemoryWindow.nextRkey(wanted), part);
                        never.rdmaWrite(region.address(), region.rkey()).add(region, 0, 8);
                    }
                });
                aborted.get(SECONDS, TimeUnit.SECONDS);
                batch.complete();
            }
            assertEquals(wanted, window.rkey());
        }
    }
}
