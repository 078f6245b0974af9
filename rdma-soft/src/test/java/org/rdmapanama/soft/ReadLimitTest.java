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

/** Who answers no reads answers no atomics, here and elsewhere. */
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
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", Boolean.toString(wire))) {
            QueuePair one = queuePair(pair, 1);
            QueuePair other = queuePair(pair, 0);
            one.connect(other.localEndpoint());
            other.connect(one.localEndpoint());
            SendWorkRequest request = pair.request();
            if (atomic) {
                request.fetchAndAdd(pair.memory.address(), pair.region.rkey(), 1);
            } else {
                request.rdmaRead(pair.memory.address(), pair.region.rkey());
            }
            one.postSend(request.add(pair.region, HALF, Long.BYTES));
            assertEquals(CompletionStatus.REM_INV_REQ_ERR, pair.next().status(0));
        }
    }
}
