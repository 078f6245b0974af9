package org.rdmapanama.bench;

import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.memory.AccessFlag;

/** An RDMA write that is posted repeatedly, and its completion queue. */
final class OneWrite {
    /** Number of bytes to write. */
    static final int BYTES = 64;

    private static final int MOST_COMPLETIONS = 16;
    private static final Duration LIMIT = Duration.ofSeconds(30);

    final CompletionQueue queue;
    private final SendWorkRequest request;
    private final WorkCompletions completions;

    /** Creates a write from one part of a new region to another. */
    OneWrite(VerbsArena arena, ProtectionDomain domain) {
        queue = domain.context().createCompletionQueue(MOST_COMPLETIONS);
        completions = new WorkCompletions(arena, MOST_COMPLETIONS);
        MemoryRegion region =
                domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        request = SendWorkRequest.allocate(arena, 1).add(region, 0, BYTES).signaled(true);
        between(region, region);
    }

    /** Redirects the write: from the start of one region to the second part of another. */
    void between(MemoryRegion source, MemoryRegion target) {
        request.set(0, source, 0, BYTES).rdmaWrite(target.remote().slice(BYTES));
    }

    /** Posts the write and polls until it has completed. */
    void through(QueuePair queuePair) throws InterruptedException {
        queuePair.postSend(request);
        if (Spinning.await(queue, completions, LIMIT) == 0) {
            throw new IllegalStateException(
                    "a write of " + queuePair + " did not complete within " + LIMIT.toSeconds() + " s");
        }
        if (completions.count() != 1
                || !completions.succeeded(0)
                || completions.queuePairNumber(0) != queuePair.number()) {
            throw new IllegalStateException(completions.count() + " completions for one write of " + queuePair + ": "
                    + completions.describe(0));
        }
    }
}
