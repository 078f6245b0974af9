package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.FillPattern;

/** Two sides that are not alike, with packets between them: what each told the other holds for both. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DifferentSidesTest {
    private static final int LONG = 8192;
    private static final int HALF = SoftPair.BYTES / 2;
    private static final int READS = 32;

    private static SoftPair overTheWire() {
        return new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true");
    }

    private static QueuePair queuePair(SoftPair pair, QueuePairType type, ConnectOptions options) {
        QueuePair one = pair.domain.createQueuePair(
                new QueuePairOptions(type, pair.queue, pair.queue).maxSendWorkRequests(READS));
        one.localEndpoint(options.timeout(14).retryCount(3));
        return one;
    }

    private static void connect(QueuePair one, QueuePair other) {
        one.connect(Endpoint.parse(other.localEndpoint().toString()));
        other.connect(Endpoint.parse(one.localEndpoint().toString()));
    }

    private static void complete(SoftPair pair, QueuePair one, SendWorkRequest request) {
        one.postSend(request);
        WorkCompletions completions = pair.next();
        assertEquals(CompletionStatus.SUCCESS, completions.status(0), completions.describe(0));
    }

    @ParameterizedTest
    @CsvSource({"BYTES_512, BYTES_1024, RC", "BYTES_1024, BYTES_512, RC", "BYTES_1024, BYTES_256, UC"})
    void shouldSpeakInPacketsThatBothTake(Mtu ofOne, Mtu ofOther, QueuePairType type) {
        try (SoftPair pair = overTheWire()) {
            QueuePair one = queuePair(pair, type, new ConnectOptions().pathMtu(ofOne));
            QueuePair other = queuePair(pair, type, new ConnectOptions().pathMtu(ofOther));
            connect(one, other);
            FillPattern.fill(pair.memory.asSlice(0, LONG), 3);
            complete(
                    pair,
                    one,
                    pair.request()
                            .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                            .add(pair.region, 0, LONG));
            if (type == QueuePairType.RC) {
                assertEquals(-1, pair.memory.asSlice(0, LONG).mismatch(pair.memory.asSlice(HALF, LONG)));
                pair.memory.asSlice(0, LONG).fill((byte) 0);
                complete(
                        pair,
                        other,
                        pair.request()
                                .rdmaRead(pair.memory.address() + HALF, pair.region.rkey())
                                .add(pair.region, 0, LONG));
                assertEquals(-1, pair.memory.asSlice(0, LONG).mismatch(pair.memory.asSlice(HALF, LONG)));
            }
        }
    }

    @Test
    void shouldReadWithinWhatThePeerAnswers() {
        try (SoftPair pair = overTheWire()) {
            QueuePair one = queuePair(pair, QueuePairType.RC, new ConnectOptions().maxReadAtomic(16));
            QueuePair other = queuePair(pair, QueuePairType.RC, new ConnectOptions().maxReadAtomic(2));
            connect(one, other);
            assertEquals(2, one.query().maxReadAtomicAsInitiator());
            assertEquals(2, other.query().maxReadAtomicAsTarget());
            FillPattern.fill(pair.memory.asSlice(HALF, READS * LONG), 4);
            for (int i = 0; i < READS; i++) {
                long offset = (long) i * LONG;
                one.postSend(pair.request()
                        .rdmaRead(pair.memory.address() + HALF + offset, pair.region.rkey())
                        .add(pair.region, offset, LONG));
            }
            for (int i = 0; i < READS; i++) {
                assertEquals(CompletionStatus.SUCCESS, pair.next().status(0));
            }
            assertEquals(-1, pair.memory.asSlice(0, READS * LONG).mismatch(pair.memory.asSlice(HALF, READS * LONG)));
        }
    }
}
