package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairState;

/** One side of a {@link ConnectedPair}: a device, a queue pair, one completion queue and a registered buffer. */
final class Side {
    private static final long LIMIT_NANOS = 10_000_000_000L;
    private static final int BATCH = 16;

    final VerbsArena arena;
    final Context context;
    final ProtectionDomain domain;
    final CompletionChannel channel;
    final CompletionQueue queue;
    final QueuePair queuePair;
    final MemoryRegion region;
    final MemorySegment memory;
    private final WorkCompletions batch;

    Side(VerbsArena arena, Context context, ConnectedPair.Setup setup) {
        this.arena = arena;
        this.context = context;
        domain = context.allocateProtectionDomain();
        channel = context.createCompletionChannel();
        queue = setup.createQueue(context, channel);
        queuePair = setup.isExtended()
                ? domain.createExtendedQueuePair(setup.options(queue))
                : domain.createQueuePair(setup.options(queue));
        memory = arena.allocate(setup.bufferSize(), 4096);
        region = domain.register(memory, setup.access());
        batch = new WorkCompletions(arena, BATCH);
    }

    /** The queue, where the setup asks for an extended one. */
    ExtendedCompletionQueue extended() {
        return (ExtendedCompletionQueue) queue;
    }

    /** Begins a batch as soon as there is a completion. */
    ExtendedCompletionQueue awaitBatch() {
        long start = System.nanoTime();
        while (!extended().startPoll()) {
            if (System.nanoTime() - start > LIMIT_NANOS) {
                fail("no completion came");
            }
        }
        return extended();
    }

    /** Goes on with a batch as soon as there is another completion. */
    void awaitNext() {
        long start = System.nanoTime();
        while (!extended().nextPoll()) {
            if (System.nanoTime() - start > LIMIT_NANOS) {
                fail("no further completion came");
            }
        }
    }

    /** A signaled send work request over a part of the buffer; a length of zero leaves it without segments. */
    SendWorkRequest request(long id, long offset, long length) {
        SendWorkRequest request = SendWorkRequest.allocate(arena, 4).id(id).signaled(true);
        return length == 0 ? request : request.add(region, offset, length);
    }

    ReceiveWorkRequest receiveRequest(long id, long offset, long length) {
        ReceiveWorkRequest request = ReceiveWorkRequest.allocate(arena, 4).id(id);
        return length == 0 ? request : request.add(region, offset, length);
    }

    /** Starts a batch on an extended queue pair: signaled, until told otherwise. */
    WorkRequestBuilder batch() {
        return ((ExtendedQueuePair) queuePair).startWorkRequests().signaled(true);
    }

    void post(SendWorkRequest request) {
        assertEquals(QueuePair.POSTED, queuePair.postSend(request), "posting " + request);
    }

    void post(ReceiveWorkRequest request) {
        assertEquals(QueuePair.POSTED, queuePair.postReceive(request), "posting " + request);
    }

    void postReceive(long id, long offset, long length) {
        post(receiveRequest(id, offset, length));
    }

    /** The next completion. */
    Completion await() {
        return await(1).get(0);
    }

    /** So many completions, in their order; fails when they do not come, or when more come with them. */
    List<Completion> await(int count) {
        List<Completion> completions = new ArrayList<>();
        long start = System.nanoTime();
        while (completions.size() < count) {
            completions.addAll(poll());
            if (System.nanoTime() - start > LIMIT_NANOS) {
                return fail("only " + completions.size() + " of " + count + " completions came: " + completions);
            }
        }
        assertEquals(count, completions.size(), () -> "too many completions: " + completions);
        return completions;
    }

    List<Completion> poll() {
        List<Completion> completions = new ArrayList<>();
        int count = queue.poll(batch);
        for (int i = 0; i < count; i++) {
            completions.add(Completion.of(batch, i));
        }
        return completions;
    }

    /** The state that the device has the queue pair in. */
    QueuePairState stateInDevice() {
        return queuePair.query(QueuePairAttribute.STATE).state();
    }

    /** Waits until the device has moved the queue pair to a state. */
    void awaitState(QueuePairState state) {
        long start = System.nanoTime();
        while (stateInDevice() != state) {
            if (System.nanoTime() - start > LIMIT_NANOS) {
                fail(queuePair + " is still in state " + stateInDevice() + ", not in " + state);
            }
            Thread.onSpinWait();
        }
    }
}
