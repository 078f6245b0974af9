package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.MemoryWindowBinding;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;

/** Keys that may be taken away or changed, and those that may not. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WindowsTest {
    private static final int HALF = SoftPair.BYTES / 2;
    private static final int BYTES = 4096;

    private static SoftPair pair(boolean wire) {
        ConnectOptions options =
                new ConnectOptions().timeout(16).retryCount(7).minRnrTimer(20).rnrRetry(7);
        return new SoftPair(QueuePairType.RC, options, "wire", Boolean.toString(wire));
    }

    /** The statuses of so many completions, by the numbers of their work requests. */
    private static Map<Long, CompletionStatus> statuses(SoftPair pair, int count) {
        Map<Long, CompletionStatus> statuses = new HashMap<>();
        for (int i = 0; i < count; i++) {
            WorkCompletions wc = pair.next();
            statuses.put(wc.id(0), wc.status(0));
        }
        return statuses;
    }

    /** What becomes of a write out of a region, by a queue pair of its own. */
    private static CompletionStatus use(SoftPair pair, MemoryRegion region) {
        QueuePair loop = pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.queue, pair.queue));
        loop.connect(loop.localEndpoint());
        loop.postSend(pair.request()
                .rdmaWrite(pair.memory.address(), pair.region.rkey())
                .add(region, 0, Long.BYTES));
        return pair.next().status(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldLetNoPeerInvalidateARegion(boolean wire) {
        try (SoftPair pair = pair(wire)) {
            MemoryRegion region = pair.domain.register(pair.arena.allocate(BYTES, 64), AccessFlag.LOCAL_WRITE);
            pair.b.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).id(1).add(pair.region, 0, 64));
            pair.a.postSend(
                    pair.request().id(2).sendWithInvalidate(region.lkey()).add(pair.region, HALF, 8));
            Map<Long, CompletionStatus> statuses = statuses(pair, 2);
            assertEquals(CompletionStatus.REM_INV_REQ_ERR, statuses.get(1L));
            assertEquals(CompletionStatus.REM_OP_ERR, statuses.get(2L));
            assertEquals(CompletionStatus.SUCCESS, use(pair, region));
        }
    }

    @Test
    void shouldNotInvalidateARegionItself() {
        try (SoftPair pair = pair(false)) {
            MemoryRegion region = pair.domain.register(pair.arena.allocate(BYTES, 64), AccessFlag.LOCAL_WRITE);
            pair.a.postSend(pair.request().localInvalidate(region.lkey()));
            assertEquals(CompletionStatus.LOC_QP_OP_ERR, pair.next().status(0));
            assertEquals(CompletionStatus.SUCCESS, use(pair, region));
        }
    }

    /** A bind waits behind a message to a peer that is not ready; meanwhile its window goes, and a region takes its place. */
    @Test
    void shouldNotBindWhatCameToThePlaceOfAWindow() {
        try (SoftPair pair = pair(false)) {
            MemoryRegion base = pair.domain.register(
                    pair.arena.allocate(BYTES, 64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.MW_BIND);
            MemoryWindow window = pair.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
            pair.a.postSend(pair.request().id(1).send().add(pair.region, HALF, 8));
            pair.a.bind(window, new MemoryWindowBinding(base, 0, BYTES, AccessFlag.REMOTE_WRITE), 2, true);
            window.close();
            MemoryRegion region = pair.domain.register(pair.arena.allocate(BYTES, 64), AccessFlag.LOCAL_WRITE);
            pair.b.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).id(3).add(pair.region, 0, 64));
            Map<Long, CompletionStatus> statuses = statuses(pair, 3);
            assertEquals(CompletionStatus.SUCCESS, statuses.get(1L));
            assertEquals(CompletionStatus.MW_BIND_ERR, statuses.get(2L));
            assertEquals(CompletionStatus.SUCCESS, use(pair, region));
            region.close();
        }
    }
}
