package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;

/** What becomes of a queue pair when a send fails on this side, with and without packets. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SendErrorsTest {
    private static final int HALF = SoftPair.BYTES / 2;

    private static SoftPair pair(QueuePairType type, boolean wire) {
        return new SoftPair(type, new ConnectOptions(), "wire", Boolean.toString(wire));
    }

    private static SendWorkRequest write(SoftPair pair, int id, long bytes) {
        return pair.request()
                .id(id)
                .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                .add(pair.region, 0, bytes);
    }

    /** A write from memory whose region has been closed. */
    private static SendWorkRequest failing(SoftPair pair, int id) {
        MemoryRegion closed = pair.domain.register(pair.memory);
        SendWorkRequest request = pair.request()
                .id(id)
                .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                .add(closed, 0, 8);
        closed.close();
        return request;
    }

    private static void assertNext(SoftPair pair, int id, CompletionStatus status) {
        WorkCompletions next = pair.next();
        assertEquals(id, next.id(0));
        assertEquals(status, next.status(0));
    }

    private static QueuePairState stateOf(SoftPair pair) {
        return pair.a.query().state();
    }

    /** Twice, behind messages of one packet and of many, which the requester counts. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldSendAgainAfterAnError(boolean wire) {
        try (SoftPair pair = pair(QueuePairType.UC, wire)) {
            for (int bytes : new int[] {8, 20_000}) {
                pair.a.postSend(write(pair, 1, bytes).next(failing(pair, 2).next(write(pair, 3, bytes))));
                assertNext(pair, 1, CompletionStatus.SUCCESS);
                assertNext(pair, 2, CompletionStatus.LOC_PROT_ERR);
                assertNext(pair, 3, CompletionStatus.WR_FLUSH_ERR);
                assertEquals(QueuePairState.SQE, stateOf(pair));
                pair.a.postSend(write(pair, 4, bytes));
                assertNext(pair, 4, CompletionStatus.WR_FLUSH_ERR);

                pair.memory.set(JAVA_BYTE, bytes - 1, (byte) bytes);
                pair.a.modify(new QueuePairAttributes().state(QueuePairState.RTS));
                assertEquals(QueuePairState.RTS, stateOf(pair));
                pair.complete(write(pair, 5, bytes));
                long last = HALF + bytes - 1L;
                byte sent = (byte) bytes;
                Bound.usual().spin("it does not arrive", () -> pair.memory.get(JAVA_BYTE, last) == sent);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndAReliableQueuePair(boolean wire) {
        try (SoftPair pair = pair(QueuePairType.RC, wire)) {
            pair.a.postSend(failing(pair, 1).next(write(pair, 2, 8)));
            assertNext(pair, 1, CompletionStatus.LOC_PROT_ERR);
            assertNext(pair, 2, CompletionStatus.WR_FLUSH_ERR);
            assertEquals(QueuePairState.ERR, stateOf(pair));
        }
    }

    /** What is meant for the error state and for a reset holds after an error as well. */
    @ParameterizedTest
    @CsvSource({"ERR, false", "RESET, false", "ERR, true", "RESET, true"})
    void shouldEndAfterAnError(QueuePairState end, boolean wire) {
        try (SoftPair pair = pair(QueuePairType.UC, wire)) {
            pair.a.postSend(failing(pair, 1));
            assertNext(pair, 1, CompletionStatus.LOC_PROT_ERR);
            pair.a.modify(new QueuePairAttributes().state(end));
            assertEquals(end, stateOf(pair));
        }
    }
}
