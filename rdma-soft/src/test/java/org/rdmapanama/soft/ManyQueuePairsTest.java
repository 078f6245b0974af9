package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completions;

/** Many queue pairs that talk to one peer share its window: each makes progress, and one that ends holds up no other. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ManyQueuePairsTest {
    private static final int PAIRS = 64;
    private static final int BYTES = 8000;
    private static final int EACH = 20;

    private static QueuePair queuePair(SoftPair pair, CompletionQueue queue) {
        return pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue).maxSendWorkRequests(EACH));
    }

    /** Writes and reads, also while packets are lost, and while some queue pairs are destroyed with requests in flight. */
    @ParameterizedTest
    @CsvSource({"'', false", "'', true", "'loss=0.01,seed=5', false", "'full=0.02,seed=6', true"})
    void shouldAllMakeProgress(String faults, boolean someEnd) {
        String[] settings = faults.isEmpty() ? new String[] {"wire", "true"} : new String[] {"faults", faults};
        ConnectOptions options = new ConnectOptions().timeout(16).retryCount(7).maxReadAtomic(4);
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options, settings)) {
            CompletionQueue queue = pair.context.createCompletionQueue(2 * PAIRS * EACH);
            WorkCompletions completions = new WorkCompletions(pair.arena, 64);
            List<QueuePair> open = new ArrayList<>();
            for (int i = 0; i < PAIRS; i++) {
                QueuePair one = queuePair(pair, queue);
                QueuePair other = queuePair(pair, queue);
                one.localEndpoint(options);
                other.localEndpoint(options);
                one.connect(other.localEndpoint());
                other.connect(one.localEndpoint());
                open.add(one);
            }
            int half = SoftPair.BYTES / 2;
            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address() + half, pair.region.rkey())
                    .add(pair.region, 0, BYTES);
            SendWorkRequest read = pair.request()
                    .rdmaRead(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, half, BYTES);
            pair.memory.set(JAVA_INT, BYTES - 4L, 4711);
            for (int i = 0; i < PAIRS; i++) {
                for (int each = 0; each < EACH; each++) {
                    open.get(i).postSend((i % 3 == 0 ? read : write).id(i));
                }
            }
            boolean[] closed = new boolean[PAIRS];
            if (someEnd) {
                for (int i = 1; i < PAIRS; i += 4) {
                    open.get(i).close();
                    closed[i] = true;
                }
            }
            int[] done = new int[PAIRS];
            Bound bound = Bound.of(SoftPair.LIMIT.multipliedBy(3));
            int missing = EACH * (PAIRS - (someEnd ? PAIRS / 4 : 0));
            while (missing > 0) {
                int left = missing;
                bound.check(() -> left + " requests did not complete");
                int count =
                        Completions.awaitAny(queue, completions, SoftPair.LIMIT).count();
                for (int i = 0; i < count; i++) {
                    int number = (int) completions.id(i);
                    if (!closed[number]) {
                        assertEquals(CompletionStatus.SUCCESS, completions.status(i), () -> "of " + number);
                        done[number]++;
                        missing--;
                    }
                }
            }
            for (int i = 0; i < PAIRS; i++) {
                assertTrue(closed[i] || done[i] == EACH);
            }
            assertEquals(4711, pair.memory.get(JAVA_INT, half + BYTES - 4L));
        }
    }
}
