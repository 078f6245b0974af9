package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.rdmapanama.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.AccessFlag.REMOTE_READ;
import static org.rdmapanama.AccessFlag.REMOTE_WRITE;

import java.lang.foreign.ValueLayout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;

/** One side of a test: a queue pair on the device of an id, and registered memory. */
final class Side {
    /** Datagrams come with a global routing header before them. */
    static final int HEADER = 40;

    static final int RECEIVE = 2048;

    private static final long LIMIT_NANOS = 20_000_000_000L;

    final VerbsArena arena;
    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue queue;
    final QueuePair queuePair;
    final MemoryRegion region;
    private final WorkCompletions completions;

    Side(VerbsArena arena, CmId id) {
        this.arena = arena;
        context = id.openContext(arena);
        domain = context.allocateProtectionDomain();
        queue = context.createCompletionQueue(64);
        queuePair = domain.createQueuePair(new QueuePairOptions(id.queuePairType(), queue)
                .maxSendWorkRequests(8)
                .maxReceiveWorkRequests(8));
        region = domain.register(arena.allocate(2 * RECEIVE, 4096), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ);
        completions = new WorkCompletions(arena, 1);
    }

    void postReceive() {
        assertEquals(
                QueuePair.POSTED,
                queuePair.postReceive(
                        ReceiveWorkRequest.allocate(arena, 1).id(2).add(region, RECEIVE, RECEIVE)));
    }

    SendWorkRequest message(String text) {
        region.memory().setString(0, text);
        return SendWorkRequest.allocate(arena, 1)
                .id(1)
                .send()
                .add(region, 0, text.length() + 1L)
                .signaled(true);
    }

    void send(String text) {
        assertEquals(QueuePair.POSTED, queuePair.postSend(message(text)));
        complete(1);
    }

    String receive() {
        complete(2);
        return region.memory().getString(RECEIVE);
    }

    String receiveDatagram() {
        complete(2);
        return region.memory().getString(RECEIVE + HEADER);
    }

    /** Waits for one successful completion, of this work request. */
    void complete(long id) {
        long start = System.nanoTime();
        while (queue.poll(completions) == 0) {
            if (System.nanoTime() - start > LIMIT_NANOS) {
                fail("no completion of " + id + " on " + queuePair + ", which is " + queuePair.query());
            }
            Thread.onSpinWait();
        }
        assertEquals(CompletionStatus.SUCCESS, completions.status(0), () -> completions.describe(0));
        assertEquals(id, completions.id(0));
        assertTrue(completions.succeeded(0));
    }

    /** Whether nothing completed that was not waited for. */
    boolean isIdle() {
        return queue.poll(completions) == 0;
    }

    /** The first bytes of the region. */
    byte[] bytes(int count) {
        return region.memory().asSlice(0, count).toArray(ValueLayout.JAVA_BYTE);
    }
}
