package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.LabDevices;

/** Closing while a thread reads a queue in batches, one after the other, and posts in them, as servers do. */
@Tag("lab")
@Timeout(60)
class ClosingUnderLoadLabTest {
    private static final int PAIRS = 2;
    private static final int IN_FLIGHT = 16;
    private static final int BATCH = 16;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Context context = Context.open(arena, LabDevices.first());
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final ExtendedCompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(1024));
    private final ExtendedQueuePair[] senders = new ExtendedQueuePair[PAIRS];
    private final SendWorkRequest[] writes = new SendWorkRequest[PAIRS];
    private final AtomicLong longestPost = new AtomicLong();
    private volatile boolean ending;
    private Thread reader;

    @BeforeEach
    void connect() {
        MemoryRegion region =
                domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        for (int i = 0; i < PAIRS; i++) {
            senders[i] = queuePair();
            QueuePair peer = queuePair();
            senders[i].connect(peer.localEndpoint());
            peer.connect(senders[i].localEndpoint());
            writes[i] = SendWorkRequest.allocate(arena, 1)
                    .id(i)
                    .rdmaWrite(region.address() + 2048, region.rkey())
                    .add(region, 0, 8)
                    .signaled(true);
            for (int k = 0; k < IN_FLIGHT; k++) {
                senders[i].postSend(writes[i]);
            }
        }
    }

    private ExtendedQueuePair queuePair() {
        return domain.createExtendedQueuePair(new QueuePairOptions(QueuePairType.RC, queue, queue)
                .sendOperations(SendOperation.RDMA_WRITE)
                .maxSendWorkRequests(64));
    }

    @AfterEach
    void end() throws InterruptedException {
        ending = true;
        reader.join();
        arena.close();
    }

    /** Reads until the end, in short batches, and posts the next write for each completion. */
    private void read() {
        reader = Thread.ofPlatform().start(() -> {
            while (!ending) {
                try (PollCursor cursor = queue.poll()) {
                    answer(cursor);
                }
            }
        });
    }

    private void answer(PollCursor cursor) {
        for (int count = 0; count < BATCH && cursor.next(); count++) {
            post((int) cursor.id());
        }
    }

    private void post(int index) {
        long start = System.nanoTime();
        try {
            senders[index].postSend(writes[index]);
        } catch (IllegalStateException closing) {
            // Its queue pair is the one that closes.
        }
        longestPost.accumulateAndGet(System.nanoTime() - start, Math::max);
    }

    @Test
    void shouldCloseAQueuePairThatBatchesPostTo() throws InterruptedException {
        read();
        TimeUnit.MILLISECONDS.sleep(200);
        longestPost.set(0);

        assertDoesNotThrow(senders[0]::close);

        assertTrue(longestPost.get() < 900_000_000, "a post took " + longestPost + " ns");
    }
}
