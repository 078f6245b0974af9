package org.rdmapanama.efa;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LabDevices;

/** SRD queue pairs whose rings Java writes and reads: what they need, refuse, and leave behind. */
@Tag("card")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EfaDirectCardTest {
    private static final int ENTRIES = 64;
    private static final int ROUND = Integer.getInteger("hot.round", 2_000);
    private static final int MAX_WARM_UP_ROUNDS = 40_000 / ROUND;
    private static final int MESSAGES = 20_000;

    /** The default of {@link org.rdmapanama.ConnectOptions}. */
    private static final int KEY = 0x1111_1111;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final VerbsArena arena = VerbsArena.ofShared();
    private Context context;
    private EfaDevice efa;
    private ProtectionDomain domain;
    private MemoryRegion region;

    @BeforeEach
    void open() {
        context = Context.open(arena, LabDevices.first());
        efa = EfaDevice.of(context);
        domain = context.allocateProtectionDomain();
        region = domain.register(
                arena.allocate(4096, 64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private static boolean tellsRings() {
        return NativeLibrary.EFA.find("efadv_query_cq").isPresent();
    }

    private ExtendedCompletionQueue direct() {
        assumeTrue(tellsRings(), "the installed libefa lacks efadv_query_cq; run lab/newer-rdma-core");
        ExtendedCompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(ENTRIES)
                .fields(CompletionField.BYTE_LEN, CompletionField.IMM, CompletionField.QP_NUM)
                .direct(true));
        assertTrue(queue.isDirect());
        return queue;
    }

    private QueuePairOptions options(CompletionQueue queue) {
        return new QueuePairOptions(QueuePairType.DRIVER, queue)
                .maxSendWorkRequests(16)
                .maxReceiveWorkRequests(16)
                .maxSegments(2, 2)
                .maxInlineData(32)
                .signalAll(true);
    }

    private QueuePair active(CompletionQueue queue) {
        QueuePair pair = efa.createQueuePair(domain, options(queue));
        pair.activate();
        return pair;
    }

    private AddressHandle handleFor(QueuePair peer) {
        return domain.createAddressHandle(peer.pathTo(peer.localEndpoint()));
    }

    private SendWorkRequest send(QueuePair to) {
        return SendWorkRequest.allocate(arena, 1).send().add(region, 0, 8).to(handleFor(to), to.number(), KEY);
    }

    @Test
    void shouldSayWhichLibraryItNeeds() {
        assumeTrue(!tellsRings(), "the installed libefa tells where the rings are");
        UnsupportedOperationException refused = assertThrows(
                UnsupportedOperationException.class,
                () -> context.createCompletionQueue(new CompletionQueueOptions(ENTRIES).direct(true)));
        assertTrue(refused.getMessage().contains("needs libefa of rdma-core 60 or newer"), refused::getMessage);
        assertTrue(refused.getMessage().contains("lacks efadv_query_qp_wqs"), refused::getMessage);
        assertFalse(context.createCompletionQueue(ENTRIES).isDirect());
    }

    @Test
    void shouldRefuseWhatItDoesNotCover() {
        CompletionQueue direct = direct();
        CompletionQueue plain = context.createCompletionQueue(new CompletionQueueOptions(ENTRIES).direct(false));
        assertThrows(
                IllegalArgumentException.class,
                () -> domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, direct)));
        if (!plain.isDirect()) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> efa.createQueuePair(
                            domain, new QueuePairOptions(QueuePairType.DRIVER, direct, plain).signalAll(true)));
        }
        assertThrows(UnsupportedVerbException.class, () -> direct.resize(2 * ENTRIES));
        assertThrows(
                UnsupportedVerbException.class,
                () -> domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().direct(true)));
        // There is no channel, so nobody could wait for it.
        assertThrows(VerbsException.class, () -> direct.requestNotification(false));
        // The driver would refuse these, too.
        QueuePair pair = active(direct);
        assertEquals(
                QueuePair.POSTED,
                pair.tryPostReceive(ReceiveWorkRequest.allocate(arena, 1).add(region, 0, 8)));
        pair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        assertThrows(RuntimeException.class, () -> pair.postSend(send(pair)));
    }

    @Test
    void shouldWriteMemoryOfAPeer() {
        ExtendedCompletionQueue queue = direct();
        ExtendedQueuePair writer = efa.createExtendedQueuePair(
                domain, options(queue).sendOperations(SendOperation.RDMA_WRITE, SendOperation.RDMA_WRITE_WITH_IMM));
        writer.activate();
        QueuePair owner = active(queue);
        AddressHandle peer = handleFor(owner);
        owner.postReceive(ReceiveWorkRequest.allocate(arena, 1).id(9).add(region, 0, 8));
        region.memory().setString(0, "written by a peer");
        try (WorkRequestBuilder batch = writer.startWorkRequests()) {
            batch.id(1)
                    .signaled(true)
                    .rdmaWrite(region.address() + 1000, region.rkey())
                    .add(region, 0, 18)
                    .to(peer, owner.number(), KEY);
            batch.id(2)
                    .signaled(true)
                    .rdmaWriteWithImmediate(region.address() + 2000, region.rkey(), 7)
                    .add(region, 0, 18)
                    .to(peer, owner.number(), KEY);
            batch.complete();
        }
        Set<String> seen = new TreeSet<>();
        Bound.usual().spin("completions are missing", () -> {
            try (PollCursor cursor = queue.poll()) {
                while (cursor.next()) {
                    seen.add(cursor.id() + " " + cursor.status() + " " + cursor.opcode() + " " + cursor.byteLength());
                }
            }
            return seen.size() == 3;
        });
        assertEquals(
                Set.of("1 SUCCESS RDMA_WRITE 0", "2 SUCCESS RDMA_WRITE 0", "9 SUCCESS RECV_RDMA_WITH_IMM 18"), seen);
        assertEquals("written by a peer", region.memory().getString(1000));
        assertEquals("written by a peer", region.memory().getString(2000));
    }

    @Test
    void shouldRemoveTheCompletionsOfAQueuePairThatIsClosedOrReset() {
        CompletionQueue queue = direct();
        QueuePair[] pairs = {active(queue), active(queue), active(queue)};
        for (int i = 0; i < 4; i++) {
            for (QueuePair each : pairs) {
                // Nobody receives: each fails.
                each.postSend(send(each).id(each.number()));
            }
        }
        WorkCompletions completions = new WorkCompletions(arena, 1);
        Bound.usual().spin("nothing was sent", () -> queue.poll(completions) > 0);
        int first = (int) completions.id(0);
        pairs[1].modify(new QueuePairAttributes().state(QueuePairState.ERR));
        pairs[1].close();
        pairs[0].modify(new QueuePairAttributes().state(QueuePairState.RESET));

        Set<Long> seen = new TreeSet<>();
        int[] count = {0};
        int expected = first == pairs[2].number() ? 3 : 4;
        Bound.usual().spin("completions are missing", () -> {
            if (queue.poll(completions) > 0) {
                seen.add(completions.id(0));
                count[0]++;
            }
            return count[0] == expected;
        });
        assertEquals(Set.of((long) pairs[2].number()), seen);
        assertEquals(0, queue.poll(completions));
        // The other one works again, with all of its room.
        pairs[0].activate();
        for (int i = 0; i < pairs[0].capabilities().maxSendWorkRequests(); i++) {
            pairs[0].postSend(send(pairs[0]).id(i));
        }
        assertEquals(QueuePair.QUEUE_FULL, pairs[0].tryPostSend(send(pairs[0])));
    }

    /** One thread posts, another one polls. */
    @Test
    void shouldTakeEachMessageOnce() throws Exception {
        CompletionQueue queue = direct();
        QueuePair pair = active(queue);
        SendWorkRequest send = send(pair);
        ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 1).add(region, 8, 8);
        CompletableFuture<Void> posting = Async.start(() -> {
            for (int i = 0; i < MESSAGES; i++) {
                receive.id(2L * i);
                Bound.usual().spin("no room", () -> pair.tryPostReceive(receive) == QueuePair.POSTED);
                send.id(2L * i + 1);
                Bound.usual().spin("no room", () -> pair.tryPostSend(send) == QueuePair.POSTED);
            }
            return null;
        });
        WorkCompletions completions = new WorkCompletions(arena, 7);
        boolean[] seen = new boolean[2 * MESSAGES];
        int[] count = {0};
        Bound bound = Bound.ofSeconds(60);
        while (count[0] < seen.length) {
            bound.check("completions are missing");
            int taken = queue.poll(completions);
            for (int i = 0; i < taken; i++) {
                assertEquals(CompletionStatus.SUCCESS, completions.status(i));
                assertFalse(seen[(int) completions.id(i)]);
                seen[(int) completions.id(i)] = true;
                count[0]++;
            }
        }
        Async.get(posting);
        assertEquals(0, queue.poll(completions));
    }

    @Test
    void shouldAllocateNothing() {
        ExtendedCompletionQueue queue = direct();
        ExtendedQueuePair pair =
                efa.createExtendedQueuePair(domain, options(queue).sendOperations(SendOperation.SEND));
        pair.activate();
        Loop loop = new Loop(queue, pair);
        long allocated = Long.MAX_VALUE;
        for (int rounds = 0; allocated >= ROUND && rounds < MAX_WARM_UP_ROUNDS; rounds++) {
            allocated = loop.bytesAllocatedInARound();
        }
        long bytes = allocated;
        assertTrue(bytes < ROUND, () -> ROUND + " sends and receives allocated " + bytes + " bytes");
    }

    /** Sends to itself in both ways, and takes completions in both ways. */
    private final class Loop {
        private final ExtendedCompletionQueue queue;
        private final ExtendedQueuePair pair;
        private final AddressHandle self;
        private final SendWorkRequest send;
        private final ReceiveWorkRequest receive;
        private final WorkCompletions completions;

        Loop(ExtendedCompletionQueue queue, ExtendedQueuePair pair) {
            this.queue = queue;
            this.pair = pair;
            self = handleFor(pair);
            send = send(pair);
            receive = ReceiveWorkRequest.allocate(arena, 1).add(region, 8, 8);
            completions = new WorkCompletions(arena, 4);
        }

        long bytesAllocatedInARound() {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < ROUND; i++) {
                pair.postReceive(receive.id(i));
                if ((i & 1) == 0) {
                    pair.postSend(send.id(i));
                    poll();
                } else {
                    try (WorkRequestBuilder batch = pair.startWorkRequests()) {
                        batch.id(i).signaled(true).send().add(region, 0, 8).to(self, pair.number(), KEY);
                        batch.complete();
                    }
                    read();
                }
            }
            return THREADS.getCurrentThreadAllocatedBytes() - before;
        }

        private void poll() {
            for (int taken = 0; taken < 2; ) {
                taken += queue.poll(completions);
            }
        }

        private void read() {
            for (int taken = 0; taken < 2; ) {
                try (PollCursor cursor = queue.poll()) {
                    while (cursor.next()) {
                        taken += cursor.succeeded() ? 1 : 0;
                    }
                }
            }
        }
    }
}
