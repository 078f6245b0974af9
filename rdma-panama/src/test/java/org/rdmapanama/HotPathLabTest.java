package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.ConnectedPair;

/** Posting and polling make no garbage. */
@Tag("lab")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class HotPathLabTest {
    private static final int ROUND = Integer.getInteger("hot.round", 2_000);

    /** Interpreted code may allocate: it takes some rounds until all of it is compiled. */
    private static final int MAX_WARM_UP_ROUNDS = 40_000 / ROUND;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothing(boolean shared) {
        assertAllocatesNothing(ConnectedPair.of(QueuePairType.RC), shared);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingWhereCompletionsAreReadInPlace(boolean shared) {
        assertAllocatesNothing(
                ConnectedPair.of(QueuePairType.RC)
                        .extended(CompletionField.BYTE_LEN, CompletionField.IMM, CompletionField.QP_NUM),
                shared);
    }

    private static void assertAllocatesNothing(ConnectedPair.Setup setup, boolean shared) {
        VerbsArena arena = shared ? VerbsArena.ofShared() : VerbsArena.ofConfined();
        try (ConnectedPair pair = setup.in(arena).open()) {
            Loop loop = new Loop(pair);
            long allocated = Long.MAX_VALUE;
            int rounds = 0;
            while (allocated >= ROUND && rounds < MAX_WARM_UP_ROUNDS) {
                allocated = loop.bytesAllocatedInARound();
                rounds++;
            }
            long bytes = allocated;
            assertTrue(bytes < ROUND, () -> ROUND + " sends and receives allocated " + bytes + " bytes");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingForSharedReceives(boolean shared) {
        VerbsArena arena = shared ? VerbsArena.ofShared() : VerbsArena.ofConfined();
        try (SharedReceivers pair =
                SharedReceivers.of(QueuePairType.RC).in(arena).open()) {
            SharedReceiveQueue queue = pair.a.domain.createSharedReceiveQueue(new SharedReceiveQueueOptions()
                    .maxWorkRequests(pair.a.context.queryDevice().maxSharedReceiveWorkRequests()));
            ReceiveWorkRequest receive = pair.a.receive(1);
            long allocated = Long.MAX_VALUE;
            for (int round = 0; allocated >= ROUND && round < MAX_WARM_UP_ROUNDS; round++) {
                long before = THREADS.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < ROUND; i++) {
                    // A full queue is as cheap.
                    queue.tryPostReceive(receive);
                }
                allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
            }
            long bytes = allocated;
            assertTrue(bytes < ROUND, () -> ROUND + " receives allocated " + bytes + " bytes");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingInABatch(boolean shared) {
        VerbsArena arena = shared ? VerbsArena.ofShared() : VerbsArena.ofConfined();
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(arena)
                .inline(64)
                .extended(SendOperation.SEND_WITH_IMM, SendOperation.RDMA_WRITE)
                .open()) {
            Loop loop = new Loop(pair);
            long allocated = Long.MAX_VALUE;
            for (int rounds = 0; allocated >= ROUND && rounds < MAX_WARM_UP_ROUNDS; rounds++) {
                allocated = loop.bytesAllocatedInARound();
            }
            long bytes = allocated;
            assertTrue(bytes < ROUND, () -> ROUND + " batches allocated " + bytes + " bytes");
        }
    }

    /** Sends to the other side, waits for both completions, and reads their fields. */
    private static final class Loop {
        private final QueuePair sender;
        private final QueuePair receiver;
        private final CompletionQueue sent;
        private final CompletionQueue received;
        private final SendWorkRequest send;
        private final ReceiveWorkRequest receive;
        private final WorkCompletions completions;
        private final Bound bound = Bound.usual();
        private final ConnectedPair pair;
        private final ExtendedQueuePair extended;
        private final MemorySegment text;
        private long sum;

        Loop(ConnectedPair pair) {
            this.pair = pair;
            extended = pair.a.queuePair instanceof ExtendedQueuePair queuePair ? queuePair : null;
            text = pair.a.memory.asSlice(0, 20);
            sender = pair.a.queuePair;
            receiver = pair.b.queuePair;
            sent = pair.a.queue;
            received = pair.b.queue;
            send = pair.a.request(1, 0, 64).sendWithImmediate(7);
            receive = pair.b.receiveRequest(2, 0, 64);
            completions = new WorkCompletions(pair.a.arena, 4);
        }

        long bytesAllocatedInARound() {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            long sumBefore = sum;
            for (int i = 0; i < ROUND; i++) {
                receiver.postReceive(receive);
                if (extended == null) {
                    sender.postSend(send.id(i));
                } else {
                    postBatch(i);
                }
                await(received);
                await(sent);
            }
            long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
            assertEquals(ROUND * 7L, sum - sumBefore, "the immediate data of all receives");
            return allocated;
        }

        /** Two segments, which must have one length, and two pieces of inline data. */
        private void postBatch(int id) {
            WorkRequestBuilder batch = extended.startWorkRequests();
            batch.rdmaWrite(pair.b.region.address(), pair.b.region.rkey())
                    .add(pair.a.region, 0, 32)
                    .add(pair.a.region, 64, 32);
            batch.id(id).signaled(true).sendWithImmediate(7).inlineData(text).inlineData(text);
            batch.complete();
        }

        private void await(CompletionQueue queue) {
            if (queue instanceof ExtendedCompletionQueue extended) {
                readInPlace(extended);
                return;
            }
            bound.restart();
            while (queue.poll(completions) == 0) {
                bound.check("no completion");
            }
            for (int i = 0; i < completions.count(); i++) {
                if (!completions.succeeded(i)) {
                    throw new AssertionError(completions.describe(i));
                }
                sum += completions.hasImmediate(i) ? completions.immediate(i) : 0;
            }
        }

        private void readInPlace(ExtendedCompletionQueue queue) {
            bound.restart();
            try (PollCursor cursor = queue.poll()) {
                while (!cursor.next()) {
                    bound.check("no completion");
                }
                do {
                    if (cursor.status() != CompletionStatus.SUCCESS || cursor.queuePairNumber() == 0) {
                        throw new AssertionError(cursor.describe());
                    }
                    boolean received = cursor.opcode() == CompletionOpcode.RECV && cursor.byteLength() == 64;
                    sum += received && cursor.hasImmediate() ? cursor.immediate() : 0;
                } while (cursor.next());
            }
        }
    }
}
