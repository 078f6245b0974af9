package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
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

    /** The usual one. */
    private static final int QKEY = 0x1111_1111;

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

    /** A datagram from memory to the other queue pair. */
    private static SendWorkRequest datagram(SoftPair pair, AddressHandle way, int id, MemoryRegion from) {
        return pair.request().id(id).send().to(way, pair.b.number(), QKEY).add(from, 0, 8);
    }

    /** A datagram from memory whose region has been closed. */
    private static SendWorkRequest failingDatagram(SoftPair pair, AddressHandle way, int id) {
        MemoryRegion closed = pair.domain.register(pair.memory);
        SendWorkRequest request = datagram(pair, way, id, closed);
        closed.close();
        return request;
    }

    /** The next so many completions, in any order, must be good ones of these. */
    private static void assertSucceed(SoftPair pair, Integer... ids) {
        Set<Integer> seen = new HashSet<>();
        for (int i = 0; i < ids.length; i++) {
            WorkCompletions next = pair.next();
            assertEquals(CompletionStatus.SUCCESS, next.status(0), () -> next.describe(0));
            seen.add((int) next.id(0));
        }
        assertEquals(Set.of(ids), seen);
    }

    /** Twice: datagrams go on as writes without acknowledgements do, and those of the peer come in meanwhile. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldSendDatagramsAgainAfterAnError(boolean wire) {
        try (SoftPair pair = pair(QueuePairType.UD, wire)) {
            AddressHandle there = pair.domain.createAddressHandle(pair.a.pathTo(pair.b.localEndpoint()));
            AddressHandle back = pair.domain.createAddressHandle(pair.b.pathTo(pair.a.localEndpoint()));
            ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(pair.arena, 1);
            for (int round = 1; round <= 2; round++) {
                pair.a.postSend(datagram(pair, there, 1, pair.region)
                        .next(failingDatagram(pair, there, 2).next(datagram(pair, there, 3, pair.region))));
                assertNext(pair, 1, CompletionStatus.SUCCESS);
                assertNext(pair, 2, CompletionStatus.LOC_PROT_ERR);
                assertNext(pair, 3, CompletionStatus.WR_FLUSH_ERR);
                assertEquals(QueuePairState.SQE, stateOf(pair));
                pair.a.postSend(datagram(pair, there, 4, pair.region));
                assertNext(pair, 4, CompletionStatus.WR_FLUSH_ERR);

                // The receive queue has nothing to do with it.
                pair.a.postReceive(receive.clear().id(5).add(pair.region, HALF, HALF));
                pair.b.postSend(pair.request()
                        .id(6)
                        .send()
                        .to(back, pair.a.number(), QKEY)
                        .add(pair.region, 0, 8));
                assertSucceed(pair, 5, 6);
                assertEquals(QueuePairState.SQE, stateOf(pair));

                pair.a.modify(new QueuePairAttributes().state(QueuePairState.RTS));
                assertEquals(QueuePairState.RTS, stateOf(pair));
                pair.memory.set(JAVA_BYTE, 0, (byte) (10 * round));
                pair.b.postReceive(receive.clear().id(7).add(pair.region, HALF, HALF));
                pair.a.postSend(datagram(pair, there, 8, pair.region));
                assertSucceed(pair, 7, 8);
                assertEquals((byte) (10 * round), pair.memory.get(JAVA_BYTE, HALF + AddressHandle.GRH_BYTES));
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
    @CsvSource({
        "UC, ERR, false",
        "UC, RESET, false",
        "UC, ERR, true",
        "UC, RESET, true",
        "UD, ERR, false",
        "UD, RESET, false",
        "UD, ERR, true",
        "UD, RESET, true"
    })
    void shouldEndAfterAnError(QueuePairType type, QueuePairState end, boolean wire) {
        try (SoftPair pair = pair(type, wire)) {
            if (type == QueuePairType.UD) {
                AddressHandle there = pair.domain.createAddressHandle(pair.a.pathTo(pair.b.localEndpoint()));
                pair.a.postSend(failingDatagram(pair, there, 1));
            } else {
                pair.a.postSend(failing(pair, 1));
            }
            assertNext(pair, 1, CompletionStatus.LOC_PROT_ERR);
            pair.a.modify(new QueuePairAttributes().state(end));
            assertEquals(end, stateOf(pair));
        }
    }
}
