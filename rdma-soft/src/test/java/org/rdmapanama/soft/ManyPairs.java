package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.FillPattern;

/** Many reliable connections within one context of soft0, which share a completion queue. */
final class ManyPairs {
    private static final int BATCH = 64;

    /** The sides that a test posts to. */
    final List<QueuePair> requesters = new ArrayList<>();

    final CompletionQueue queue;
    private final SoftPair pair;
    private final WorkCompletions completions;

    /**
     * Connects them.
     *
     * @param depth how many work requests each takes
     */
    ManyPairs(SoftPair pair, int count, int depth, ConnectOptions options) {
        this.pair = pair;
        queue = pair.context.createCompletionQueue(2 * count * depth);
        completions = new WorkCompletions(pair.arena, BATCH);
        QueuePairOptions kind = new QueuePairOptions(QueuePairType.RC, queue).maxSendWorkRequests(depth);
        for (int i = 0; i < count; i++) {
            QueuePair one = pair.domain.createQueuePair(kind);
            QueuePair other = pair.domain.createQueuePair(kind);
            one.localEndpoint(options);
            other.localEndpoint(options);
            one.connect(other.localEndpoint());
            other.connect(one.localEndpoint());
            requesters.add(one);
        }
    }

    /** Waits for completions. Returns them: at least one. */
    WorkCompletions next() {
        return Completions.awaitAny(queue, completions, SoftPair.LIMIT);
    }

    /**
     * Each writes data of its own and reads it back behind that, all at the same time, several times. All requests must
     * succeed, and every byte must be right.
     */
    void writeAndReadBack(int rounds, int bytes, Duration limit) {
        int count = requesters.size();
        long all = (long) count * bytes;
        MemorySegment memory = pair.arena.allocate(3 * all, 4096);
        MemoryRegion region =
                pair.domain.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
        MemorySegment source = memory.asSlice(0, all);
        for (int round = 0; round < rounds; round++) {
            FillPattern.fill(source, round);
            for (int i = 0; i < count; i++) {
                long at = (long) i * bytes;
                long there = memory.address() + all + at;
                requesters
                        .get(i)
                        .postSend(pair.request()
                                .id(i)
                                .rdmaWrite(there, region.rkey())
                                .add(region, at, bytes)
                                .next(pair.request()
                                        .id(i)
                                        .rdmaRead(there, region.rkey())
                                        .add(region, 2 * all + at, bytes)));
            }
            awaitSuccess(2 * count, limit);
            assertEquals(-1, source.mismatch(memory.asSlice(all, all)), "what was written");
            assertEquals(-1, source.mismatch(memory.asSlice(2 * all, all)), "what was read");
        }
    }

    private void awaitSuccess(int count, Duration limit) {
        Bound bound = Bound.of(limit);
        int missing = count;
        while (missing > 0) {
            int left = missing;
            bound.check(() -> left + " requests did not complete");
            WorkCompletions some = next();
            for (int i = 0; i < some.count(); i++) {
                long number = some.id(i);
                assertEquals(CompletionStatus.SUCCESS, some.status(i), () -> "of " + number);
            }
            missing -= some.count();
        }
    }
}
