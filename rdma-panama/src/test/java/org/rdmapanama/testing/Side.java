package org.rdmapanama.testing;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairState;

/** One side of a pair of queue pairs: a device, a queue pair, its completion queue and a registered buffer. */
public class Side {
    private static final int BATCH = 16;

    public final VerbsArena arena;
    public final Context context;
    public final ProtectionDomain domain;

    /** Null where the completion queue has none. */
    public final CompletionChannel channel;

    /** The one of sends, and mostly of receives, too. */
    public final CompletionQueue queue;

    public final QueuePair queuePair;
    public final MemoryRegion region;
    public final MemorySegment memory;
    private final WorkCompletions batch;
    private final Duration limit;

    /** That of the batch that this side began last. */
    private PollCursor cursor;

    /** A side of a queue pair that exists; completions may take as long as the limit says. */
    public Side(
            VerbsArena arena,
            ProtectionDomain domain,
            CompletionChannel channel,
            QueuePair queuePair,
            MemoryRegion region,
            Duration limit) {
        this.arena = arena;
        context = domain.context();
        this.domain = domain;
        this.channel = channel;
        this.queuePair = queuePair;
        queue = queuePair.sendQueue();
        this.region = region;
        memory = region.memory();
        this.limit = limit;
        batch = new WorkCompletions(arena, BATCH);
    }

    /** The queue, where the setup asks for an extended one. */
    public final ExtendedCompletionQueue extended() {
        return (ExtendedCompletionQueue) queue;
    }

    /** Begins a batch as soon as there is a completion. */
    public final PollCursor awaitBatch() {
        cursor = extended().poll();
        Bound.of(limit).spin("no completion came", cursor::next);
        return cursor;
    }

    /** Goes on with a batch as soon as there is another completion. */
    public final void awaitNext() {
        Bound.of(limit).spin("no further completion came", cursor::next);
    }

    /** A signaled send work request over a part of the buffer; a length of zero leaves it without segments. */
    public final SendWorkRequest request(long id, long offset, long length) {
        SendWorkRequest request = SendWorkRequest.allocate(arena, 4).id(id).signaled(true);
        return length == 0 ? request : request.add(region, offset, length);
    }

    public final ReceiveWorkRequest receiveRequest(long id, long offset, long length) {
        ReceiveWorkRequest request = ReceiveWorkRequest.allocate(arena, 4).id(id);
        return length == 0 ? request : request.add(region, offset, length);
    }

    /** Starts a batch on an extended queue pair: signaled, until told otherwise. */
    public final WorkRequestBuilder batch() {
        return ((ExtendedQueuePair) queuePair).startWorkRequests().signaled(true);
    }

    public final void post(SendWorkRequest request) {
        queuePair.postSend(request);
    }

    public final void post(ReceiveWorkRequest request) {
        queuePair.postReceive(request);
    }

    public final void postReceive(long id, long offset, long length) {
        post(receiveRequest(id, offset, length));
    }

    /** The next completion. */
    public final Completion await() {
        return await(1).get(0);
    }

    /** So many completions, in their order; fails when they do not come, or when more come with them. */
    public final List<Completion> await(int count) {
        return Completions.await(queue, batch, count, limit);
    }

    public final List<Completion> poll() {
        return Completions.poll(queue, batch);
    }

    /** The state that the device has the queue pair in. */
    public final QueuePairState stateInDevice() {
        return queuePair.query(QueuePairAttribute.STATE).state();
    }

    /** Waits until the device has moved the queue pair to a state. */
    public final void awaitState(QueuePairState state) {
        Bound.of(limit)
                .spin(
                        () -> queuePair + " is still in state " + stateInDevice() + ", not in " + state,
                        () -> stateInDevice() == state);
    }
}
