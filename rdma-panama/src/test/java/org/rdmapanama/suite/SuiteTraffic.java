package org.rdmapanama.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.Insides;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/**
 * The traffic of rdma-core's own suite: messages to and fro, one at a time, each side's data checked where it arrives.
 */
final class SuiteTraffic {
    private static final int ITERATIONS = 100;
    private static final int SIZE = 512;
    private static final int HEADER = 40;
    private static final long RECEIVE_AT = 4096;

    private SuiteTraffic() {}

    /** Takes the next completion off a side's queue. */
    @FunctionalInterface
    interface Taking {
        Completion take(Side side) throws Exception;
    }

    static void run(ConnectedPair pair, Taking taking) throws Exception {
        boolean datagrams = pair.a.queuePair.type() == QueuePairType.UD;
        AddressHandle toB = datagrams ? way(pair.a, pair.b) : null;
        AddressHandle toA = datagrams ? way(pair.b, pair.a) : null;
        for (int i = 0; i < ITERATIONS; i++) {
            message(pair.a, pair.b, toB, i, taking);
            message(pair.b, pair.a, toA, ITERATIONS + i, taking);
        }
    }

    private static AddressHandle way(Side from, Side to) {
        GidEntry own = from.context.preferredGid(1).orElseThrow();
        Gid peer = to.context.preferredGid(1).orElseThrow().gid();
        return from.domain.createAddressHandle(AddressVector.toGid(1, own.index(), peer));
    }

    private static void message(Side from, Side to, AddressHandle way, int number, Taking taking) throws Exception {
        int header = way == null ? 0 : HEADER;
        to.postReceive(number, RECEIVE_AT, SIZE + (long) header);
        MemorySegment data = from.memory.asSlice(0, SIZE);
        FillPattern.fill(data, number);
        SendWorkRequest send = from.request(number, 0, SIZE).send();
        if (way != null) {
            send.to(way, to.queuePair.number(), Insides.qkey(LabDevices.connectOptions()));
        }
        from.post(send);
        taking.take(from).is(CompletionOpcode.SEND, number);
        Completion received = taking.take(to).is(CompletionOpcode.RECV, number);
        assertEquals(SIZE + header, received.byteLength());
        assertEquals(to.queuePair.number(), received.queuePair());
        if (way != null) {
            assertEquals(from.queuePair.number(), received.sourceQueuePair());
        }
        MemorySegment arrived = to.memory.asSlice(RECEIVE_AT + header, SIZE);
        assertEquals(
                -1,
                data.mismatch(arrived),
                () -> "message " + number + " arrived as " + arrived.get(ValueLayout.JAVA_BYTE, 0));
    }
}
