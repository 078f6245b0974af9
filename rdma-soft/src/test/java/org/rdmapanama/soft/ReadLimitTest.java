package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;

/** A queue pair that answers no reads answers no atomics, and one that asks for no reads asks for none, here and elsewhere. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReadLimitTest {
    private static final int HALF = SoftPair.BYTES / 2;

    private static QueuePair queuePair(SoftPair pair, int reads) {
        QueuePair one = pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.queue, pair.queue));
        one.localEndpoint(new ConnectOptions().timeout(14).retryCount(3).maxReadAtomic(reads));
        return one;
    }

    @ParameterizedTest
    @CsvSource({"false, true", "false, false", "true, true", "true, false"})
    void shouldRefuseWhatItDoesNotAnswer(boolean wire, boolean atomic) {
        assertEquals(CompletionStatus.REM_INV_REQ_ERR, ask(1, 0, wire, atomic));
    }

    @ParameterizedTest
    @CsvSource({"false, true", "false, false", "true, true", "true, false"})
    void shouldNotAskWithoutRoomForTheAnswer(boolean wire, boolean atomic) {
        assertEquals(CompletionStatus.LOC_QP_OP_ERR, ask(0, 1, wire, atomic));
    }

    /** Returns what becomes of a read or an atomic between queue pairs with these limits. */
    private static CompletionStatus ask(int asking, int answering, boolean wire, boolean atomic) {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", Boolean.toString(wire))) {
            QueuePair one = queuePair(pair, asking);
            QueuePair other = queuePair(pair, answering);
            one.connect(other.localEndpoint());
            other.connect(one.localEndpoint());
            SendWorkRequest request = pair.request();
            if (atomic) {
                request.fetchAndAdd(pair.memory.address(), pair.region.rkey(), 1);
            } else {
                request.rdmaRead(pair.memory.address(), pair.region.rkey());
            }
            one.postSend(request.add(pair.region, HALF, Long.BYTES));
            return pair.next().status(0);
        }
    }
}
