package org.rdmapanama.samples.selftest;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.samples.SingleProcessor;

/** One of two connected queue pairs, with its memory and its completion queue, which has room for one completion each. */
final class End {
    /** Number of empty polls between two looks at the clock, which cost as much as a poll. */
    private static final int POLLS_PER_LOOK = 256;

    final String name;
    final VerbsArena arena;
    final CompletionChannel channel;
    final CompletionQueue queue;
    final SharedReceiveQueue sharedReceives;
    final QueuePair queuePair;
    final MemoryRegion region;
    final WorkCompletions completions;

    private final Duration limit;

    End(
            String name,
            VerbsArena arena,
            CompletionChannel channel,
            CompletionQueue queue,
            SharedReceiveQueue sharedReceives,
            QueuePair queuePair,
            MemoryRegion region,
            Duration limit) {
        this.name = name;
        this.arena = arena;
        this.channel = channel;
        this.queue = queue;
        this.sharedReceives = sharedReceives;
        this.queuePair = queuePair;
        this.region = region;
        this.limit = limit;
        completions = new WorkCompletions(arena, 1);
    }

    MemorySegment memory() {
        return region.memory();
    }

    /** Returns a signaled request for a part of the memory, without an operation. */
    SendWorkRequest request(long id, long offset, long length) {
        SendWorkRequest request = SendWorkRequest.allocate(arena, 1).id(id).signaled(true);
        return length == 0 ? request : request.add(region, offset, length);
    }

    void post(SendWorkRequest request) {
        queuePair.postSend(request);
    }

    /** Posts a receive into a part of the memory, to the shared receive queue if there is one. */
    void postReceive(long id, long offset, long length) {
        ReceiveWorkRequest request = ReceiveWorkRequest.allocate(arena, 1).id(id);
        if (length > 0) {
            request.add(region, offset, length);
        }
        if (sharedReceives == null) {
            queuePair.postReceive(request);
        } else {
            sharedReceives.postReceive(request);
        }
    }

    /** Polls until there is a completion. Returns false if there is none in time. Allocates nothing. */
    boolean poll(Duration time) throws InterruptedException {
        long start = 0;
        int polls = 0;
        while (queue.poll(completions) == 0) {
            if (++polls % POLLS_PER_LOOK == 0) {
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                long now = System.nanoTime();
                if (start == 0) {
                    start = now;
                } else if (now - start > time.toNanos()) {
                    return false;
                }
            }
            Thread.onSpinWait();
            SingleProcessor.giveWay();
        }
        return true;
    }

    /** Waits for a completion. */
    void await(String what) throws CheckFailure, InterruptedException {
        if (!poll(limit)) {
            throw CheckFailure.silence(what + " at " + name, "a completion", "none within " + limit.toSeconds() + " s");
        }
    }

    /** Waits for the next completion, which must be that of a request that succeeded. */
    void expect(long id, CompletionOpcode opcode) throws CheckFailure, InterruptedException {
        await(opcode.toString());
        is(id, opcode);
    }

    /** Checks the completion that was polled last. */
    void is(long id, CompletionOpcode opcode) throws CheckFailure {
        String expected = "SUCCESS, " + opcode + ", id " + id;
        if (!completions.succeeded(0)) {
            throw new CheckFailure("completion at " + name, expected, completions.describe(0));
        }
        equal(
                "completion at " + name,
                expected,
                completions.status(0) + ", " + completions.opcode(0) + ", id " + completions.id(0));
        equal("queue pair of the completion at " + name, queuePair.number(), completions.queuePairNumber(0));
    }

    /** Waits for the next completion, which must have one of these statuses. */
    void expectFailure(long id, CompletionStatus... statuses) throws CheckFailure, InterruptedException {
        await("completion of request " + id);
        CompletionStatus found = completions.status(0);
        for (CompletionStatus status : statuses) {
            if (found == status) {
                equal("id of the completion with " + found + " at " + name, id, completions.id(0));
                return;
            }
        }
        throw new CheckFailure(
                "status of request " + id + " at " + name, String.join(" or ", names(statuses)), describe());
    }

    private String describe() {
        return completions.succeeded(0) ? "SUCCESS" : completions.describe(0);
    }

    private static String[] names(CompletionStatus... statuses) {
        String[] names = new String[statuses.length];
        for (int i = 0; i < names.length; i++) {
            names[i] = statuses[i].name();
        }
        return names;
    }

    /** Expects the queue pair to be in a state. */
    void expectState(QueuePairState expected) throws CheckFailure {
        QueuePairState found = queuePair.query(QueuePairAttribute.STATE).state();
        equal("state of the queue pair", expected, found);
    }

    static void equal(String what, Object expected, Object found) throws CheckFailure {
        if (!expected.equals(found)) {
            throw new CheckFailure(what, expected, found);
        }
    }
}
