package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.counts.ContextCounts;
import org.rdmapanama.counts.QueuePairCounts;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;

/** What queue pairs, contexts and ports count, and that every thread may read it. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class CountsLabTest {
    private static void assertCounts(QueuePair queuePair, long sends, long receives, long failures) {
        assertEquals(new QueuePairCounts(sends, receives, failures), queuePair.counts());
    }

    @Test
    void shouldCountEachRequestOfAChain() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            assertCounts(pair.a.queuePair, 0, 0, 0);
            pair.a.post(pair.writeToB(1, 0, 8));
            SendWorkRequest chain =
                    pair.writeToB(2, 0, 8).next(pair.writeToB(3, 8, 8).next(pair.writeToB(4, 16, 8)));
            pair.a.post(chain);
            pair.a.await(4);
            assertCounts(pair.a.queuePair, 4, 0, 0);
            pair.a.post(chain);
            pair.a.await(3);
            chain.next(pair.writeToB(5, 0, 8));
            pair.a.post(chain);
            pair.a.await(2);
            assertCounts(pair.a.queuePair, 9, 0, 0);
            pair.b.post(pair.b.receiveRequest(1, 0, 8));
            pair.b.post(pair.b.receiveRequest(2, 0, 8).next(pair.b.receiveRequest(3, 8, 8)));
            assertCounts(pair.b.queuePair, 0, 3, 0);
        }
    }

    @Test
    void shouldCountWhatAFullQueueTook() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).queues(4, 4).open()) {
            int most = pair.b.queuePair.capabilities().maxReceiveWorkRequests();
            // Soft-RoCE takes more than it says.
            int length = 4 * most + 4;
            ReceiveWorkRequest chain = pair.b.receiveRequest(0, 0, 8);
            for (int i = 1; i < length; i++) {
                chain = pair.b.receiveRequest(i, 0, 8).next(chain);
            }
            assertEquals(QueuePair.QUEUE_FULL, pair.b.queuePair.tryPostReceive(chain));
            long posted = pair.b.queuePair.counts().postedReceives();
            ReceiveWorkRequest rest = pair.b.queuePair.firstNotReceiving(chain);
            int left = 0;
            for (ReceiveWorkRequest each = rest; each != null; each = each.following()) {
                left++;
            }
            assertEquals(rest == null ? 0 : length - left, posted);
        }
    }

    @Test
    void shouldCountBatchesThatWereCompleted() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .extended(SendOperation.RDMA_WRITE)
                .open()) {
            long to = pair.b.region.address();
            int key = pair.b.region.rkey();
            pair.a
                    .batch()
                    .rdmaWrite(to, key)
                    .add(pair.a.region, 0, 8)
                    .rdmaWrite(to, key)
                    .add(pair.a.region, 8, 8)
                    .complete();
            pair.a.batch().rdmaWrite(to, key).add(pair.a.region, 0, 8).abort();
            pair.a.batch().rdmaWrite(to, key).add(pair.a.region, 0, 8).complete();
            pair.a.await(3);
            assertCounts(pair.a.queuePair, 3, 0, 0);
        }
    }

    @Test
    void shouldCountFailuresAndBeReadByEveryThread() throws Exception {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            QueuePair queuePair = pair.a.queuePair;
            pair.a.post(pair.a
                    .request(1, 0, 8)
                    .rdmaWrite(pair.b.region.address(), pair.b.region.rkey() ^ 0xff00)
                    .next(pair.writeToB(2, 0, 8)));
            pair.a.await(2);
            assertEquals(new QueuePairCounts(2, 0, 2), Async.get(Async.start(queuePair::counts)));
            queuePair.close();
            assertCounts(queuePair, 2, 0, 2);
        }
    }

    @Test
    void shouldCountOpenObjects() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            assertEquals(new ContextCounts(0, 0, 0, 0, 0, 0, 0, 0), context.counts());
            ProtectionDomain domain = context.allocateProtectionDomain();
            MemoryRegion region = domain.register(arena.allocate(5000), AccessFlag.LOCAL_WRITE);
            domain.register(arena.allocate(1000), AccessFlag.LOCAL_WRITE);
            CompletionQueue queue = context.createCompletionQueue(16, context.createCompletionChannel(), 0);
            domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            assertEquals(new ContextCounts(1, 2, 6000, 1, 1, 0, 0, 1), context.counts());
            assertEquals(6, context.counts().objects());
            region.close();
            assertEquals(1000, context.counts().registeredBytes());
            context.close();
            assertEquals(0, context.counts().objects());
        }
    }

    @Test
    void shouldTellTheCountersOfAPort() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            context.portCounters(1).forEach((name, value) -> assertTrue(!name.isBlank() && value != null, name));
            for (int wrong : new int[] {-1, 0, context.queryDevice().physicalPorts() + 1}) {
                assertThrows(IllegalArgumentException.class, () -> context.portCounters(wrong));
            }
        }
    }
}
